import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

/** Texts with a signature, for links that work without a login. They can be read by anyone, and do not expire. */
export class SignedTokens {
  readonly #key: Buffer

  /** @param purpose tokens of one purpose are not valid for another */
  constructor(secret: string, purpose: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, 'crier', purpose, 32))
  }

  /** A token that fits into a URL. */
  sign(text: string): string {
    const payload = Buffer.from(text).toString('base64url')
    return `${payload}.${this.#signature(payload)}`
  }

  /** The text of a token. Undefined if this server has not signed it. */
  read(token: string): string | undefined {
    const [payload = '', signature = ''] = token.split('.', 2)
    const [given, right] = [Buffer.from(signature), Buffer.from(this.#signature(payload))]
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined
    return Buffer.from(payload, 'base64url').toString()
  }

  #signature(payload: string): string {
    return createHmac('sha256', this.#key).update(payload).digest('base64url')
  }
}
