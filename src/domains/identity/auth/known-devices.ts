import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

const TOKEN = /^crd_[\w-]{43}$/

/**
 * Tokens that identify devices on which a user has signed in. Failed logins with such a token are counted separately, so
 * that strangers who guess passwords cannot lock the owner out. A token grants no access.
 */
export class KnownDevices {
  readonly #key: Buffer

  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, 'crier', 'known devices', 32))
  }

  /** The device token of a user, the same on all devices. */
  issue(userId: string): string {
    return `crd_${createHmac('sha256', this.#key).update(userId).digest('base64url')}`
  }

  /** Whether a token was issued to a user. */
  isOf(userId: string, token: string | undefined): boolean {
    if (token === undefined || !TOKEN.test(token)) return false
    return timingSafeEqual(Buffer.from(token), Buffer.from(this.issue(userId)))
  }
}
