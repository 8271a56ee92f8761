import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

const TOKEN = /^crd_[\w-]{43}$/

/**
 * Tokens by which a device is known on which somebody has signed in. A login that comes with one has a count of failed
 * attempts of its own, so that strangers who guess at the address cannot lock its owner out. A token opens nothing.
 */
export class KnownDevices {
  readonly #key: Buffer

  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, 'crier', 'known devices', 32))
  }

  /** The token for every device of a user. */
  issue(userId: string): string {
    return `crd_${createHmac('sha256', this.#key).update(userId).digest('base64url')}`
  }

  /** Whether a token was issued to a user. */
  isOf(userId: string, token: string | undefined): boolean {
    if (token === undefined || !TOKEN.test(token)) return false
    return timingSafeEqual(Buffer.from(token), Buffer.from(this.issue(userId)))
  }
}
