import { createCipheriv, createDecipheriv, createSecretKey, randomBytes, type KeyObject } from 'node:crypto'
import { keyFor } from './keys.ts'

const NONCE = 8
const HEAD = NONCE + 8
const BLOCK = 16n

/**
 * Encrypts data that is written often and rarely read: AES-256 in counter mode (NIST SP 800-38A) under a key derived
 * from the installation's secret for one purpose. One cipher lives as long as the process, and each text stores its
 * position in the key stream. Creating a cipher per text, as `SealedBox` does, can cost a tenth of a millisecond. There
 * is no authentication: a changed text is not detected, so use it only where the database is trusted to return what was
 * stored.
 */
export class SealedStream {
  readonly #key: KeyObject
  /** New for each process, so that no position of a key stream is used twice. */
  readonly #nonce = randomBytes(NONCE)
  readonly #cipher: ReturnType<typeof createCipheriv>
  #place = 0n

  constructor(secret: string, purpose: string) {
    this.#key = createSecretKey(keyFor(secret, purpose).bytes)
    this.#cipher = createCipheriv('aes-256-ctr', this.#key, counter(this.#nonce, 0n))
  }

  seal(bytes: Uint8Array): Buffer {
    const sealed = Buffer.allocUnsafe(HEAD + bytes.length)
    sealed.set(this.#nonce)
    sealed.writeBigUInt64BE(this.#place, NONCE)
    sealed.set(this.#cipher.update(bytes), HEAD)
    this.#place += BigInt(bytes.length)
    return sealed
  }

  open(sealed: Buffer): Buffer {
    const place = sealed.readBigUInt64BE(NONCE)
    const start = counter(sealed.subarray(0, NONCE), place / BLOCK)
    const decipher = createDecipheriv('aes-256-ctr', this.#key, start)
    decipher.update(Buffer.alloc(Number(place % BLOCK)))
    return decipher.update(sealed.subarray(HEAD))
  }
}

function counter(nonce: Uint8Array, block: bigint): Buffer {
  const start = Buffer.alloc(16)
  start.set(nonce)
  start.writeBigUInt64BE(block, NONCE)
  return start
}
