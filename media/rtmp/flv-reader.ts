/** A tag of an FLV file (FLV 10.1, E.4.1). */
export interface FlvTag {
  /** 8 audio, 9 video, 18 data. */
  readonly type: number
  /** Milliseconds. Negative for frames that a decoder needs before the start of the presentation. */
  readonly timestamp: number
  readonly body: Buffer
}

const FILE_HEADER_BYTES = 13
const TAG_HEADER_BYTES = 11
const BACK_POINTER_BYTES = 4

/** Parses a stream of FLV tags. */
export class FlvReader {
  readonly #onTag: (tag: FlvTag) => void
  #pending: Buffer = Buffer.alloc(0)
  #started = false

  constructor(onTag: (tag: FlvTag) => void) {
    this.#onTag = onTag
  }

  push(bytes: Buffer): void {
    let rest = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    if (!this.#started && rest.length >= FILE_HEADER_BYTES) {
      this.#started = true
      rest = rest.subarray(FILE_HEADER_BYTES)
    }
    while (this.#started && rest.length >= TAG_HEADER_BYTES) {
      const end = TAG_HEADER_BYTES + rest.readUIntBE(1, 3)
      if (rest.length < end + BACK_POINTER_BYTES) break
      const body = Buffer.from(rest.subarray(TAG_HEADER_BYTES, end))
      // TimestampExtended, the highest byte, follows the other three. ffmpeg writes 31 bits, also for negative times.
      const timestamp = (((rest[7]! << 24) | rest.readUIntBE(4, 3)) << 1) >> 1
      this.#onTag({ type: rest[0]! & 0x1f, timestamp, body })
      rest = rest.subarray(end + BACK_POINTER_BYTES)
    }
    this.#pending = rest
  }
}
