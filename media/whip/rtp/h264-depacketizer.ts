import { MAX_FRAME_BYTES } from './coded-frame.ts'

/** The NAL units of one frame, in order. */
export interface AccessUnit {
  /** Unwrapped RTP timestamp. */
  readonly timestamp: number
  readonly nals: readonly Buffer[]
}

/** Types 1 to 23 are single NAL unit packets. */
const MAX_SINGLE_TYPE = 23
const STAP_A = 24
const FU_A = 28
/** A non-IDR slice and an IDR slice. */
const SLICE_TYPES = new Set([1, 5])
const MAX_NALS = 1_024

/** NAL unit type (H.264, 7.4.1). */
export function nalType(nal: Buffer): number {
  return nal[0]! & 0x1f
}

/** A frame that is being assembled. */
interface PartialFrame {
  readonly timestamp: number
  readonly nals: Buffer[]
  bytes: number
  /** A part is missing or invalid. */
  damaged: boolean
  /** Packets before its first packet were lost. They may have belonged to it. */
  readonly mayMissStart: boolean
}

/**
 * Assembles frames from H.264 packets in sequence order (RFC 6184: single NAL units, STAP-A, FU-A; packetization modes 0
 * and 1). Incomplete frames are never delivered.
 */
export class H264Depacketizer {
  readonly #onUnit: (unit: AccessUnit) => void
  readonly #onDamagedFrame: () => void
  #frame: PartialFrame | null = null
  #fragments: Buffer[] | null = null

  constructor(onUnit: (unit: AccessUnit) => void, onDamagedFrame: () => void) {
    this.#onUnit = onUnit
    this.#onDamagedFrame = onDamagedFrame
  }

  /** @param timestamp unwrapped RTP timestamp @param afterLoss whether packets before this one are lost */
  push(timestamp: number, marker: boolean, payload: Buffer, afterLoss: boolean): void {
    if (afterLoss) this.#noteLoss()
    if (this.#frame !== null && this.#frame.timestamp !== timestamp) this.#finish()
    // Packets without payload are padding.
    if (payload.length === 0) return
    this.#frame ??= { timestamp, nals: [], bytes: 0, damaged: false, mayMissStart: afterLoss }
    this.#read(this.#frame, payload)
    if (marker) this.#finish()
  }

  /** The lost packets may belong to the current frame. */
  #noteLoss(): void {
    if (this.#frame !== null) this.#frame.damaged = true
    this.#fragments = null
  }

  #read(frame: PartialFrame, payload: Buffer): void {
    const type = nalType(payload)
    if (type !== FU_A && this.#fragments !== null) {
      frame.damaged = true
      this.#fragments = null
    }
    if (type >= 1 && type <= MAX_SINGLE_TYPE) this.#add(frame, payload)
    else if (type === STAP_A) this.#readAggregate(frame, payload)
    else if (type === FU_A) this.#readFragment(frame, payload)
    else frame.damaged = true
  }

  #readAggregate(frame: PartialFrame, payload: Buffer): void {
    let offset = 1
    while (offset + 2 <= payload.length) {
      const size = payload.readUInt16BE(offset)
      offset += 2
      if (size === 0 || offset + size > payload.length) {
        frame.damaged = true
        return
      }
      this.#add(frame, payload.subarray(offset, offset + size))
      offset += size
    }
    if (offset !== payload.length) frame.damaged = true
  }

  #readFragment(frame: PartialFrame, payload: Buffer): void {
    if (payload.length < 3) {
      frame.damaged = true
      return
    }
    const isStart = (payload[1]! & 0x80) !== 0
    const isEnd = (payload[1]! & 0x40) !== 0
    if (isStart) {
      if (this.#fragments !== null) frame.damaged = true
      this.#fragments = [Buffer.of((payload[0]! & 0xe0) | (payload[1]! & 0x1f))]
    }
    if (this.#fragments === null) {
      frame.damaged = true
      return
    }
    frame.bytes += payload.length
    if (frame.bytes > MAX_FRAME_BYTES) frame.damaged = true
    else this.#fragments.push(payload.subarray(2))
    if (!isEnd) return
    const nal = Buffer.concat(this.#fragments)
    this.#fragments = null
    frame.nals.push(nal)
  }

  #add(frame: PartialFrame, nal: Buffer): void {
    frame.bytes += nal.length
    if (frame.bytes > MAX_FRAME_BYTES || frame.nals.length >= MAX_NALS) frame.damaged = true
    else frame.nals.push(nal)
  }

  #finish(): void {
    const frame = this.#frame
    if (frame === null) return
    this.#frame = null
    const isCut = this.#fragments !== null
    this.#fragments = null
    const { damaged, mayMissStart, nals, timestamp } = frame
    if (damaged || isCut || nals.length === 0 || (mayMissStart && !startsFrame(nals))) this.#onDamagedFrame()
    else this.#onUnit({ timestamp, nals })
  }
}

/** Whether the first slice is the first of its frame: first_mb_in_slice is 0, which is one bit in Exp-Golomb (7.3.3). */
function startsFrame(nals: readonly Buffer[]): boolean {
  const slice = nals.find((nal) => SLICE_TYPES.has(nalType(nal)))
  return slice !== undefined && ((slice[1] ?? 0) & 0x80) !== 0
}
