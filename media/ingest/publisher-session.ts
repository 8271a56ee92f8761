import {
  StreamDoctor,
  type AnnouncedTracks,
  type DestinationWithRules,
  type DoctorLimits,
  type WarningChanges,
} from '../doctor/stream-doctor.ts'
import type { RtmpMessage } from '../rtmp/chunk-reader.ts'
import { AUDIO, classify, DATA_AMF3, flagKeyframe, readMetadata, VIDEO, type Classification } from '../rtmp/flv.ts'
import { headerChannels, headerPixelFormat } from '../doctor/media-format.ts'
import type { VideoSize } from '../rtmp/sps.ts'
import type { DesiredStream, MediaMessage, MediaWarning } from '../types.ts'
import { IngestMeter } from './ingest-meter.ts'
import type { PublisherStats } from './ingest-meter.ts'
import type { Publisher } from './publisher.ts'
import { TimestampNormalizer } from './timestamp-normalizer.ts'

export interface PublisherSessionOptions {
  readonly sessionId: string
  readonly path: string
  readonly keyHash: string
  readonly remoteAddress: string
  readonly stream: DesiredStream
  readonly doctor: DoctorLimits
  /** Tracks that the publisher announced; absent if the protocol cannot announce them. */
  readonly announced?: AnnouncedTracks
  /** Whether a sequence header has the timestamp of the next frame. RTMP encoders often send 0. */
  readonly headersAreTimed?: boolean
  readonly now: () => number
  readonly drop: (reason: string) => void
  /** Ends the publisher and sends it the reason. */
  readonly refuse: (reason: string) => void
}

/** An admitted publisher. The connection passes its messages to {@link deliver}. */
export class PublisherSession implements Publisher {
  readonly sessionId: string
  readonly path: string
  readonly keyHash: string
  readonly remoteAddress: string
  readonly stream: DesiredStream
  readonly announcesVideo: boolean
  readonly meter: IngestMeter
  onMessage: (message: MediaMessage) => void = () => {}
  onEnd: (reason: string) => void = () => {}
  ended = false
  readonly #normalizer: TimestampNormalizer
  #discontinuities = 0
  readonly #doctor: StreamDoctor
  readonly #now: () => number
  readonly #drop: (reason: string) => void
  readonly #refuse: (reason: string) => void

  constructor(options: PublisherSessionOptions) {
    this.sessionId = options.sessionId
    this.path = options.path
    this.keyHash = options.keyHash
    this.remoteAddress = options.remoteAddress
    this.stream = options.stream
    this.announcesVideo = options.announced?.video ?? false
    this.meter = new IngestMeter(options.now)
    this.#normalizer = new TimestampNormalizer(options.headersAreTimed)
    this.#doctor = new StreamDoctor(options.doctor, options.now(), options.announced)
    this.#now = options.now
    this.#drop = options.drop
    this.#refuse = options.refuse
  }

  drop(reason: string): void {
    this.#drop(reason)
  }

  stats(): PublisherStats {
    const { keyframeInterval, warnings } = this.#doctor
    return { ...this.meter.stats(), keyframeIntervalSeconds: keyframeInterval, warnings }
  }

  examine(destinations: readonly DestinationWithRules[]): WarningChanges {
    return this.#doctor.examine(this.meter.bitrate, destinations, this.#now(), new Date().toISOString())
  }

  clearWarnings(): readonly MediaWarning[] {
    return this.#doctor.clearWarnings()
  }

  /** Media of a track was received that must be transcoded before it is delivered. */
  trackReceived(kind: 'audio' | 'video'): void {
    this.#doctor.trackReceived(kind)
  }

  /** Video is received at one resolution and re-encoded at another. */
  videoRescaled(from: VideoSize, to: VideoSize): void {
    this.#doctor.videoRescaled(from, to, this.#now())
  }

  /** Another encoder uses the same key. `count` is the number of recent take-overs. */
  keyContested(count: number): void {
    this.#doctor.keyContested(count, this.#now())
  }

  /** Ends the session and notifies the owner. Nothing is delivered after this. */
  end(reason: string): void {
    if (this.ended) return
    this.ended = true
    this.onEnd(reason)
  }

  /**
   * Classifies a media message and passes it to the owner.
   *
   * @throws RtmpProtocolError when a data message is not AMF0.
   */
  deliver(message: RtmpMessage): void {
    // Some encoders send empty messages to keep the connection alive.
    if (this.ended || message.payload.length === 0) return
    this.meter.bytes(message.payload.length)
    if (message.type === AUDIO || message.type === VIDEO) this.#deliverTrack(message, message.type)
    else this.#deliverData(message)
  }

  #deliverTrack(message: RtmpMessage, type: typeof AUDIO | typeof VIDEO): void {
    const { payload } = message
    const classified = classify(type, payload)
    const { kind, isSequenceHeader, isKeyframe } = classified
    if (classified.isMultitrack) {
      this.#refuse(`Several ${kind} tracks in one stream are not supported. Disable multitrack in the encoder.`)
      return
    }
    const timestamp = classified.isFrame
      ? this.#normalizer.frame(kind, message.timestamp)
      : this.#normalizer.nonFrame(kind, message.timestamp)
    // Servers and players rely on the flag.
    if (isKeyframe) flagKeyframe(payload)
    this.meter.message(classified, payload)
    this.#diagnose(classified, timestamp, payload)
    this.onMessage({ kind, timestamp, payload, isSequenceHeader, isKeyframe })
  }

  #diagnose(classified: Classification, timestamp: number, payload: Buffer): void {
    const now = this.#now()
    const { discontinuities } = this.#normalizer
    if (discontinuities > this.#discontinuities) this.#doctor.timestampsWentBack(now)
    this.#discontinuities = discontinuities
    this.#doctor.message(classified, timestamp, now)
    if (!classified.isSequenceHeader) return
    if (classified.kind === 'audio') {
      this.#doctor.audioChannels(headerChannels(payload, classified.codec))
      return
    }
    this.#doctor.pixelFormat(headerPixelFormat(payload, classified.codec))
    const { size } = this.meter
    if (size !== null) this.#doctor.videoSize(size, now)
  }

  #deliverData(message: RtmpMessage): void {
    const payload = message.type === DATA_AMF3 ? message.payload.subarray(1) : message.payload
    const metadata = readMetadata(payload)
    if (metadata !== null) this.meter.metadata(metadata)
    const timestamp = this.#normalizer.nonFrame('data', message.timestamp)
    this.onMessage({ kind: 'data', timestamp, payload, isSequenceHeader: metadata !== null, isKeyframe: false })
  }
}
