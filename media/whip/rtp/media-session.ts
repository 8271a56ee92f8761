import type { ReceptionStatus } from '../../types.ts'
import type { CodedMedia } from '../child/protocol.ts'
import type { ChosenCodec } from '../sdp/codecs.ts'
import type { Routing } from '../sdp/routing.ts'
import { LayerSelector } from './layer-selector.ts'
import { Receiver } from './receiver.ts'
import { AUDIO_REORDER } from './reorder-buffer.ts'
import { ONLY_LAYER, Router } from './router.ts'
import { remb, nack, pli, readSenderReports, receiverReport } from './rtcp.ts'
import { isRtcp, parseRtp } from './rtp-packet.ts'
import { SyncClock } from './sync-clock.ts'
import { VideoLayer, type LayerFrame } from './video-layer.ts'

export interface MediaSessionOptions {
  readonly video: ChosenCodec | null
  readonly audio: ChosenCodec | null
  readonly routing: Routing
  readonly onMedia: (media: CodedMedia) => void
  /** Sends an RTCP packet to the client. */
  readonly send: (packet: Buffer) => void
  /** Our own SSRC. Must not be 0. */
  readonly ssrc: number
}

const REPORT_MS = 1_000
/** Maximum keyframe interval. Destinations require a keyframe every 2 s. */
const KEYFRAME_INTERVAL_MS = 2_000
/** Minimum time between two PLIs, because a keyframe takes a while to arrive. */
const PLI_INTERVAL_MS = 500
/** Bitrate limit for the sender (REMB). It is higher than any platform accepts. */
const MAX_BITS_PER_SECOND = 8_000_000

/**
 * Receives the media of one session: RTP and RTCP packets in, coded frames and RTCP feedback out. It has no sockets. Times are
 * monotonic milliseconds.
 */
export class MediaSession {
  readonly #options: MediaSessionOptions
  readonly #clock = new SyncClock()
  readonly #router: Router
  readonly #layers: ReadonlyMap<string, VideoLayer>
  readonly #selector: LayerSelector
  readonly #audio: Receiver | null
  /** The last configuration passed to `onMedia`. */
  #sentConfig: Buffer | null = null
  #lastVideoMs = Number.NEGATIVE_INFINITY
  #reportedAt = Number.NEGATIVE_INFINITY
  /** When the last RTP packet came; null before the first. */
  lastPacketAt: number | null = null

  constructor(options: MediaSessionOptions) {
    const { audio, routing, video } = options
    const names = routing.layers.length === 0 ? [ONLY_LAYER] : routing.layers
    this.#options = options
    this.#router = new Router(routing, video, audio)
    this.#selector = new LayerSelector(names)
    this.#layers = new Map(video === null ? [] : names.map((name) => [name, this.#newLayer(name, video)]))
    this.#audio = audio && this.#newAudioReceiver(audio)
  }

  /** Reception statistics per track. The counters of simulcast layers are added up. */
  reception(): ReceptionStatus[] {
    const layers = [...this.#layers.values()]
    const audio = this.#audio === null ? [] : [{ kind: 'audio' as const, ...this.#audio.status() }]
    if (layers.length === 0) return audio
    const current = layers.find(({ name }) => name === this.#selector.current) ?? layers[0]!
    const statuses = layers.map(({ receiver }) => receiver.status())
    const sum = (name: 'lost' | 'recovered' | 'requested') =>
      statuses.reduce((total, status) => total + status[name], 0)
    const video = {
      kind: 'video' as const,
      lost: sum('lost'),
      recovered: sum('recovered'),
      requested: sum('requested'),
      jitterMs: current.receiver.status().jitterMs,
    }
    return [video, ...audio]
  }

  /** Handles a received RTP or RTCP packet. */
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
    this.#sendFeedback(now)
  }

  /** Delivers packets that are due and sends RTCP. To be called about every 20 ms. */
  tick(now: number): void {
    for (const receiver of this.#receivers()) receiver.poll(now)
    this.#sendFeedback(now)
  }

  #receivers(): Receiver[] {
    const video = [...this.#layers.values()].map(({ receiver }) => receiver)
    return this.#audio === null ? video : [...video, this.#audio]
  }

  #newLayer(name: string, codec: ChosenCodec): VideoLayer {
    return new VideoLayer({
      name,
      codec,
      clock: this.#clock.newVideo(),
      onPacket: (layer, now) => this.#selector.onPacket(layer, now),
      onFrame: (layer, frame, now) => this.#onFrame(layer, frame, now),
      onKeyframeNeeded: (layer, now) => {
        if (this.#isNeeded(layer, now)) this.#sendPli(layer, now)
      },
    })
  }

  #newAudioReceiver({ payloadType }: ChosenCodec): Receiver {
    const { audio } = this.#clock
    return new Receiver({
      payloadType,
      rtxPayloadType: null,
      clockRate: 48_000,
      limits: AUDIO_REORDER,
      clock: audio,
      onPacket: ({ payload }, timestamp, _afterLoss, now) => {
        if (payload.length === 0) return
        this.#options.onMedia({ kind: 'audio', timestamp: audio.sessionTime(timestamp, now), data: payload })
      },
    })
  }

  /** Passes on frames of the selected layer. Switches layers at a keyframe. */
  #onFrame(layer: VideoLayer, { data, isKeyframe, timestamp: rtpTimestamp }: LayerFrame, now: number): void {
    // Updates the clock of unselected layers too, so that they are ready for a switch.
    layer.clock.sessionTime(rtpTimestamp, now)
    if (layer.name !== this.#selector.current) {
      if (!isKeyframe || this.#selector.target([...this.#layers.values()], now) !== layer.name) return
      this.#selector.switchTo(layer)
      this.#clock.switchVideo(layer.clock)
    }
    const { onMedia } = this.#options
    // The clocks of two layers can differ by some milliseconds, so a switch must not move time back.
    const timestamp = (this.#lastVideoMs = Math.max(this.#lastVideoMs, layer.clock.sessionTime(rtpTimestamp, now)))
    if (isKeyframe && layer.configuration !== null && !this.#sentConfig?.equals(layer.configuration)) {
      this.#sentConfig = layer.configuration
      onMedia({ kind: 'config', timestamp, data: layer.configuration })
    }
    onMedia({ kind: 'video', timestamp, isKeyframe, data })
  }

  /** Whether the layer is selected or should be. */
  #isNeeded({ name }: VideoLayer, now: number): boolean {
    const { current } = this.#selector
    return current === null || name === current || name === this.#selector.target([...this.#layers.values()], now)
  }

  #sendFeedback(now: number): void {
    const { send, ssrc } = this.#options
    for (const layer of this.#layers.values()) {
      const source = layer.receiver.ssrc
      if (source === null) continue
      // Sends REMB at once. Without it, the sender starts far below the available bandwidth.
      if (layer.pliAt === Number.NEGATIVE_INFINITY) this.#report(now)
      const missing = layer.receiver.missing(now)
      if (missing.length > 0) send(compound(ssrc, nack(ssrc, source, missing)))
      if (
        now - Math.max(layer.keyframeAt ?? Number.NEGATIVE_INFINITY, layer.pliAt) >=
        this.#keyframeWaitMs(layer, now)
      ) {
        this.#sendPli(layer, now)
      }
    }
    if (now - this.#reportedAt >= REPORT_MS) this.#report(now)
  }

  /** How long after the last keyframe or PLI the next PLI is sent. */
  #keyframeWaitMs(layer: VideoLayer, now: number): number {
    if (layer.keyframeAt === null) return PLI_INTERVAL_MS
    if (!this.#isNeeded(layer, now)) return Number.POSITIVE_INFINITY
    const isCurrent = layer.name === this.#selector.current
    return layer.awaitsKeyframe || !isCurrent ? PLI_INTERVAL_MS : KEYFRAME_INTERVAL_MS
  }

  #sendPli(layer: VideoLayer, now: number): void {
    const { send, ssrc } = this.#options
    const source = layer.receiver.ssrc
    if (source === null || now - layer.pliAt < PLI_INTERVAL_MS) return
    layer.pliAt = now
    send(compound(ssrc, pli(ssrc, source)))
  }

  #report(now: number): void {
    const { send, ssrc } = this.#options
    const receivers = this.#receivers()
    const blocks = receivers.flatMap((receiver) => receiver.report(now) ?? [])
    if (blocks.length === 0) return
    this.#reportedAt = now
    const sources = receivers.flatMap((receiver) => receiver.sources)
    send(Buffer.concat([receiverReport(ssrc, blocks), remb(ssrc, MAX_BITS_PER_SECOND, sources)]))
  }
}

/** Puts an empty receiver report before feedback. Clients without reduced-size RTCP (RFC 5506) require a compound packet. */
function compound(own: number, feedback: Buffer): Buffer {
  return Buffer.concat([receiverReport(own, []), feedback])
}
