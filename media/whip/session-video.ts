import { encodeAmf0 } from '../rtmp/amf0.ts'
import { parameterSetsOf } from '../rtmp/avc-record.ts'
import { DATA, VIDEO } from '../rtmp/flv.ts'
import { avcVideoSize, type VideoSize } from '../rtmp/sps.ts'
import type { MediaLog } from '../types.ts'
import { isEncodable, videoArguments, DEFAULT_SIZE, type FfmpegProgram } from './transcode/ffmpeg-args.ts'
import type { FlvTag } from '../rtmp/flv-reader.ts'
import { Transcoder } from './transcode/transcoder.ts'

export interface SessionVideoOptions {
  readonly codec: 'h264' | 'vp8'
  /** Always transcode, to the default size. */
  readonly normalise: boolean
  /** The size of the video that destinations have received so far; null if they have received none. */
  readonly size: VideoSize | null
  /** Null if the node has no ffmpeg. Then video is passed on in its original size. */
  readonly ffmpeg: FfmpegProgram | null
  /** Called with each message for the relay (FLV tag types). */
  readonly deliver: (type: number, timestamp: number, payload: Buffer) => void
  /** The client has changed the video size. From now on video is transcoded to the size sent so far. */
  readonly onTranscode: (from: VideoSize, to: VideoSize) => void
  /** Transcoding has failed for good. */
  readonly onFailure: (reason: string) => void
  readonly log: MediaLog
  readonly sessionId: string
}

/**
 * The video of a session, in one size. Browsers change the size with the bandwidth and with the orientation of a phone, and
 * platforms drop streams that change theirs. H.264 is passed on unchanged while its size stays the same. From the first frame
 * in another size on, video is transcoded to the size that destinations have received before. VP8 is always transcoded.
 */
export class SessionVideo {
  readonly #options: SessionVideoOptions
  #transcodes: boolean
  #size: VideoSize | null
  /** AVCDecoderConfigurationRecord of the incoming H.264. */
  #record: Buffer | null = null
  #transcoder: Transcoder | null = null
  #hasMetadata = false

  constructor(options: SessionVideoOptions) {
    this.#options = options
    const { codec, normalise, size } = options
    this.#transcodes = normalise || codec === 'vp8'
    this.#size = !normalise && size !== null && isEncodable(size) ? size : null
    if (this.#transcodes) this.#size ??= DEFAULT_SIZE
  }

  /** Sets the AVCDecoderConfigurationRecord of the frames that follow. */
  configure(record: Buffer, timestamp: number): void {
    const size = avcVideoSize(record)
    this.#record = record
    if (size !== null) this.#applySize(size)
    if (this.#transcodes) return
    if (size !== null) this.#sendMetadata(size, timestamp)
    this.#options.deliver(VIDEO, timestamp, Buffer.concat([AVC_CONFIGURATION_HEADER, record]))
  }

  /** Writes a frame. H.264 is the body of an FLV tag. VP8 is a raw frame. */
  write(data: Buffer, timestamp: number, isKeyframe: boolean): void {
    if (!this.#transcodes) {
      this.#options.deliver(VIDEO, timestamp, data)
      return
    }
    const isAvc = this.#options.codec === 'h264'
    const frame = isAvc ? data.subarray(AVC_CONFIGURATION_HEADER.length) : data
    const parameterSets = isAvc && isKeyframe && this.#record !== null ? parameterSetsOf(this.#record) : []
    this.#startTranscoder()?.write(timestamp, isKeyframe, Buffer.concat([...parameterSets, frame]))
  }

  /** Resolves when all frames have been delivered. */
  async finish(): Promise<void> {
    await this.#transcoder?.finish()
  }

  kill(): void {
    this.#transcoder?.kill()
  }

  #applySize(size: VideoSize): void {
    const { ffmpeg, normalise, onTranscode } = this.#options
    const output = this.#size
    if (output === null || normalise) {
      this.#size ??= size
      return
    }
    const isSame = output.width === size.width && output.height === size.height
    if (isSame || ffmpeg === null || !isEncodable(output)) return
    this.#transcodes = true
    onTranscode(size, output)
  }

  /** Starts the transcoder with the first frame that needs it. Null if it cannot be started. */
  #startTranscoder(): Transcoder | null {
    if (this.#transcoder !== null) return this.#transcoder
    const { codec, ffmpeg, log, onFailure, sessionId } = this.#options
    const [record, size] = [this.#record, this.#size]
    // An H.264 decoder needs the configuration before the first frame.
    if (ffmpeg === null || size === null || (codec === 'h264' && record === null)) return null
    this.#transcoder = new Transcoder({
      path: ffmpeg.path,
      args: videoArguments(size, ffmpeg.version),
      track: () => (codec === 'h264' ? { codec, record: this.#record! } : { codec }),
      onTag: (tag) => this.#deliverTag(tag, size),
      onFailure,
      log,
      sessionId,
    })
    return this.#transcoder
  }

  #deliverTag({ body, timestamp, type }: FlvTag, size: VideoSize): void {
    if (type !== VIDEO) return
    this.#sendMetadata(size, timestamp)
    this.#options.deliver(VIDEO, timestamp, body)
  }

  /** Sends onMetaData once, for players that need it before the first frame. */
  #sendMetadata({ height, width }: VideoSize, timestamp: number): void {
    if (this.#hasMetadata) return
    this.#hasMetadata = true
    this.#options.deliver(DATA, timestamp, encodeAmf0('@setDataFrame', 'onMetaData', { width, height, ...METADATA }))
  }
}

const METADATA = { videocodecid: 7, audiocodecid: 10, audiosamplerate: 48_000, stereo: true, encoder: 'Crier WHIP' }

/** The header of a tag body with an AVC configuration (FLV 10.1, E.4.3). The header of a frame has the same length. */
const AVC_CONFIGURATION_HEADER = Buffer.from('1700000000', 'hex')
