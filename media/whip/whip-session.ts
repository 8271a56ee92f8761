import { randomBytes } from 'node:crypto'
import { PublisherSession } from '../ingest/publisher-session.ts'
import type { IngestLimits } from '../ingest/limits.ts'
import { AUDIO } from '../rtmp/flv.ts'
import type { VideoSize } from '../rtmp/sps.ts'
import type { DesiredStream, MediaLog, ReceptionStatus } from '../types.ts'
import type { CodedMedia } from './child/protocol.ts'
import { SessionVideo } from './session-video.ts'
import type { FilteredOffer } from './sdp/offer.ts'
import { audioArguments, type FfmpegProgram } from './transcode/ffmpeg-args.ts'
import { Transcoder } from './transcode/transcoder.ts'

export interface WhipSessionOptions {
  readonly sessionId: string
  readonly path: string
  readonly keyHash: string
  readonly remoteAddress: string
  readonly stream: DesiredStream
  readonly offer: FilteredOffer
  /** Always transcode video, to one size and frame rate. */
  readonly normalise: boolean
  /** Null if the node has no ffmpeg. Then audio is dropped. */
  readonly ffmpeg: FfmpegProgram | null
  readonly doctor: IngestLimits['doctor']
  readonly log: MediaLog
  /** Closes the connection to the client. */
  readonly closeConnection: () => void
  /** Called once, after the last media was delivered. */
  readonly onEnded: (session: WhipSession) => void
}

/** A WHIP client from its offer to its end. Once connected, the relay treats it like an RTMP publisher. */
export class WhipSession {
  readonly sessionId: string
  /** ETag of the ICE session, for If-Match. */
  readonly etag = randomBytes(8).toString('hex')
  /** Null until the client has connected. */
  publisher: PublisherSession | null = null
  /** The last reported reception statistics. */
  tracks: readonly ReceptionStatus[] = []
  /** Called when the session ends. The ingest sets it, to reply to an offer that is not answered yet. */
  onEndBeforeAnswer: () => void = () => {}
  readonly #options: WhipSessionOptions
  #video: SessionVideo | null = null
  #audio: Transcoder | null = null
  #isEnding = false
  #hasEnded = false

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

  /**
   * Creates the publisher when the client has connected.
   * @param size the size of the video that destinations have received so far
   */
  connect(size: VideoSize | null): PublisherSession {
    const { doctor, ffmpeg, keyHash, offer, path, remoteAddress, sessionId, stream } = this.#options
    this.publisher = new PublisherSession({
      sessionId,
      path,
      keyHash,
      remoteAddress,
      stream,
      doctor,
      // Without ffmpeg, audio is dropped.
      announced: { video: offer.video !== null, audio: offer.audio !== null && ffmpeg !== null },
      headersAreTimed: true,
      now: () => performance.now(),
      drop: (reason) => this.drop(reason),
      refuse: (reason) => this.drop(reason),
    })
    this.#video = this.#newVideo(this.publisher, size)
    return this.publisher
  }

  /** Handles media from the client. */
  receive(media: CodedMedia): void {
    if (this.#isEnding || this.publisher === null) return
    const { kind, data, timestamp } = media
    // Not after the transcoder: it can take a second to start, and the doctor would report a missing track.
    if (kind !== 'config') this.publisher.trackReceived(kind)
    if (kind === 'audio') this.#startAudio()?.write(timestamp, true, data)
    else if (kind === 'config') this.#video?.configure(data, timestamp)
    else this.#video?.write(data, timestamp, media.isKeyframe)
  }

  /** Ends the session after the media received so far is delivered. */
  async finish(reason: string): Promise<void> {
    if (this.#isEnding) return
    this.#isEnding = true
    this.#options.closeConnection()
    await Promise.all([this.#audio?.finish(), this.#video?.finish()])
    this.#end(reason)
  }

  /** Ends the session at once. Media that is still being encoded is dropped. */
  drop(reason: string): void {
    if (this.#hasEnded) return
    this.#isEnding = true
    this.#options.closeConnection()
    this.#audio?.kill()
    this.#video?.kill()
    this.#end(reason)
  }

  #end(reason: string): void {
    const { log, onEnded, path, remoteAddress, sessionId } = this.#options
    if (this.#hasEnded) return
    this.#hasEnded = true
    log.info({ sessionId, path, remoteAddress, reason }, 'whip session ended')
    onEnded(this)
    this.onEndBeforeAnswer()
    this.publisher?.end(reason)
  }

  #newVideo(publisher: PublisherSession, size: VideoSize | null): SessionVideo | null {
    const { ffmpeg, log, normalise, offer, sessionId } = this.#options
    if (offer.video === null) return null
    return new SessionVideo({
      codec: offer.video.name,
      normalise,
      size,
      ffmpeg,
      deliver: (type, timestamp, payload) => this.#deliver(type, timestamp, payload),
      onTranscode: (from, to) => {
        log.info({ sessionId, from, to }, 'the client changed the video size; video is transcoded to the previous size')
        publisher.videoRescaled(from, to)
      },
      onFailure: (reason) => this.drop(reason),
      log,
      sessionId,
    })
  }

  /** Starts the audio transcoder with the first packet. Null without ffmpeg. */
  #startAudio(): Transcoder | null {
    const { ffmpeg, log, sessionId } = this.#options
    if (ffmpeg === null) return null
    this.#audio ??= new Transcoder({
      path: ffmpeg.path,
      args: audioArguments(),
      track: () => ({ codec: 'opus' }),
      onTag: ({ body, timestamp, type }) => type === AUDIO && this.#deliver(AUDIO, timestamp, body),
      onFailure: (reason) => this.drop(reason),
      log,
      sessionId,
    })
    return this.#audio
  }

  #deliver(type: number, timestamp: number, payload: Buffer): void {
    this.publisher?.deliver({ type, streamId: 1, chunkStreamId: 4, timestamp: Math.max(0, timestamp) >>> 0, payload })
  }
}
