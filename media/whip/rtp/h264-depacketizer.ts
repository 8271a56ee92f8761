import { MOST_FRAME_BYTES } from './coded-frame.ts'

/** The NAL units of one picture, in order. */
export interface AccessUnit {
  /** RTP timestamp on a line. */
  readonly timestamp: number
  readonly nals: readonly Buffer[]
}

const SINGLE_LAST = 23
const STAP_A = 24
const FU_A = 28
const FIRST_SLICE_TYPES = new Set([1, 5])
const MOST_NALS = 1_024

/** NAL unit type (H.264, 7.4.1). */
export function nalType(nal: Buffer): number {
  return nal[0]! & 0x1f
}

/** A picture under way. */
interface Open {
  readonly timestamp: number
  readonly nals: Buffer[]
  bytes: number
  /** Something of it is missing or makes no sense. */
  damaged: boolean
  /** Packets before its first one were lost, which may have been its own. */
  readonly unsure: boolean
}

/**
 * Puts pictures together from H.264 packets in order (RFC 6184: single NAL units, STAP-A, FU-A; packetization modes 0
 * and 1). A picture is delivered whole or not at all.
 */
export class H264Depacketizer {
  readonly #onUnit: (unit: AccessUnit) => void
  readonly #onDamage: () => void
  #open: Open | null = null
  #fragments: Buffer[] | null = null

  constructor(onUnit: (unit: AccessUnit) => void, onDamage: () => void) {
    this.#onUnit = onUnit
    this.#onDamage = onDamage
  }

  /** @param timestamp on a line @param afterLoss packets before this one are missing for good */
  push(timestamp: number, marker: boolean, payload: Buffer, afterLoss: boolean): void {
    if (afterLoss) this.#noteLoss()
    if (this.#open !== null && this.#open.timestamp !== timestamp) this.#finish()
    // A packet without payload keeps the line busy, no more.
    if (payload.length === 0) return
    this.#open ??= { timestamp, nals: [], bytes: 0, damaged: false, unsure: afterLoss }
    this.#read(this.#open, payload)
    if (marker) this.#finish()
  }

  /** Its end may be among what is missing, and its middle too. */
  #noteLoss(): void {
    if (this.#open !== null) this.#open.damaged = true
    this.#fragments = null
  }

  #read(open: Open, payload: Buffer): void {
    const type = nalType(payload)
    if (type !== FU_A && this.#fragments !== null) {
      open.damaged = true
      this.#fragments = null
    }
    if (type >= 1 && type <= SINGLE_LAST) this.#add(open, payload)
    else if (type === STAP_A) this.#readAggregate(open, payload)
    else if (type === FU_A) this.#readFragment(open, payload)
    else open.damaged = true
  }

  #readAggregate(open: Open, payload: Buffer): void {
    let offset = 1
    while (offset + 2 <= payload.length) {
      const size = payload.readUInt16BE(offset)
      offset += 2
      if (size === 0 || offset + size > payload.length) {
        open.damaged = true
        return
      }
      this.#add(open, payload.subarray(offset, offset + size))
      offset += size
    }
    if (offset !== payload.length) open.damaged = true
  }

  #readFragment(open: Open, payload: Buffer): void {
    if (payload.length < 3) {
      open.damaged = true
      return
    }
    const isStart = (payload[1]! & 0x80) !== 0
    const isEnd = (payload[1]! & 0x40) !== 0
    if (isStart) {
      if (this.#fragments !== null) open.damaged = true
      this.#fragments = [Buffer.of((payload[0]! & 0xe0) | (payload[1]! & 0x1f))]
    }
    if (this.#fragments === null) {
      open.damaged = true
      return
    }
    open.bytes += payload.length
    if (open.bytes > MOST_FRAME_BYTES) open.damaged = true
    else this.#fragments.push(payload.subarray(2))
    if (!isEnd) return
    const nal = Buffer.concat(this.#fragments)
    this.#fragments = null
    open.nals.push(nal)
  }

  #add(open: Open, nal: Buffer): void {
    open.bytes += nal.length
    if (open.bytes > MOST_FRAME_BYTES || open.nals.length >= MOST_NALS) open.damaged = true
    else open.nals.push(nal)
  }

  #finish(): void {
    const open = this.#open
    if (open === null) return
    this.#open = null
    const cut = this.#fragments !== null
    this.#fragments = null
    if (open.damaged || cut || open.nals.length === 0 || (open.unsure && !beginsPicture(open.nals))) this.#onDamage()
    else this.#onUnit({ timestamp: open.timestamp, nals: open.nals })
  }
}

/** Whether the first slice is the first of its picture: first_mb_in_slice is 0, one bit in Exp-Golomb (7.3.3). */
function beginsPicture(nals: readonly Buffer[]): boolean {
  const slice = nals.find((nal) => FIRST_SLICE_TYPES.has(nalType(nal)))
  return slice !== undefined && ((slice[1] ?? 0) & 0x80) !== 0
}
