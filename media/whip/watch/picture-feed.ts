import { Writable } from 'node:stream'
import { parameterSetsOf } from '../../rtmp/avc-record.ts'
import { FlvReader, type FlvTag } from '../../rtmp/flv-reader.ts'
import { VIDEO } from '../../rtmp/flv.ts'

const H264 = 7
const HEADER_BYTES = 5

/** Whether a browser can show it: H.264, in the order in which it came. WebRTC has no word for another order. */
export function isShowable(payload: Buffer): boolean {
  const isPlain = (payload[0]! & 0x8f) === H264
  return isPlain && (payload[1] !== 1 || payload.readIntBE(2, 3) === 0)
}

/** Shows a picture; calls `sent` when the next may come. */
export type ShowPicture = (timestamp: number, data: Buffer, sent: () => void) => void

/**
 * Takes a preview as FLV and shows its pictures, each keyframe behind its parameter sets. Destroyed with the first one
 * that cannot be shown. What it does not take in time is left out in front of it, as for every viewer.
 */
export class PictureFeed extends Writable {
  readonly #show: ShowPicture
  readonly #reader = new FlvReader((tag) => this.#take(tag))
  #parameterSets: Buffer[] = []
  #waiting = 0
  #onShown: (() => void) | null = null

  constructor(show: ShowPicture) {
    super({ highWaterMark: 512 * 1024 })
    this.#show = show
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#reader.push(bytes)
    if (this.#waiting === 0) done()
    else this.#onShown = done
  }

  #take({ body, timestamp, type }: FlvTag): void {
    if (type !== VIDEO || body.length < HEADER_BYTES || this.destroyed) return
    if (!isShowable(body)) {
      this.destroy()
      return
    }
    const data = body.subarray(HEADER_BYTES)
    if (body[1] === 0) this.#parameterSets = parameterSetsOf(data)
    if (body[1] !== 1) return
    const isKeyframe = body[0]! >> 4 === 1
    this.#waiting += 1
    this.#show(timestamp, isKeyframe ? Buffer.concat([...this.#parameterSets, data]) : data, () => this.#shown())
  }

  #shown(): void {
    this.#waiting -= 1
    if (this.#waiting > 0 || this.#onShown === null) return
    const done = this.#onShown
    this.#onShown = null
    done()
  }
}
