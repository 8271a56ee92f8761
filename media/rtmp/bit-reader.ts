/** Reads bits, most significant first. Throws RangeError past the end. */
export class BitReader {
  readonly #bytes: Buffer
  #position = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  bits(count: number): number {
    let value = 0
    for (let index = 0; index < count; index++) {
      const byte = this.#bytes[this.#position >> 3]
      if (byte === undefined) throw new RangeError('the header is truncated')
      value = value * 2 + ((byte >> (7 - (this.#position & 7))) & 1)
      this.#position += 1
    }
    return value
  }

  flag(): boolean {
    return this.bits(1) === 1
  }

  skip(count: number): void {
    this.#position += count
  }

  /** Reads ue(v), an unsigned Exp-Golomb code (H.264, section 9.1). uvlc() of AV1 is the same (4.10.3). */
  unsigned(): number {
    let zeros = 0
    while (!this.flag()) if (++zeros > 31) throw new RangeError('the header is damaged')
    return 2 ** zeros - 1 + this.bits(zeros)
  }

  /** Reads se(v), a signed Exp-Golomb code. */
  signed(): number {
    const code = this.unsigned()
    return code % 2 === 0 ? -code / 2 : (code + 1) / 2
  }
}

/** Converts a NAL unit of H.264 or HEVC to its RBSP: removes the emulation prevention bytes. */
export function withoutEmulationPrevention(nalUnit: Buffer): Buffer {
  const bytes: number[] = []
  let zeros = 0
  for (const byte of nalUnit) {
    if (zeros >= 2 && byte === 3) {
      zeros = 0
      continue
    }
    zeros = byte === 0 ? zeros + 1 : 0
    bytes.push(byte)
  }
  return Buffer.from(bytes)
}
