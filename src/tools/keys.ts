import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

/**
 * Keys, MACs and comparisons in constant time. All of them are made here, so that no place forgets a purpose, and none
 * compares secrets in a way whose duration tells how much of them was right.
 */

type Encoding = 'base64url' | 'hex'

/** A key for MACs (HMAC with SHA-256, RFC 2104). */
export class Key {
  /** For what makes its own signatures or ciphers of it, such as JWTs. */
  readonly bytes: Buffer

  constructor(bytes: Uint8Array | string) {
    this.bytes = Buffer.from(bytes as Uint8Array)
  }

  /** The MAC of a text as 32 bytes. */
  macBytes(text: string | Uint8Array): Buffer {
    return createHmac('sha256', this.bytes).update(text).digest()
  }

  /** The MAC of a text, for URLs, headers and columns. */
  mac(text: string | Uint8Array, encoding: Encoding = 'base64url'): string {
    return createHmac('sha256', this.bytes).update(text).digest(encoding)
  }

  /**
   * Whether a MAC is that of a text. Takes the same time for each wrong one.
   * @param mac bytes, or Base64URL
   */
  matches(text: string | Uint8Array, mac: Uint8Array | string): boolean {
    return typeof mac === 'string' ? isSame(this.mac(text), mac) : isSame(this.macBytes(text), mac)
  }
}

/**
 * The key of an installation for one purpose, derived from its secret (HKDF, RFC 5869). What is made with the key of one
 * purpose is not valid for another. A purpose never changes, because tokens that people have would become invalid.
 */
export function keyFor(secret: string, purpose: string): Key {
  return new Key(Buffer.from(hkdfSync('sha256', secret, 'crier', purpose, 32)))
}

/** Compares in constant time what has a fixed length, such as MACs and hashes. A difference in length can be noticed. */
export function isSame(one: Uint8Array | string, other: Uint8Array | string): boolean {
  const [a, b] = [Buffer.from(one as Uint8Array), Buffer.from(other as Uint8Array)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Compares secrets of any length in constant time. Their length cannot be noticed either. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
