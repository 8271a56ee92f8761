import { AvcTrack } from './avc-track.ts'
import { H264Depacketizer } from './h264-depacketizer.ts'
import { AUDIO_REORDER, VIDEO_REORDER } from './reorder-buffer.ts'
import { Receiver } from './receiver.ts'
import { bitrateLimit, nack, pictureLoss, readSenderReports, receiverReport } from './rtcp.ts'
import { isRtcp, parseRtp, type RtpPacket } from './rtp-packet.ts'
import { SyncClock } from './sync-clock.ts'
import { Vp8Depacketizer } from './vp8-depacketizer.ts'
import type { ReceptionStatus } from '../../types.ts'
import type { CodedMedia } from '../child/protocol.ts'
import type { ChosenCodec } from '../sdp/codecs.ts'

export interface MediaSessionOptions {
  readonly video: ChosenCodec | null
  readonly audio: ChosenCodec | null
  readonly onMedia: (media: CodedMedia) => void
  /** Sends an RTCP packet to the client, on the track of this kind. */
  readonly send: (kind: 'video' | 'audio', packet: Buffer) => void
  /** Our name among the sources; anything but 0. */
  readonly ssrc: number
}

const REPORT_MS = 1_000
/** Longest time between keyframes: destinations want one every 2 s. */
const KEYFRAME_MS = 2_000
/** After a request it takes a while for a keyframe to come. */
const ASK_AGAIN_MS = 500
/** What the sender may use in all, bits per second: more than any platform takes. */
const MOST_BITS_PER_SECOND = 8_000_000

/** The media of one session: RTP and RTCP in, coded pictures and sound out. Knows nothing of sockets; times are monotonic milliseconds. */
export class MediaSession {
  readonly #options: MediaSessionOptions
  readonly #video: Receiver | null
  readonly #audio: Receiver | null
  readonly #depacketizer: H264Depacketizer | Vp8Depacketizer | null
  readonly #avc: AvcTrack | null = null
  #vp8AwaitsKeyframe = true
  #now = 0
  #reportedAt = Number.NEGATIVE_INFINITY
  #keyframeAt: number | null = null
  #askedAt = Number.NEGATIVE_INFINITY
  #announced = false
  /** When the last RTP packet came. */
  lastPacketAt: number | null = null

  constructor(options: MediaSessionOptions) {
    const { audio, video } = options
    this.#options = options
    const clock = new SyncClock()
    this.#video = video && this.#receiveVideo(video, clock)
    this.#audio = audio && this.#receiveAudio(audio, clock)
    if (video?.name === 'h264') this.#avc = this.#avcTrack(video, clock)
    this.#depacketizer = video && this.#depacketizerOf(video, clock)
  }

  /** How the tracks come in. */
  reception(): ReceptionStatus[] {
    const tracks = [
      { kind: 'video', receiver: this.#video },
      { kind: 'audio', receiver: this.#audio },
    ] as const
    return tracks.flatMap(({ kind, receiver }) => (receiver === null ? [] : [{ kind, ...receiver.status() }]))
  }

  /** Takes what came on the track of this kind. */
  receive(kind: 'video' | 'audio', bytes: Buffer, now: number): void {
    this.#now = now
    if (isRtcp(bytes)) {
      for (const report of readSenderReports(bytes)) {
        this.#video?.senderReport(report, now)
        this.#audio?.senderReport(report, now)
      }
      return
    }
    const packet = parseRtp(bytes)
    if (packet === null) return
    this.lastPacketAt = now
    if (kind === 'video') this.#video?.push(packet, now)
    else this.#audio?.push(packet, now)
    this.#feedBack(now)
  }

  /** To be called every few hundredths of a second. */
  tick(now: number): void {
    this.#now = now
    this.#video?.poll(now)
    this.#audio?.poll(now)
    this.#feedBack(now)
  }

  #receiveVideo({ payloadType, rtxPayloadType }: ChosenCodec, clock: SyncClock): Receiver {
    return new Receiver({
      payloadType,
      rtxPayloadType,
      clockRate: 90_000,
      limits: VIDEO_REORDER,
      clock: clock.video,
      onPacket: (packet, timestamp, afterLoss, now) => this.#videoPacket(packet, timestamp, afterLoss, now),
    })
  }

  #receiveAudio({ payloadType }: ChosenCodec, clock: SyncClock): Receiver {
    return new Receiver({
      payloadType,
      rtxPayloadType: null,
      clockRate: 48_000,
      limits: AUDIO_REORDER,
      clock: clock.audio,
      onPacket: ({ payload }, timestamp, _afterLoss, now) => {
        if (payload.length === 0) return
        this.#options.onMedia({ kind: 'audio', timestamp: clock.audio.place(timestamp, now), data: payload })
      },
    })
  }

  #avcTrack({ parameterSets }: ChosenCodec, clock: SyncClock): AvcTrack {
    const { onMedia } = this.#options
    let configuration: Buffer | null = null
    return new AvcTrack(
      parameterSets,
      ({ record }) => {
        configuration = record
      },
      ({ isKeyframe, nals, timestamp: rtp }) => {
        const timestamp = clock.video.place(rtp, this.#now)
        if (configuration !== null) onMedia({ kind: 'config', timestamp, data: configuration })
        configuration = null
        if (isKeyframe) this.#keyframeAt = this.#now
        onMedia({ kind: 'video', timestamp, isKeyframe, data: avcTagBody(isKeyframe, nals) })
      },
    )
  }

  #depacketizerOf({ name }: ChosenCodec, clock: SyncClock): H264Depacketizer | Vp8Depacketizer {
    const onDamage = (): void => this.#loseVideo()
    if (name === 'h264') return new H264Depacketizer((unit) => this.#avc?.add(unit), onDamage)
    return new Vp8Depacketizer(({ data, isKeyframe, timestamp: rtp }) => {
      if (this.#vp8AwaitsKeyframe && !isKeyframe) return
      this.#vp8AwaitsKeyframe = false
      if (isKeyframe) this.#keyframeAt = this.#now
      this.#options.onMedia({ kind: 'video', timestamp: clock.video.place(rtp, this.#now), isKeyframe, data })
    }, onDamage)
  }

  #videoPacket({ marker, payload }: RtpPacket, timestamp: number, afterLoss: boolean, now: number): void {
    this.#now = now
    if (afterLoss) this.#loseVideo()
    this.#depacketizer?.push(timestamp, marker, payload, afterLoss)
  }

  #loseVideo(): void {
    this.#avc?.lose()
    this.#vp8AwaitsKeyframe = true
    this.#askForKeyframe(this.#now)
  }

  #feedBack(now: number): void {
    const { send, ssrc } = this.#options
    const video = this.#video?.ssrc ?? null
    if (this.#video !== null && video !== null) {
      if (!this.#announced) {
        // At once: without it the sender begins at a fraction of what the line takes.
        this.#announced = true
        this.#report(now)
        this.#askForKeyframe(now)
      }
      const missing = this.#video.missing(now)
      if (missing.length > 0) send('video', compound(ssrc, nack(ssrc, video, missing)))
      const since = Math.max(this.#keyframeAt ?? Number.NEGATIVE_INFINITY, this.#askedAt)
      const patience = this.#keyframeAt === null || this.#awaitsKeyframe ? ASK_AGAIN_MS : KEYFRAME_MS
      if (now - since >= patience) this.#askForKeyframe(now)
    }
    if (now - this.#reportedAt >= REPORT_MS) this.#report(now)
  }

  get #awaitsKeyframe(): boolean {
    return this.#avc?.awaitsKeyframe ?? this.#vp8AwaitsKeyframe
  }

  #askForKeyframe(now: number): void {
    const video = this.#video?.ssrc ?? null
    const { send, ssrc } = this.#options
    if (video === null || now - this.#askedAt < ASK_AGAIN_MS) return
    this.#askedAt = now
    send('video', compound(ssrc, pictureLoss(ssrc, video)))
  }

  #report(now: number): void {
    const { send, ssrc } = this.#options
    const blocks = [this.#video?.report(now), this.#audio?.report(now)].filter((block) => block != null)
    if (blocks.length === 0) return
    this.#reportedAt = now
    const sources = [...(this.#video?.sources ?? []), ...(this.#audio?.sources ?? [])]
    const limit = bitrateLimit(ssrc, MOST_BITS_PER_SECOND, sources)
    send(this.#video?.ssrc == null ? 'audio' : 'video', Buffer.concat([receiverReport(ssrc, blocks), limit]))
  }
}

/** Feedback goes behind a report, be it an empty one: not every client has agreed to less. */
function compound(own: number, feedback: Buffer): Buffer {
  return Buffer.concat([receiverReport(own, []), feedback])
}

/** AVCVIDEOPACKET of the FLV specification (E.4.3.2), pictures in the order in which they are shown. */
function avcTagBody(isKeyframe: boolean, nals: readonly Buffer[]): Buffer {
  const body = Buffer.allocUnsafe(5 + nals.reduce((sum, nal) => sum + 4 + nal.length, 0))
  body.set([isKeyframe ? 0x17 : 0x27, 1, 0, 0, 0])
  let offset = 5
  for (const nal of nals) {
    offset = body.writeUInt32BE(nal.length, offset)
    offset += nal.copy(body, offset)
  }
  return body
}
