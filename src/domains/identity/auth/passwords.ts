import { argon2id, hash, verify } from 'argon2'
import { Overloaded } from '../../../core/errors.ts'
import { secretToken } from '../../../tools/id.ts'

/** OWASP's parameters for argon2id: 19 MiB, two passes, one lane; about 35 ms of a core. */
const PARAMETERS = { type: argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** libuv has four threads. Two stay free for files and name lookups. */
const CONCURRENCY = 2
/** About two seconds of work. Callers would not wait longer. */
const QUEUE_LIMIT = 64

/**
 * Hashes and checks passwords with argon2id, two at a time. A flood of logins fills a short queue and then gets 503;
 * other requests are not affected.
 */
export class PasswordHasher {
  readonly #waiting: (() => void)[] = []
  #running = 0
  #decoy: Promise<string> | undefined

  /** Refuses a caller before any other work if the queue is full. @throws AppError overloaded */
  admit(): void {
    if (this.#waiting.length >= QUEUE_LIMIT) {
      throw Overloaded({ retryAfter: 2, message: 'Too many logins are in progress. Try again in 2 seconds.' })
    }
  }

  /** @returns a PHC string. @throws AppError overloaded */
  hash(password: string): Promise<string> {
    return this.#queued(() => hash(canonical(password), PARAMETERS))
  }

  /**
   * Whether the password matches the hash. Without a hash (no account, or no password) the same work is done on a
   * decoy, and the result is false.
   * @throws AppError overloaded
   */
  async verify(stored: string | null | undefined, password: string): Promise<boolean> {
    const against = stored ?? (await this.#decoyHash())
    const matches = await this.#queued(() => verify(against, canonical(password)))
    return matches && stored !== null && stored !== undefined
  }

  #decoyHash(): Promise<string> {
    this.#decoy ??= hash(secretToken(), PARAMETERS)
    return this.#decoy
  }

  /** Creates the decoy, so that the first unknown address takes no longer than others. */
  async prepare(): Promise<void> {
    await this.#decoyHash()
  }

  async #queued<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= CONCURRENCY) {
      this.admit()
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else {
      this.#running += 1
    }
    try {
      return await work()
    } finally {
      // The slot goes straight to the next in the queue, so that no new caller can take it in between.
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
