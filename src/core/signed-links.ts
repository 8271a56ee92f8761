import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { HOUR, type Clock } from './clock.ts'
import { CredentialExpired, InvalidCredential } from './errors.ts'

/** For as long a URL gets the same signature, so that browsers know again what they have fetched. */
const WINDOW_MS = HOUR

/**
 * URLs that carry their own credential, for what a browser fetches by itself: the `src` of an image or a video sends no
 * header. A signature is good for one path with one query and nothing else, for one to two hours.
 *
 * A link outlives the membership of whoever has it. It cannot be bound to a member: views and events of assets are written
 * once for all members, and so are the links in them. To end the links of a whole workspace with each removal would break
 * what its other members are looking at. A shorter time would cut off films while they are played, each piece of which is
 * asked for with the same link, and make browsers fetch pictures again that they have. Whoever had the link could have
 * kept the file; nothing that is added later is reached by it.
 */
export class SignedLinks {
  readonly #key: Buffer
  readonly #clock: Clock

  constructor(secret: string, clock: Clock) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, 'crier', 'signed links', 32))
    this.#clock = clock
  }

  /** When links that are made now end; milliseconds since the Unix epoch. */
  get until(): number {
    return this.#end(0)
  }

  /**
   * @param url path and query below the server
   * @param neededMs how long it is used once it is begun with, where that may be longer than an hour
   */
  sign(url: string, neededMs = 0): string {
    const [path = '', query] = url.split('?', 2)
    const until = `expires=${this.#end(neededMs) / 1000}`
    const rest = query === undefined ? '' : `&${query}`
    // First, so that a URL ends as the file does: some players go by that.
    return `${path}?${until}&signature=${this.#signature(`${path}?${until}${rest}`)}${rest}`
  }

  /**
   * Lets a signed URL through, exactly as it was made.
   * @throws AppError invalid_credential, credential_expired
   */
  require(path: string, query: string): void {
    const [, expires = '', given = '', rest = ''] =
      /^expires=(\d{1,12})&signature=([\w-]{43})((?:&.*)?)$/.exec(query) ?? []
    const right = Buffer.from(this.#signature(`${path}?expires=${expires}${rest}`))
    if (given === '' || !timingSafeEqual(right, Buffer.from(given))) {
      throw InvalidCredential({ message: 'The signed URL is not as it was made.' })
    }
    if (Number(expires) * 1000 <= this.#clock.now()) {
      throw CredentialExpired({ message: 'The signed URL has expired: ask for a new one.' })
    }
  }

  #end(neededMs: number): number {
    return (Math.floor((this.#clock.now() + neededMs) / WINDOW_MS) + 2) * WINDOW_MS
  }

  #signature(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url')
  }
}

/** Whether a query claims to be signed. */
export function claimsSignature(query: string): boolean {
  return query.includes('signature=')
}
