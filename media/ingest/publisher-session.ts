import {
  StreamDoctor,
  type AnnouncedTracks,
  type Diagnosis,
  type DoctorLimits,
  type Patient,
} from '../doctor/stream-doctor.ts'
import type { RtmpMessage } from '../rtmp/chunk-reader.ts'
import { AUDIO, classify, DATA_AMF3, flagKeyframe, readMetadata, VIDEO, type Classification } from '../rtmp/flv.ts'
import { headerChannels, headerPixelFormat } from '../doctor/media-format.ts'
import type { PictureSize } from '../rtmp/sps.ts'
import type { DesiredStream, MediaMessage, MediaWarning } from '../types.ts'
import { IngestMeter } from './ingest-meter.ts'
import type { PublisherStats } from './ingest-meter.ts'
import type { Publisher } from './publisher.ts'
import { Timeline } from './timeline.ts'

export interface PublisherSessionOptions {
  readonly sessionId: string
  readonly path: string
  readonly keyHash: string
  readonly remoteAddress: string
  readonly stream: DesiredStream
  readonly doctor: DoctorLimits
  /** Tracks that it said it would send; absent where the protocol has no word for that. */
  readonly announced?: AnnouncedTracks
  /** Whether its headers carry the time of the frame behind them; RTMP encoders often give them 0. */
  readonly headersAreTimed?: boolean
  readonly now: () => number
  readonly drop: (reason: string) => void
  /** Ends the publisher with a word to it. */
  readonly refuse: (reason: string) => void
}

/** The publisher as its owner sees it, fed by the connection. */
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
  readonly #timeline: Timeline
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
    this.#timeline = new Timeline(options.headersAreTimed)
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

  examine(patients: readonly Patient[]): Diagnosis {
    return this.#doctor.examine(this.meter.bitrate, patients, this.#now(), new Date().toISOString())
  }

  dismiss(): readonly MediaWarning[] {
    return this.#doctor.dismiss()
  }

  /** Something of a track has come that has to be encoded before it can be delivered. */
  arrived(kind: 'audio' | 'video'): void {
    this.#doctor.arrived(kind)
  }

  /** Its pictures come in another size than they are passed on in. */
  fitted(from: PictureSize, to: PictureSize): void {
    this.#doctor.fitted(from, to, this.#now())
  }

  /** Another encoder uses the same key; they have cut each other off so many times lately. */
  contested(count: number): void {
    this.#doctor.contested(count, this.#now())
  }

  /** Tells the owner that it is over; nothing is delivered after this. */
  end(reason: string): void {
    if (this.ended) return
    this.ended = true
    this.onEnd(reason)
  }

  /**
   * Classifies a media message and hands it on.
   *
   * @throws RtmpProtocolError when a data message is not AMF0.
   */
  deliver(message: RtmpMessage): void {
    // An empty message carries nothing to relay; some encoders send them to keep the connection busy.
    if (this.ended || message.payload.length === 0) return
    this.meter.bytes(message.payload.length)
    if (message.type === AUDIO || message.type === VIDEO) this.#deliverTrack(message, message.type)
    else this.#deliverData(message)
  }

  #deliverTrack(message: RtmpMessage, type: typeof AUDIO | typeof VIDEO): void {
    const { payload } = message
    const seen = classify(type, payload)
    const { kind, isHeader, isKeyframe } = seen
    if (seen.isMultitrack) {
      this.#refuse(`Several ${kind} tracks in one stream are not supported: switch multitrack off in the encoder.`)
      return
    }
    const timestamp = seen.isFrame
      ? this.#timeline.frame(kind, message.timestamp)
      : this.#timeline.aside(kind, message.timestamp)
    // What is sent on must say so too: servers, players and encoders go by the flag.
    if (isKeyframe) flagKeyframe(payload)
    this.meter.message(seen, payload)
    this.#diagnose(seen, timestamp, payload)
    this.onMessage({ kind, timestamp, payload, isHeader, isKeyframe })
  }

  #diagnose(seen: Classification, timestamp: number, payload: Buffer): void {
    const now = this.#now()
    const { discontinuities } = this.#timeline
    if (discontinuities > this.#discontinuities) this.#doctor.steppedBack(now)
    this.#discontinuities = discontinuities
    this.#doctor.message(seen, timestamp, now)
    if (!seen.isHeader) return
    if (seen.kind === 'audio') {
      this.#doctor.soundForm(headerChannels(payload, seen.codec))
      return
    }
    this.#doctor.pixelFormat(headerPixelFormat(payload, seen.codec))
    const { size } = this.meter
    if (size !== null) this.#doctor.pictureSize(size, now)
  }

  #deliverData(message: RtmpMessage): void {
    const payload = message.type === DATA_AMF3 ? message.payload.subarray(1) : message.payload
    const metadata = readMetadata(payload)
    if (metadata !== null) this.meter.metadata(metadata)
    const timestamp = this.#timeline.aside('data', message.timestamp)
    this.onMessage({ kind: 'data', timestamp, payload, isHeader: metadata !== null, isKeyframe: false })
  }
}
