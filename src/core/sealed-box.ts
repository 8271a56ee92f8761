import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { randomBytesOf } from './random.ts'

/** Bytes of each. */
const NONCE = 12
const TAG = 16

/** Something sealed cannot be opened: it was damaged, or the secret has changed. */
export class UnsealError extends Error {
  override readonly name = 'UnsealError'
}

/**
 * Seals small secrets for storage: AES-256-GCM under a key derived from the installation's secret for one purpose
 * (HKDF, RFC 5869). A text sealed for one purpose cannot be opened for another.
 */
export class SealedBox {
  /** A key object: preparing the bytes of a key anew costs more than sealing with it. */
  readonly #key: KeyObject

  constructor(secret: string, purpose: string) {
    this.#key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, 'crier', purpose, 32)))
  }

  seal(text: string): string {
    return this.sealBytes(Buffer.from(text, 'utf8')).toString('base64url')
  }

  sealBytes(bytes: Uint8Array): Buffer {
    const sealed = Buffer.allocUnsafe(NONCE + TAG + bytes.length)
    const nonce = randomBytesOf(NONCE)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce)
    sealed.set(nonce)
    sealed.set(cipher.update(bytes), NONCE + TAG)
    cipher.final()
    sealed.set(cipher.getAuthTag(), NONCE)
    return sealed
  }

  /** @throws UnsealError */
  open(sealed: string): string {
    return this.openBytes(Buffer.from(sealed, 'base64url')).toString('utf8')
  }

  /** @throws UnsealError */
  openBytes(bytes: Uint8Array): Buffer {
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, NONCE))
      decipher.setAuthTag(bytes.subarray(NONCE, NONCE + TAG))
      return Buffer.concat([decipher.update(bytes.subarray(NONCE + TAG)), decipher.final()])
    } catch (error) {
      throw new UnsealError('a stored secret cannot be opened; has JWT_SECRET changed?', { cause: error })
    }
  }
}
