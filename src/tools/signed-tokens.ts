import { keyFor, type Key } from './keys.ts'

/** Texts with a signature, for links that work without a login. They can be read by anyone, and do not expire. */
export class SignedTokens {
  readonly #key: Key

  /** @param purpose tokens of one purpose are not valid for another */
  constructor(secret: string, purpose: string) {
    this.#key = keyFor(secret, purpose)
  }

  /** A token that fits into a URL. */
  sign(text: string): string {
    const payload = Buffer.from(text).toString('base64url')
    return `${payload}.${this.#key.mac(payload)}`
  }

  /** The text of a token. Undefined if this server has not signed it. */
  read(token: string): string | undefined {
    const [payload = '', signature = ''] = token.split('.', 2)
    if (!this.#key.matches(payload, signature)) return undefined
    return Buffer.from(payload, 'base64url').toString()
  }
}
