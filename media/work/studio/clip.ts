import { PassThrough } from 'node:stream'
import { MediaWorkError } from '../errors.ts'
import { fileKind } from '../probe/file-kind.ts'
import { probeWorkable } from '../probe/timed.ts'
import type { WorkContext } from '../process/context.ts'
import { toneMapFilter } from '../transcode/video.ts'
import type { VideoLayer } from './scene.ts'

export const FRAMES_PER_SECOND = 30

/** The decoded frames of a video layer, in the size of the layer and in order. */
export class Clip {
  readonly #bytes: number
  readonly #chunks: AsyncIterator<Buffer>
  readonly #stop: AbortController
  readonly #stopped: Promise<unknown>
  #failure: unknown
  #rest: Buffer[] = []
  #restBytes = 0
  #last: Uint8Array | undefined
  #count = 0

  private constructor(output: PassThrough, bytes: number, stop: AbortController, running: Promise<unknown>) {
    this.#bytes = bytes
    this.#stop = stop
    this.#chunks = output[Symbol.asyncIterator]() as AsyncIterator<Buffer>
    this.#stopped = running.catch((error: unknown) => {
      this.#failure = error
      output.end()
    })
  }

  /** @param seconds how much of it is needed. @throws MediaWorkError */
  static async open(layer: VideoLayer, seconds: number, context: WorkContext): Promise<Clip> {
    const { fit = 'cover', fromSeconds = 0, path } = layer
    const { video } = await probeWorkable({ path, kind: await fileKind(path), probed: undefined }, context)
    if (video === null) throw new MediaWorkError('unsupported', 'The file has no video.')
    const { height, width } = clipSize(layer)
    const output = new PassThrough({ highWaterMark: 2 ** 20 })
    const stop = new AbortController()
    const size = `${width}:${height}`
    const running = context.ffmpeg.run({
      input: path,
      inputOptions: ['-ss', fromSeconds.toFixed(3), '-an', '-sn', '-dn'],
      outputOptions: [
        '-map',
        '0:V:0',
        '-t',
        seconds.toFixed(3),
        '-vf',
        [
          'yadif=deint=interlaced',
          `fps=${FRAMES_PER_SECOND}:start_time=0`,
          ...(video.hdr === null ? [] : [toneMapFilter(video.hdr)]),
          'scale=trunc(iw*sar):ih,setsar=1',
          ...(fit === 'cover'
            ? [`scale=${size}:force_original_aspect_ratio=increase`, `crop=${size}`, 'format=rgba']
            : [
                `scale=${size}:force_original_aspect_ratio=decrease`,
                'format=rgba',
                `pad=${size}:(ow-iw)/2:(oh-ih)/2:color=black@0`,
              ]),
        ].join(','),
        '-f',
        'rawvideo',
      ],
      output,
      signal: AbortSignal.any([context.signal, stop.signal]),
    })
    return new Clip(output, width * height * 4, stop, running)
  }

  /** A frame. After the end of the file, its last one. @param index from 0, never less than before. @throws MediaWorkError */
  async frame(index: number): Promise<Uint8Array> {
    while (this.#count <= index) {
      const frame = await this.#next()
      if (frame === undefined) break
      this.#last = frame
      this.#count += 1
    }
    if (this.#last !== undefined) return this.#last
    await this.#stopped
    if (this.#failure !== undefined) throw this.#failure
    throw new MediaWorkError('damaged', 'The file has no frame at this time.')
  }

  /** Ends ffmpeg. */
  async close(): Promise<void> {
    this.#stop.abort(new MediaWorkError('cancelled', 'The clip is not needed any more.'))
    await this.#chunks.return?.()
    await this.#stopped
  }

  async #next(): Promise<Uint8Array | undefined> {
    while (this.#restBytes < this.#bytes) {
      const { done, value } = await this.#chunks.next()
      if (done === true) return undefined
      this.#rest.push(value)
      this.#restBytes += value.length
    }
    const all =
      this.#rest.length === 1 ? (this.#rest[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#rest, this.#restBytes)
    this.#rest = [all.subarray(this.#bytes)]
    this.#restBytes -= this.#bytes
    return all.subarray(0, this.#bytes)
  }
}

/** The size in which a layer's video is decoded. */
export function clipSize({ height, width }: VideoLayer): { readonly width: number; readonly height: number } {
  return { width: Math.max(1, Math.round(width)), height: Math.max(1, Math.round(height)) }
}
