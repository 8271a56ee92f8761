import { randomBytes } from 'node:crypto'
import { PublisherSession } from '../ingest/publisher-session.ts'
import type { IngestLimits } from '../ingest/limits.ts'
import { encodeAmf0 } from '../rtmp/amf0.ts'
import { DATA, VIDEO } from '../rtmp/flv.ts'
import { avcPictureSize } from '../rtmp/sps.ts'
import type { DesiredStream, MediaLog } from '../types.ts'
import type { CodedMedia } from './child/protocol.ts'
import type { FilteredOffer } from './sdp/offer.ts'
import type { FfmpegProgram } from './transcode/ffmpeg-args.ts'
import type { FlvTag } from '../rtmp/flv-reader.ts'
import { Transcoder } from './transcode/transcoder.ts'

export interface WhipSessionOptions {
  readonly sessionId: string
  readonly path: string
  readonly keyHash: string
  readonly remoteAddress: string
  readonly stream: DesiredStream
  readonly offer: FilteredOffer
  /** Encode video anew, in one size and at one rate, whatever comes. */
  readonly normalise: boolean
  /** Null where there is none: then sound is left out. */
  readonly ffmpeg: FfmpegProgram | null
  readonly doctor: IngestLimits['doctor']
  readonly log: MediaLog
  /** Ends the connection to the client. */
  readonly hangUp: () => void
  /** Called once, when the last of its media was delivered. */
  readonly onOver: (session: WhipSession) => void
}

/** One client of WHIP from its offer to its end, as the relay sees it: a publisher like one by RTMP. */
export class WhipSession {
  readonly sessionId: string
  /** Of its ICE session, for If-Match. */
  readonly etag = randomBytes(8).toString('hex')
  /** Null until it has connected. */
  publisher: PublisherSession | null = null
  /** Called with its end, whatever brings it. */
  onEnd: () => void = () => {}
  readonly #options: WhipSessionOptions
  #transcoder: Transcoder | null = null
  #record: Buffer | null = null
  #ending = false
  #isOver = false

  constructor(options: WhipSessionOptions) {
    this.#options = options
    this.sessionId = options.sessionId
  }

  get path(): string {
    return this.#options.path
  }

  get keyHash(): string {
    return this.#options.keyHash
  }

  get streamId(): string {
    return this.#options.stream.streamId
  }

  get ufrag(): string {
    return this.#options.offer.ufrag
  }

  /** The client has connected: from here on it is a publisher. */
  connect(): PublisherSession {
    const { doctor, keyHash, path, remoteAddress, sessionId, stream } = this.#options
    this.publisher = new PublisherSession({
      sessionId,
      path,
      keyHash,
      remoteAddress,
      stream,
      doctor,
      now: () => performance.now(),
      drop: (reason) => this.drop(reason),
      refuse: (reason) => this.drop(reason),
    })
    return this.publisher
  }

  /** Takes what the client sends. */
  take(media: CodedMedia): void {
    if (this.#ending || this.publisher === null) return
    const { kind, data, timestamp } = media
    if (kind === 'config') this.#configure(data, timestamp)
    else if (kind === 'audio') this.#transcoderAt(timestamp)?.write('audio', timestamp, true, data)
    else if (!this.#encodesVideo) this.#deliver(VIDEO, timestamp, data)
    else this.#encode(data, timestamp, media.isKeyframe)
  }

  /** The client has gone: what is under way is still delivered. */
  async finish(reason: string): Promise<void> {
    if (this.#ending) return
    this.#ending = true
    this.#options.hangUp()
    await this.#transcoder?.finish()
    this.#over(reason)
  }

  /** Ends it now; nothing of it is delivered any more. */
  drop(reason: string): void {
    if (this.#isOver) return
    this.#ending = true
    this.#options.hangUp()
    this.#transcoder?.kill()
    this.#over(reason)
  }

  #over(reason: string): void {
    const { log, onOver, path, remoteAddress, sessionId } = this.#options
    if (this.#isOver) return
    this.#isOver = true
    log.info({ sessionId, path, remoteAddress, reason }, 'whip session ended')
    onOver(this)
    this.onEnd()
    this.publisher?.end(reason)
  }

  get #encodesVideo(): boolean {
    return this.#options.normalise || this.#options.offer.video?.name === 'vp8'
  }

  #configure(record: Buffer, timestamp: number): void {
    this.#record = record
    if (this.#encodesVideo) return
    const size = avcPictureSize(record)
    if (size !== null) this.#deliver(DATA, timestamp, metadata(size))
    this.#deliver(VIDEO, timestamp, Buffer.concat([Buffer.from('1700000000', 'hex'), record]))
  }

  #encode(data: Buffer, timestamp: number, isKeyframe: boolean): void {
    const isAvc = this.#options.offer.video?.name === 'h264'
    const frame = isAvc ? data.subarray(5) : data
    const parameterSets = isAvc && isKeyframe && this.#record !== null ? parameterSetsOf(this.#record) : []
    this.#transcoderAt(timestamp)?.write('video', timestamp, isKeyframe, Buffer.concat([...parameterSets, frame]))
  }

  /** Started with the first frame it is needed for; null where it cannot be. */
  #transcoderAt(timestamp: number): Transcoder | null {
    if (this.#transcoder !== null) return this.#transcoder
    const { ffmpeg, log, offer, sessionId } = this.#options
    // The decoder of H.264 begins with its configuration.
    const record = this.#record
    const isAvc = offer.video?.name === 'h264'
    if (ffmpeg === null || (this.#encodesVideo && isAvc && record === null)) return null
    this.#transcoder = new Transcoder({
      program: ffmpeg,
      tracks: {
        video:
          !this.#encodesVideo || offer.video === null
            ? null
            : isAvc
              ? { codec: 'h264', record: record! }
              : { codec: 'vp8' },
        audio: offer.audio !== null,
      },
      origin: timestamp,
      onTag: (tag) => this.#deliverTag(tag),
      onFailure: (reason) => this.drop(reason),
      log,
      sessionId,
    })
    return this.#transcoder
  }

  #deliverTag({ body, timestamp, type }: FlvTag): void {
    if (type !== DATA) this.#deliver(type, timestamp, body)
    else if (this.#encodesVideo) this.#deliver(DATA, timestamp, Buffer.concat([SET_DATA_FRAME, body]))
  }

  #deliver(type: number, timestamp: number, payload: Buffer): void {
    this.publisher?.deliver({ type, streamId: 1, chunkStreamId: 4, timestamp: Math.max(0, timestamp) >>> 0, payload })
  }
}

/** A publisher's metadata begin with it; those of a file do not. */
const SET_DATA_FRAME = encodeAmf0('@setDataFrame')

/** onMetaData for players that want to know before the first picture. */
function metadata({ height, width }: { readonly width: number; readonly height: number }): Buffer {
  const values = {
    width,
    height,
    videocodecid: 7,
    audiocodecid: 10,
    audiosamplerate: 48_000,
    stereo: true,
    encoder: 'Crier WHIP',
  }
  return encodeAmf0('@setDataFrame', 'onMetaData', values)
}

/** The parameter sets of a configuration, each behind its length in four bytes: in front of a keyframe they say that the size is another. */
function parameterSetsOf(record: Buffer): Buffer[] {
  const sets: Buffer[] = []
  let offset = 5
  for (const mask of [0x1f, 0xff]) {
    const count = record[offset]! & mask
    offset += 1
    for (let index = 0; index < count; index += 1) {
      const length = record.readUInt16BE(offset)
      sets.push(Buffer.concat([Buffer.of(0, 0), record.subarray(offset, offset + 2 + length)]))
      offset += 2 + length
    }
  }
  return sets
}
