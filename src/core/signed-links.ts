import { HOUR, type Clock } from './clock.ts'
import { CredentialExpired, InvalidCredential } from './errors.ts'
import { keyFor, type Key } from '../tools/keys.ts'

/** URLs made within this time get the same signature, so that browsers can use their cache. */
const WINDOW_MS = HOUR

/**
 * URLs that carry their own credential, for what browsers request without headers, such as the `src` of an image or a
 * video. A signature is valid for one path with one query, for one to two hours.
 *
 * A link stays valid after its user has left the workspace. It cannot be bound to a member: views and events of assets
 * are written once for all members, and so are the links in them. Revoking all links of a workspace with each removal
 * would break pages that its other members have open. A shorter lifetime would interrupt videos, because each range of
 * a video is requested with the same link, and would make browsers load cached images again. A former member could have
 * saved the file anyway, and the link gives no access to files that are added later.
 */
export class SignedLinks {
  readonly #key: Key
  readonly #clock: Clock

  constructor(secret: string, clock: Clock) {
    this.#key = keyFor(secret, 'signed links')
    this.#clock = clock
  }

  /** When links that are made now expire; milliseconds since the Unix epoch. */
  get until(): number {
    return this.#end(0)
  }

  /**
   * @param url path and query on this server
   * @param neededMs how long the link must stay valid after its first use, if longer than an hour
   */
  sign(url: string, neededMs = 0): string {
    const [path = '', query] = url.split('?', 2)
    const until = `expires=${this.#end(neededMs) / 1000}`
    const rest = query === undefined ? '' : `&${query}`
    // The signature comes first, so that a URL ends with the file's own query: some players look at the end.
    return `${path}?${until}&signature=${this.#key.mac(`${path}?${until}${rest}`)}${rest}`
  }

  /**
   * Verifies a signed URL, which must be unchanged.
   * @throws AppError invalid_credential, credential_expired
   */
  require(path: string, query: string): void {
    const [, expires = '', given = '', rest = ''] =
      /^expires=(\d{1,12})&signature=([\w-]{43})((?:&.*)?)$/.exec(query) ?? []
    if (!this.#key.matches(`${path}?expires=${expires}${rest}`, given)) {
      throw InvalidCredential({ message: 'The signed URL has been changed. Request a new one, and use it unchanged.' })
    }
    if (Number(expires) * 1000 <= this.#clock.now()) {
      throw CredentialExpired({ message: 'The signed URL has expired. Request a new one.' })
    }
  }

  #end(neededMs: number): number {
    return (Math.floor((this.#clock.now() + neededMs) / WINDOW_MS) + 2) * WINDOW_MS
  }
}

/** Whether a query contains a signature. */
export function claimsSignature(query: string): boolean {
  return query.includes('signature=')
}
