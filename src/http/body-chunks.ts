/** The chunks of a body that is read as a whole, at most `limit` bytes. A larger body is discarded. */
export class BodyChunks {
  readonly #limit: number
  #chunks: Buffer[] = []
  #isDropped = false
  /** Bytes received, including discarded ones. */
  size = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get isTooLarge(): boolean {
    return this.size > this.#limit
  }

  take(chunk: ArrayBuffer): void {
    this.size += chunk.byteLength
    if (this.isTooLarge) this.drop()
    // uWS reuses the memory of a chunk after its callback.
    else if (chunk.byteLength > 0 && !this.#isDropped) this.#chunks.push(Buffer.from(chunk.slice(0)))
  }

  /** Discards the body because it is no longer needed. */
  drop(): void {
    this.#isDropped = true
    this.#chunks = []
  }

  whole(): Buffer {
    return this.#chunks.length === 1 && this.#chunks[0] ? this.#chunks[0] : Buffer.concat(this.#chunks)
  }
}
