import { MOST_FRAME_BYTES, type CodedFrame } from './coded-frame.ts'

export interface Vp8Frame extends CodedFrame {
  readonly data: Buffer
}

interface Open {
  readonly timestamp: number
  readonly parts: Buffer[]
  bytes: number
  damaged: boolean
}

/** Puts frames together from VP8 packets in order (RFC 7741). A frame is delivered whole or not at all. */
export class Vp8Depacketizer {
  readonly #onFrame: (frame: Vp8Frame) => void
  readonly #onDamage: () => void
  #open: Open | null = null

  constructor(onFrame: (frame: Vp8Frame) => void, onDamage: () => void) {
    this.#onFrame = onFrame
    this.#onDamage = onDamage
  }

  /** @param timestamp on a line @param afterLoss packets before this one are missing for good */
  push(timestamp: number, marker: boolean, payload: Buffer, afterLoss: boolean): void {
    if (afterLoss && this.#open !== null) this.#open.damaged = true
    if (this.#open !== null && this.#open.timestamp !== timestamp) this.#finish()
    if (payload.length === 0) return
    const size = descriptorSize(payload)
    const isFirst = this.#open === null
    this.#open ??= { timestamp, parts: [], bytes: 0, damaged: false }
    const open = this.#open
    if (size >= payload.length || (isFirst && !startsFrame(payload))) open.damaged = true
    open.bytes += payload.length
    if (open.bytes > MOST_FRAME_BYTES) open.damaged = true
    if (!open.damaged) open.parts.push(payload.subarray(size))
    if (marker) this.#finish()
  }

  #finish(): void {
    const open = this.#open
    if (open === null) return
    this.#open = null
    if (open.damaged) {
      this.#onDamage()
      return
    }
    const data = open.parts.length === 1 ? open.parts[0]! : Buffer.concat(open.parts)
    // P of the frame tag: 0 in a keyframe (RFC 6386, section 9.1).
    this.#onFrame({ timestamp: open.timestamp, data, isKeyframe: (data[0]! & 1) === 0 })
  }
}

/** S set and partition index 0. */
function startsFrame(payload: Buffer): boolean {
  return (payload[0]! & 0x17) === 0x10
}

/** Bytes of the payload descriptor (section 4.2); beyond the payload when it is cut short. */
function descriptorSize(payload: Buffer): number {
  if ((payload[0]! & 0x80) === 0) return 1
  const extension = payload[1] ?? 0
  let size = 2
  if (extension & 0x80) size += (payload[2] ?? 0) & 0x80 ? 2 : 1
  if (extension & 0x40) size += 1
  if (extension & 0x30) size += 1
  return size
}

/** Width times height of a keyframe (RFC 6386, section 9.1); 1 when it is cut short. */
export function vp8Area(keyframe: Buffer): number {
  if (keyframe.length < 10) return 1
  return (keyframe.readUInt16LE(6) & 0x3fff) * (keyframe.readUInt16LE(8) & 0x3fff) || 1
}
