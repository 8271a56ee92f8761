import type { BodyMemory } from './body-memory.ts'

/** The share of the announced length that must have arrived before its memory is reserved: a header alone reserves nothing. */
const RESERVED_FROM = 1 / 8

/** The chunks of a body that is read as a whole, at most `limit` bytes. A larger body is discarded. */
export class BodyChunks {
  readonly #limit: number
  readonly #announced: number
  readonly #memory: BodyMemory
  #chunks: Buffer[] = []
  /** Memory for the whole body, which threads can read without a copy. */
  #reserved: Buffer<SharedArrayBuffer> | undefined
  #isDropped = false
  /** Bytes received, including discarded ones. */
  size = 0

  /** @param announced the value of Content-Length, which uWS never exceeds; NaN without one */
  constructor(limit: number, memory: BodyMemory, announced = Number.NaN) {
    this.#limit = limit
    this.#memory = memory
    this.#announced = announced
  }

  get isTooLarge(): boolean {
    return this.size > this.#limit
  }

  take(chunk: ArrayBuffer): void {
    const at = this.size
    this.size += chunk.byteLength
    if (this.isTooLarge) this.drop()
    else if (chunk.byteLength > 0 && !this.#isDropped) this.#keep(new Uint8Array(chunk), at)
  }

  /** Copies a chunk, because uWS reuses its memory after the callback. */
  #keep(chunk: Uint8Array, at: number): void {
    if (this.#reserved === undefined) this.#reserve(chunk.byteLength)
    if (this.#reserved) this.#reserved.set(chunk, at)
    else this.#chunks.push(Buffer.from(chunk))
  }

  /** A body of several chunks is copied once, not again when it is complete. @param arriving bytes of this chunk */
  #reserve(arriving: number): void {
    const announced = this.#announced
    const isWorthIt = arriving < announced && this.size >= announced * RESERVED_FROM
    if (!isWorthIt) return
    this.#reserved = Buffer.from(this.#memory.take(announced))
    let at = 0
    for (const chunk of this.#chunks) {
      this.#reserved.set(chunk, at)
      at += chunk.length
    }
    this.#chunks = []
  }

  /** Discards the body because it is no longer needed. Nobody may read `whole()` any more. */
  drop(): void {
    this.#isDropped = true
    this.#chunks = []
    if (this.#reserved) this.#memory.give(this.#reserved.buffer)
    this.#reserved = undefined
  }

  whole(): Buffer {
    if (this.#reserved) return this.#reserved.subarray(0, this.size)
    return this.#chunks.length === 1 && this.#chunks[0] ? this.#chunks[0] : Buffer.concat(this.#chunks)
  }
}
