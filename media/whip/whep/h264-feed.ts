import { Writable } from 'node:stream'
import { parameterSetsOf } from '../../rtmp/avc-record.ts'
import { FlvReader, type FlvTag } from '../../rtmp/flv-reader.ts'
import { VIDEO } from '../../rtmp/flv.ts'

const H264 = 7
/** Header of a video tag body with AVC (FLV 10.1, E.4.3). */
const HEADER_BYTES = 5

/** Whether a browser can play it: H.264 without B-frames. WebRTC cannot signal a display order other than the coded order. */
export function isPlayable(payload: Buffer): boolean {
  const isH264 = (payload[0]! & 0x8f) === H264
  return isH264 && (payload[1] !== 1 || payload.readIntBE(2, 3) === 0)
}

/** Sends a frame. Calls `sent` when the next frame can be sent. */
export type SendFrame = (timestamp: number, data: Buffer, sent: () => void) => void

/**
 * Reads a preview as FLV and sends its H.264 frames, with the parameter sets before each keyframe. It destroys itself at the
 * first frame that browsers cannot play. If it does not keep up, the preview drops video before it, as for every viewer.
 */
export class H264Feed extends Writable {
  readonly #send: SendFrame
  readonly #reader = new FlvReader((tag) => this.#readTag(tag))
  #parameterSets: Buffer[] = []
  /** Frames whose `sent` was not called yet. */
  #pending = 0
  /** Accepts the next bytes. Called when no frame is pending. */
  #onAllSent: (() => void) | null = null

  constructor(send: SendFrame) {
    super({ highWaterMark: 512 * 1024 })
    this.#send = send
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#reader.push(bytes)
    if (this.#pending === 0) done()
    else this.#onAllSent = done
  }

  #readTag({ body, timestamp, type }: FlvTag): void {
    if (type !== VIDEO || body.length < HEADER_BYTES || this.destroyed) return
    if (!isPlayable(body)) {
      this.destroy()
      return
    }
    const data = body.subarray(HEADER_BYTES)
    if (body[1] === 0) this.#parameterSets = parameterSetsOf(data)
    if (body[1] !== 1) return
    const isKeyframe = body[0]! >> 4 === 1
    this.#pending += 1
    this.#send(timestamp, isKeyframe ? Buffer.concat([...this.#parameterSets, data]) : data, () => this.#onSent())
  }

  #onSent(): void {
    this.#pending -= 1
    if (this.#pending > 0 || this.#onAllSent === null) return
    const done = this.#onAllSent
    this.#onAllSent = null
    done()
  }
}
