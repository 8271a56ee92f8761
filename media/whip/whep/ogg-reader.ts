const PAGE_HEADER_BYTES = 27
/** The identification header and the comment header (RFC 7845, section 3). */
const HEADER_PACKETS = 2

/** Reads Opus packets from an Ogg stream (RFC 3533) while it arrives. */
export class OggReader {
  readonly #onPacket: (packet: Buffer) => void
  #pending: Buffer = Buffer.alloc(0)
  #segments: Buffer[] = []
  #headersLeft = HEADER_PACKETS

  constructor(onPacket: (packet: Buffer) => void) {
    this.#onPacket = onPacket
  }

  push(bytes: Buffer): void {
    let rest = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    while (rest.length >= PAGE_HEADER_BYTES) {
      const sizes = rest.subarray(PAGE_HEADER_BYTES, PAGE_HEADER_BYTES + rest[26]!)
      const end = PAGE_HEADER_BYTES + rest[26]! + sizes.reduce((sum, size) => sum + size, 0)
      if (sizes.length < rest[26]! || rest.length < end) break
      this.#readPage(sizes, rest.subarray(PAGE_HEADER_BYTES + sizes.length, end))
      rest = rest.subarray(end)
    }
    this.#pending = rest
  }

  #readPage(sizes: Buffer, body: Buffer): void {
    let offset = 0
    for (const size of sizes) {
      this.#segments.push(body.subarray(offset, (offset += size)))
      // A segment of less than 255 bytes ends its packet.
      if (size === 255) continue
      const packet = Buffer.concat(this.#segments)
      this.#segments = []
      if (this.#headersLeft > 0) this.#headersLeft -= 1
      else this.#onPacket(packet)
    }
  }
}
