import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { MINUTE, type Clock } from '../../../../core/clock.ts'

const LIFETIME_MS = 5 * MINUTE
const NONCE_BYTES = 16
const TIME_BYTES = 6
const HEAD_BYTES = NONCE_BYTES + TIME_BYTES

/** What an authenticator is asked to sign for: a sign-in, or the registration of a passkey of this user. */
export type Purpose = 'sign-in' | `registration ${string}`

/**
 * Challenges for authenticators: random bytes, the time of expiry and a MAC. They are not stored, so that callers who are
 * not signed in cannot fill a table.
 */
export class PasskeyChallenges {
  readonly #key: Buffer
  readonly #clock: Clock

  constructor(secret: string, clock: Clock) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, 'crier', 'passkey challenges', 32))
    this.#clock = clock
  }

  issue(purpose: Purpose): { readonly challenge: Uint8Array<ArrayBuffer>; readonly expiresAt: string } {
    const expiresAt = this.#clock.now() + LIFETIME_MS
    const head = Buffer.alloc(HEAD_BYTES)
    randomBytes(NONCE_BYTES).copy(head)
    head.writeUIntBE(expiresAt, NONCE_BYTES, TIME_BYTES)
    const challenge = new Uint8Array(Buffer.concat([head, this.#mac(purpose, head)]))
    return { challenge, expiresAt: new Date(expiresAt).toISOString() }
  }

  /**
   * @param challenge as the authenticator signed it, in Base64URL
   * @returns when it expires; undefined if it is not one of this server for this purpose, or has expired
   */
  expiryOf(challenge: string, purpose: Purpose): Date | undefined {
    const bytes = Buffer.from(challenge, 'base64url')
    const head = bytes.subarray(0, HEAD_BYTES)
    const mac = bytes.subarray(HEAD_BYTES)
    if (head.length !== HEAD_BYTES) return undefined
    const expected = this.#mac(purpose, head)
    if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) return undefined
    const expiresAt = head.readUIntBE(NONCE_BYTES, TIME_BYTES)
    return expiresAt > this.#clock.now() ? new Date(expiresAt) : undefined
  }

  #mac(purpose: Purpose, head: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(`${purpose}\n`).update(head).digest()
  }
}
