import { MAX_FRAME_BYTES, type CodedFrame } from './coded-frame.ts'

export interface Vp8Frame extends CodedFrame {
  readonly data: Buffer
}

/** A frame that is being assembled. */
interface PartialFrame {
  readonly timestamp: number
  readonly parts: Buffer[]
  bytes: number
  damaged: boolean
}

/** Assembles frames from VP8 packets in sequence order (RFC 7741). Incomplete frames are never delivered. */
export class Vp8Depacketizer {
  readonly #onFrame: (frame: Vp8Frame) => void
  readonly #onDamagedFrame: () => void
  #frame: PartialFrame | null = null

  constructor(onFrame: (frame: Vp8Frame) => void, onDamagedFrame: () => void) {
    this.#onFrame = onFrame
    this.#onDamagedFrame = onDamagedFrame
  }

  /** @param timestamp unwrapped RTP timestamp @param afterLoss whether packets before this one are lost */
  push(timestamp: number, marker: boolean, payload: Buffer, afterLoss: boolean): void {
    if (afterLoss && this.#frame !== null) this.#frame.damaged = true
    if (this.#frame !== null && this.#frame.timestamp !== timestamp) this.#finish()
    if (payload.length === 0) return
    const size = descriptorSize(payload)
    const isFirst = this.#frame === null
    this.#frame ??= { timestamp, parts: [], bytes: 0, damaged: false }
    const frame = this.#frame
    if (size >= payload.length || (isFirst && !startsFrame(payload))) frame.damaged = true
    frame.bytes += payload.length
    if (frame.bytes > MAX_FRAME_BYTES) frame.damaged = true
    if (!frame.damaged) frame.parts.push(payload.subarray(size))
    if (marker) this.#finish()
  }

  #finish(): void {
    const frame = this.#frame
    if (frame === null) return
    this.#frame = null
    if (frame.damaged) {
      this.#onDamagedFrame()
      return
    }
    const data = frame.parts.length === 1 ? frame.parts[0]! : Buffer.concat(frame.parts)
    // The P bit of the frame tag is 0 in a keyframe (RFC 6386, section 9.1).
    this.#onFrame({ timestamp: frame.timestamp, data, isKeyframe: (data[0]! & 1) === 0 })
  }
}

/** Whether the packet is the first of a frame: the S bit is set and the partition index is 0. */
function startsFrame(payload: Buffer): boolean {
  return (payload[0]! & 0x17) === 0x10
}

/** Size of the payload descriptor in bytes (section 4.2). Larger than the payload if the descriptor is cut off. */
function descriptorSize(payload: Buffer): number {
  if ((payload[0]! & 0x80) === 0) return 1
  const extension = payload[1] ?? 0
  let size = 2
  if (extension & 0x80) size += (payload[2] ?? 0) & 0x80 ? 2 : 1
  if (extension & 0x40) size += 1
  if (extension & 0x30) size += 1
  return size
}

/** Width times height of a keyframe (RFC 6386, section 9.1). 1 if it is cut off. */
export function vp8Area(keyframe: Buffer): number {
  if (keyframe.length < 10) return 1
  return (keyframe.readUInt16LE(6) & 0x3fff) * (keyframe.readUInt16LE(8) & 0x3fff) || 1
}
