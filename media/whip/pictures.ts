import { encodeAmf0 } from '../rtmp/amf0.ts'
import { parameterSetsOf } from '../rtmp/avc-record.ts'
import { DATA, VIDEO } from '../rtmp/flv.ts'
import { avcPictureSize, type PictureSize } from '../rtmp/sps.ts'
import type { MediaLog } from '../types.ts'
import { isEncodable, pictureArguments, USUAL_SIZE, type FfmpegProgram } from './transcode/ffmpeg-args.ts'
import type { FlvTag } from '../rtmp/flv-reader.ts'
import { Transcoder } from './transcode/transcoder.ts'

export interface PicturesOptions {
  readonly codec: 'h264' | 'vp8'
  /** Encode them anew, whatever comes, in the usual size. */
  readonly normalise: boolean
  /** The size in which destinations have had the stream so far; null when it is the first they get of it. */
  readonly size: PictureSize | null
  /** Null where there is none: then pictures are passed on in the sizes they have. */
  readonly ffmpeg: FfmpegProgram | null
  /** Takes messages of a publisher (FLV tag types). */
  readonly deliver: (type: number, timestamp: number, payload: Buffer) => void
  /** Pictures come in another size than they go out, and are encoded anew from now on. */
  readonly onFitted: (from: PictureSize, to: PictureSize) => void
  /** They cannot be encoded. */
  readonly onFailure: (reason: string) => void
  readonly log: MediaLog
  readonly sessionId: string
}

/**
 * The pictures of a session, in one size. H.264 is passed on as it comes while its size stays; browsers change it with the
 * line and with the way a phone is held, and platforms drop streams that do. From the first picture in another size on, all are
 * encoded anew in the size that destinations have had before, as is VP8 from the beginning.
 */
export class Pictures {
  readonly #options: PicturesOptions
  #encodes: boolean
  #size: PictureSize | null
  #record: Buffer | null = null
  #transcoder: Transcoder | null = null
  #isDescribed = false

  constructor(options: PicturesOptions) {
    this.#options = options
    const { codec, normalise, size } = options
    this.#encodes = normalise || codec === 'vp8'
    this.#size = !normalise && size !== null && isEncodable(size) ? size : null
    if (this.#encodes) this.#size ??= USUAL_SIZE
  }

  /** Takes an AVCDecoderConfigurationRecord: what follows is of this form. */
  configure(record: Buffer, timestamp: number): void {
    const size = avcPictureSize(record)
    this.#record = record
    if (size !== null) this.#fit(size)
    if (this.#encodes) return
    if (size !== null) this.#describe(size, timestamp)
    this.#options.deliver(VIDEO, timestamp, Buffer.concat([AVC_CONFIGURATION, record]))
  }

  /** Takes a picture: H.264 as the body of an FLV tag, VP8 as it is. */
  take(data: Buffer, timestamp: number, isKeyframe: boolean): void {
    if (!this.#encodes) {
      this.#options.deliver(VIDEO, timestamp, data)
      return
    }
    const isAvc = this.#options.codec === 'h264'
    const frame = isAvc ? data.subarray(AVC_CONFIGURATION.length) : data
    const parameterSets = isAvc && isKeyframe && this.#record !== null ? parameterSetsOf(this.#record) : []
    this.#encoder()?.write(timestamp, isKeyframe, Buffer.concat([...parameterSets, frame]))
  }

  /** Resolves when what is under way has been delivered. */
  async finish(): Promise<void> {
    await this.#transcoder?.finish()
  }

  kill(): void {
    this.#transcoder?.kill()
  }

  #fit(size: PictureSize): void {
    const { ffmpeg, normalise, onFitted } = this.#options
    const kept = this.#size
    if (kept === null || normalise) {
      this.#size ??= size
      return
    }
    const isSame = kept.width === size.width && kept.height === size.height
    if (isSame || ffmpeg === null || !isEncodable(kept)) return
    this.#encodes = true
    onFitted(size, kept)
  }

  /** Started with the first picture it is needed for; null where it cannot be. */
  #encoder(): Transcoder | null {
    if (this.#transcoder !== null) return this.#transcoder
    const { codec, ffmpeg, log, onFailure, sessionId } = this.#options
    const [record, size] = [this.#record, this.#size]
    // The decoder of H.264 begins with its configuration.
    if (ffmpeg === null || size === null || (codec === 'h264' && record === null)) return null
    this.#transcoder = new Transcoder({
      path: ffmpeg.path,
      args: pictureArguments(size, ffmpeg.version),
      track: () => (codec === 'h264' ? { codec, record: this.#record! } : { codec }),
      onTag: (tag) => this.#deliverTag(tag, size),
      onFailure,
      log,
      sessionId,
    })
    return this.#transcoder
  }

  #deliverTag({ body, timestamp, type }: FlvTag, size: PictureSize): void {
    if (type !== VIDEO) return
    this.#describe(size, timestamp)
    this.#options.deliver(VIDEO, timestamp, body)
  }

  /** onMetaData, for players that want to know before the first picture. */
  #describe({ height, width }: PictureSize, timestamp: number): void {
    if (this.#isDescribed) return
    this.#isDescribed = true
    this.#options.deliver(DATA, timestamp, encodeAmf0('@setDataFrame', 'onMetaData', { width, height, ...METADATA }))
  }
}

const METADATA = { videocodecid: 7, audiocodecid: 10, audiosamplerate: 48_000, stereo: true, encoder: 'Crier WHIP' }

/** What stands before a configuration in the body of a tag (FLV 10.1, E.4.3); before a picture there is as much. */
const AVC_CONFIGURATION = Buffer.from('1700000000', 'hex')
