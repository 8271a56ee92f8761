import { argon2id, hash, verify } from 'argon2'
import { Overloaded } from '../../../core/errors.ts'
import { secretToken } from '../../../core/id.ts'

/** OWASP's parameters for argon2id: 19 MiB, two passes, one lane; about 35 ms of a core. */
const PARAMETERS = { type: argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** libuv has four threads for all slow work; two stay free for files and name look-ups. */
const AT_ONCE = 2
/** About two seconds of work. A longer line would only make callers wait for an answer they no longer want. */
const WAITING = 64

/**
 * Hashes and checks passwords with argon2id, at most two at a time, so that a flood of logins fills a short line and
 * then gets 503s, and everything else goes on.
 */
export class PasswordHasher {
  readonly #waiting: (() => void)[] = []
  #running = 0
  #decoy: Promise<string> | undefined

  /** Turns a caller away before anything else is done for it. @throws AppError overloaded */
  admit(): void {
    if (this.#waiting.length >= WAITING) {
      throw Overloaded({ retryAfter: 2, message: 'Too many logins are under way. Try again in 2 seconds.' })
    }
  }

  /** @returns a PHC string. @throws AppError overloaded */
  hash(password: string): Promise<string> {
    return this.#inLine(() => hash(canonical(password), PARAMETERS))
  }

  /**
   * Whether the password belongs to the hash. Without a hash (no such account, or one without password) the same work
   * is done on a decoy, and the answer is no.
   * @throws AppError overloaded
   */
  async verify(stored: string | null | undefined, password: string): Promise<boolean> {
    const against = stored ?? (await this.#decoyHash())
    const matches = await this.#inLine(() => verify(against, canonical(password)))
    return matches && stored !== null && stored !== undefined
  }

  #decoyHash(): Promise<string> {
    this.#decoy ??= hash(secretToken(), PARAMETERS)
    return this.#decoy
  }

  /** Makes the decoy now, so that the first unknown address takes no longer than the next. */
  async prepare(): Promise<void> {
    await this.#decoyHash()
  }

  async #inLine<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= AT_ONCE) {
      this.admit()
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else {
      this.#running += 1
    }
    try {
      return await work()
    } finally {
      // The place is handed on, not given back: nobody can slip in between.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running -= 1
    }
  }
}

/** The same password typed on different systems can differ in code points (NIST SP 800-63B, section 3.1.1.2). */
function canonical(password: string): string {
  return password.normalize('NFKC')
}
