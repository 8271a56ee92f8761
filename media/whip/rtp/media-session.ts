import type { ReceptionStatus } from '../../types.ts'
import type { CodedMedia } from '../child/protocol.ts'
import type { ChosenCodec } from '../sdp/codecs.ts'
import type { Routing } from '../sdp/routing.ts'
import { LayerChoice } from './layer-choice.ts'
import { Receiver } from './receiver.ts'
import { AUDIO_REORDER } from './reorder-buffer.ts'
import { ONLY_LAYER, Router } from './router.ts'
import { bitrateLimit, nack, pictureLoss, readSenderReports, receiverReport } from './rtcp.ts'
import { isRtcp, parseRtp } from './rtp-packet.ts'
import { SyncClock } from './sync-clock.ts'
import { VideoLayer, type LayerPicture } from './video-layer.ts'

export interface MediaSessionOptions {
  readonly video: ChosenCodec | null
  readonly audio: ChosenCodec | null
  readonly routing: Routing
  readonly onMedia: (media: CodedMedia) => void
  /** Sends an RTCP packet to the client. */
  readonly send: (packet: Buffer) => void
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
  readonly #clock = new SyncClock()
  readonly #router: Router
  readonly #layers: ReadonlyMap<string, VideoLayer>
  readonly #choice: LayerChoice
  readonly #audio: Receiver | null
  #sent: Buffer | null = null
  #lastMs = Number.NEGATIVE_INFINITY
  #reportedAt = Number.NEGATIVE_INFINITY
  /** When the last RTP packet came. */
  lastPacketAt: number | null = null

  constructor(options: MediaSessionOptions) {
    const { audio, routing, video } = options
    const names = routing.layers.length === 0 ? [ONLY_LAYER] : routing.layers
    this.#options = options
    this.#router = new Router(routing, video, audio)
    this.#choice = new LayerChoice(names)
    this.#layers = new Map(video === null ? [] : names.map((name) => [name, this.#layer(name, video)]))
    this.#audio = audio && this.#receiveAudio(audio)
  }

  /** How the tracks come in. Counters of the layers of a simulcast are added up. */
  reception(): ReceptionStatus[] {
    const layers = [...this.#layers.values()]
    const audio = this.#audio === null ? [] : [{ kind: 'audio' as const, ...this.#audio.status() }]
    if (layers.length === 0) return audio
    const shown = layers.find(({ name }) => name === this.#choice.current) ?? layers[0]!
    const statuses = layers.map(({ receiver }) => receiver.status())
    const sum = (name: 'lost' | 'recovered' | 'requested') => statuses.reduce((total, one) => total + one[name], 0)
    const video = {
      kind: 'video' as const,
      lost: sum('lost'),
      recovered: sum('recovered'),
      requested: sum('requested'),
      jitterMs: shown.receiver.status().jitterMs,
    }
    return [video, ...audio]
  }

  /** Takes what came. */
  receive(bytes: Buffer, now: number): void {
    if (isRtcp(bytes)) {
      for (const report of readSenderReports(bytes)) {
        for (const receiver of this.#receivers()) receiver.senderReport(report, now)
      }
      return
    }
    const packet = parseRtp(bytes)
    if (packet === null) return
    this.lastPacketAt = now
    const route = this.#router.route(packet)
    if (route?.kind === 'audio') this.#audio?.push(packet, now)
    else if (route !== null) this.#layers.get(route.layer)?.push(packet, now)
    this.#feedBack(now)
  }

  /** To be called every few hundredths of a second. */
  tick(now: number): void {
    for (const receiver of this.#receivers()) receiver.poll(now)
    this.#feedBack(now)
  }

  #receivers(): Receiver[] {
    const video = [...this.#layers.values()].map(({ receiver }) => receiver)
    return this.#audio === null ? video : [...video, this.#audio]
  }

  #layer(name: string, codec: ChosenCodec): VideoLayer {
    return new VideoLayer({
      name,
      codec,
      clock: this.#clock.newVideo(),
      onPacket: (layer, now) => this.#choice.note(layer, now),
      onPicture: (layer, picture, now) => this.#picture(layer, picture, now),
      onDamage: (layer, now) => {
        if (this.#isOfInterest(layer, now)) this.#askForKeyframe(layer, now)
      },
    })
  }

  #receiveAudio({ payloadType }: ChosenCodec): Receiver {
    const { audio } = this.#clock
    return new Receiver({
      payloadType,
      rtxPayloadType: null,
      clockRate: 48_000,
      limits: AUDIO_REORDER,
      clock: audio,
      onPacket: ({ payload }, timestamp, _afterLoss, now) => {
        if (payload.length === 0) return
        this.#options.onMedia({ kind: 'audio', timestamp: audio.place(timestamp, now), data: payload })
      },
    })
  }

  /** Passes on pictures of the chosen layer. Another one takes its place with a keyframe. */
  #picture(layer: VideoLayer, { data, isKeyframe, timestamp: rtp }: LayerPicture, now: number): void {
    // Also while it is not shown: it is then ready to take over.
    layer.clock.place(rtp, now)
    if (layer.name !== this.#choice.current) {
      if (!isKeyframe || this.#choice.wanted([...this.#layers.values()], now) !== layer.name) return
      this.#choice.take(layer)
      this.#clock.use(layer.clock)
    }
    const { onMedia } = this.#options
    // The clocks of two layers need not agree to the millisecond.
    const timestamp = (this.#lastMs = Math.max(this.#lastMs, layer.clock.place(rtp, now)))
    if (isKeyframe && layer.configuration !== null && !this.#sent?.equals(layer.configuration)) {
      this.#sent = layer.configuration
      onMedia({ kind: 'config', timestamp, data: layer.configuration })
    }
    onMedia({ kind: 'video', timestamp, isKeyframe, data })
  }

  /** Whether it is shown, or is to be. */
  #isOfInterest({ name }: VideoLayer, now: number): boolean {
    const { current } = this.#choice
    return current === null || name === current || name === this.#choice.wanted([...this.#layers.values()], now)
  }

  #feedBack(now: number): void {
    const { send, ssrc } = this.#options
    for (const layer of this.#layers.values()) {
      const source = layer.receiver.ssrc
      if (source === null) continue
      // At once: without it the sender begins at a fraction of what the line takes.
      if (layer.askedAt === Number.NEGATIVE_INFINITY) this.#report(now)
      const missing = layer.receiver.missing(now)
      if (missing.length > 0) send(compound(ssrc, nack(ssrc, source, missing)))
      if (now - Math.max(layer.keyframeAt ?? Number.NEGATIVE_INFINITY, layer.askedAt) >= this.#patience(layer, now)) {
        this.#askForKeyframe(layer, now)
      }
    }
    if (now - this.#reportedAt >= REPORT_MS) this.#report(now)
  }

  /** How long its last keyframe, or the request for one, will do. */
  #patience(layer: VideoLayer, now: number): number {
    if (layer.keyframeAt === null) return ASK_AGAIN_MS
    if (!this.#isOfInterest(layer, now)) return Number.POSITIVE_INFINITY
    const isShown = layer.name === this.#choice.current
    return layer.awaitsKeyframe || !isShown ? ASK_AGAIN_MS : KEYFRAME_MS
  }

  #askForKeyframe(layer: VideoLayer, now: number): void {
    const { send, ssrc } = this.#options
    const source = layer.receiver.ssrc
    if (source === null || now - layer.askedAt < ASK_AGAIN_MS) return
    layer.askedAt = now
    send(compound(ssrc, pictureLoss(ssrc, source)))
  }

  #report(now: number): void {
    const { send, ssrc } = this.#options
    const receivers = this.#receivers()
    const blocks = receivers.flatMap((receiver) => receiver.report(now) ?? [])
    if (blocks.length === 0) return
    this.#reportedAt = now
    const sources = receivers.flatMap((receiver) => receiver.sources)
    send(Buffer.concat([receiverReport(ssrc, blocks), bitrateLimit(ssrc, MOST_BITS_PER_SECOND, sources)]))
  }
}

/** Feedback goes behind a report, be it an empty one: not every client has agreed to less. */
function compound(own: number, feedback: Buffer): Buffer {
  return Buffer.concat([receiverReport(own, []), feedback])
}
