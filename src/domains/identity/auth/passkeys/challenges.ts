import { randomBytes } from 'node:crypto'
import { MINUTE, type Clock } from '../../../../core/clock.ts'
import { keyFor, type Key } from '../../../../tools/keys.ts'

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
  readonly #key: Key
  readonly #clock: Clock

  constructor(secret: string, clock: Clock) {
    this.#key = keyFor(secret, 'passkey challenges')
    this.#clock = clock
  }

  issue(purpose: Purpose): { readonly challenge: Uint8Array<ArrayBuffer>; readonly expiresAt: string } {
    const expiresAt = this.#clock.now() + LIFETIME_MS
    const head = Buffer.alloc(HEAD_BYTES)
    randomBytes(NONCE_BYTES).copy(head)
    head.writeUIntBE(expiresAt, NONCE_BYTES, TIME_BYTES)
    const challenge = new Uint8Array(Buffer.concat([head, this.#key.macBytes(signedBytes(purpose, head))]))
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
    if (!this.#key.matches(signedBytes(purpose, head), mac)) return undefined
    const expiresAt = head.readUIntBE(NONCE_BYTES, TIME_BYTES)
    return expiresAt > this.#clock.now() ? new Date(expiresAt) : undefined
  }
}

/** What the MAC of a challenge covers. */
function signedBytes(purpose: Purpose, head: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${purpose}\n`), head])
}
