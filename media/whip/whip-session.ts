import { randomBytes } from 'node:crypto'
import { PublisherSession } from '../ingest/publisher-session.ts'
import type { IngestLimits } from '../ingest/limits.ts'
import { AUDIO } from '../rtmp/flv.ts'
import type { PictureSize } from '../rtmp/sps.ts'
import type { DesiredStream, MediaLog, ReceptionStatus } from '../types.ts'
import type { CodedMedia } from './child/protocol.ts'
import { Pictures } from './pictures.ts'
import type { FilteredOffer } from './sdp/offer.ts'
import { soundArguments, type FfmpegProgram } from './transcode/ffmpeg-args.ts'
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
  /** How its media comes in, as last told. */
  tracks: readonly ReceptionStatus[] = []
  /** Called with its end, whatever brings it. */
  onEnd: () => void = () => {}
  readonly #options: WhipSessionOptions
  #pictures: Pictures | null = null
  #sound: Transcoder | null = null
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

  /** The client has connected: from here on it is a publisher. @param size that destinations have had of the stream so far */
  connect(size: PictureSize | null): PublisherSession {
    const { doctor, ffmpeg, keyHash, offer, path, remoteAddress, sessionId, stream } = this.#options
    this.publisher = new PublisherSession({
      sessionId,
      path,
      keyHash,
      remoteAddress,
      stream,
      doctor,
      // Without ffmpeg there is no sound, whatever comes.
      announced: { video: offer.video !== null, audio: offer.audio !== null && ffmpeg !== null },
      headersAreTimed: true,
      now: () => performance.now(),
      drop: (reason) => this.drop(reason),
      refuse: (reason) => this.drop(reason),
    })
    this.#pictures = this.#picturesOf(this.publisher, size)
    return this.publisher
  }

  /** Takes what the client sends. */
  take(media: CodedMedia): void {
    if (this.#ending || this.publisher === null) return
    const { kind, data, timestamp } = media
    // An encoder may take a second to start: that is no reason to say that nothing comes in.
    if (kind !== 'config') this.publisher.trackReceived(kind)
    if (kind === 'audio') this.#soundEncoder()?.write(timestamp, true, data)
    else if (kind === 'config') this.#pictures?.configure(data, timestamp)
    else this.#pictures?.take(data, timestamp, media.isKeyframe)
  }

  /** The client has gone: what is under way is still delivered. */
  async finish(reason: string): Promise<void> {
    if (this.#ending) return
    this.#ending = true
    this.#options.hangUp()
    await Promise.all([this.#sound?.finish(), this.#pictures?.finish()])
    this.#over(reason)
  }

  /** Ends it now; nothing of it is delivered any more. */
  drop(reason: string): void {
    if (this.#isOver) return
    this.#ending = true
    this.#options.hangUp()
    this.#sound?.kill()
    this.#pictures?.kill()
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

  #picturesOf(publisher: PublisherSession, size: PictureSize | null): Pictures | null {
    const { ffmpeg, log, normalise, offer, sessionId } = this.#options
    if (offer.video === null) return null
    return new Pictures({
      codec: offer.video.name,
      normalise,
      size,
      ffmpeg,
      deliver: (type, timestamp, payload) => this.#deliver(type, timestamp, payload),
      onFitted: (from, to) => {
        log.info({ sessionId, from, to }, 'the picture has changed its size: it is encoded anew')
        publisher.pictureRescaled(from, to)
      },
      onFailure: (reason) => this.drop(reason),
      log,
      sessionId,
    })
  }

  /** Null where there is no ffmpeg. */
  #soundEncoder(): Transcoder | null {
    const { ffmpeg, log, sessionId } = this.#options
    if (ffmpeg === null) return null
    this.#sound ??= new Transcoder({
      path: ffmpeg.path,
      args: soundArguments(),
      track: () => ({ codec: 'opus' }),
      onTag: ({ body, timestamp, type }) => type === AUDIO && this.#deliver(AUDIO, timestamp, body),
      onFailure: (reason) => this.drop(reason),
      log,
      sessionId,
    })
    return this.#sound
  }

  #deliver(type: number, timestamp: number, payload: Buffer): void {
    this.publisher?.deliver({ type, streamId: 1, chunkStreamId: 4, timestamp: Math.max(0, timestamp) >>> 0, payload })
  }
}
