const HEADER_BYTES = 27
/** Identification and comments (RFC 7845, section 3). */
const HEADER_PACKETS = 2

/** Opus packets out of an Ogg stream (RFC 3533) as it comes. */
export class OggReader {
  readonly #onPacket: (packet: Buffer) => void
  #pending: Buffer = Buffer.alloc(0)
  #open: Buffer[] = []
  #headers = HEADER_PACKETS

  constructor(onPacket: (packet: Buffer) => void) {
    this.#onPacket = onPacket
  }

  push(bytes: Buffer): void {
    let rest = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    while (rest.length >= HEADER_BYTES) {
      const sizes = rest.subarray(HEADER_BYTES, HEADER_BYTES + rest[26]!)
      const end = HEADER_BYTES + rest[26]! + sizes.reduce((sum, size) => sum + size, 0)
      if (sizes.length < rest[26]! || rest.length < end) break
      this.#readPage(sizes, rest.subarray(HEADER_BYTES + sizes.length, end))
      rest = rest.subarray(end)
    }
    this.#pending = rest
  }

  #readPage(sizes: Buffer, body: Buffer): void {
    let offset = 0
    for (const size of sizes) {
      this.#open.push(body.subarray(offset, (offset += size)))
      // A piece of less than 255 bytes ends its packet.
      if (size === 255) continue
      const packet = Buffer.concat(this.#open)
      this.#open = []
      if (this.#headers > 0) this.#headers -= 1
      else this.#onPacket(packet)
    }
  }
}
