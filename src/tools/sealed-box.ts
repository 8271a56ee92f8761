import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto'
import { randomBytesOf } from './random.ts'
import { keyFor } from './keys.ts'

/** Length in bytes of each part. */
const NONCE = 12
const TAG = 16

/** A sealed value cannot be opened: it was damaged, or the secret has changed. */
export class UnsealError extends Error {
  override readonly name = 'UnsealError'
}

/**
 * Encrypts small secrets for storage with AES-256-GCM. The key is derived from the installation's secret for one
 * purpose (HKDF, RFC 5869), so a value sealed for one purpose cannot be opened for another.
 */
export class SealedBox {
  /** A key object, because importing the key's bytes each time costs more than the encryption. */
  readonly #key: KeyObject

  constructor(secret: string, purpose: string) {
    this.#key = createSecretKey(keyFor(secret, purpose).bytes)
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
