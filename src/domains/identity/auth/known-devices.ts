import { isSame, keyFor, type Key } from '../../../tools/keys.ts'

const TOKEN = /^crd_[\w-]{43}$/

/**
 * Tokens that identify devices on which a user has signed in. Failed logins with such a token are counted separately, so
 * that strangers who guess passwords cannot lock the owner out. A token grants no access.
 */
export class KnownDevices {
  readonly #key: Key

  constructor(secret: string) {
    this.#key = keyFor(secret, 'known devices')
  }

  /** The device token of a user, the same on all devices. */
  issue(userId: string): string {
    return `crd_${this.#key.mac(userId)}`
  }

  /** Whether a token was issued to a user. */
  isOf(userId: string, token: string | undefined): boolean {
    if (token === undefined || !TOKEN.test(token)) return false
    return isSame(token, this.issue(userId))
  }
}
