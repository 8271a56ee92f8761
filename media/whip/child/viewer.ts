import { randomInt } from 'node:crypto'
import {
  Audio,
  H264RtpPacketizer,
  RtcpNackResponder,
  RtcpSrReporter,
  RtpPacketizationConfig,
  RtpPacketizer,
  Video,
  type PeerConnection,
  type Track,
} from 'node-datachannel'
import { answer, CONNECT_MS, newConnection } from './connection.ts'
import type { MediumKind, Shown, WatchOffer, WhipChildSettings } from './protocol.ts'

export interface ViewerOptions {
  readonly session: string
  readonly offer: WatchOffer
  readonly settings: WhipChildSettings
  readonly onAnswer: (sdp: string) => void
  readonly onConnected: () => void
  /** Called once. */
  readonly onEnd: (reason: string) => void
}

/** A browser reports about every second; one that is silent for this long is gone. */
const IDLE_MS = 15_000
const MOST_PAYLOAD_BYTES = 1_150
const PACKETS_KEPT = 1_024
const SOUND_TICKS = 960
/** Sound that comes later than this has had a gap. */
const SOUND_GAP_TICKS = 24_000
const CIRCLE = 2 ** 32

interface Sending {
  readonly track: Track
  readonly config: RtpPacketizationConfig
}

/** One client that watches: the library makes packets, keeps them for those who ask again, and reports. */
export class Viewer {
  readonly #options: ViewerOptions
  readonly #connection: PeerConnection
  readonly #sending = new Map<MediumKind, Sending>()
  readonly #startedAt = performance.now()
  #heardAt: number | null = null
  #ended = false
  /** From the stream's time to ours, milliseconds: the least there was. */
  #offset = Number.POSITIVE_INFINITY
  #pictureMs = Number.NEGATIVE_INFINITY
  #soundTicks: number | null = null

  /** @throws Error when the stack does not take the offer */
  constructor(options: ViewerOptions) {
    const { offer, session, settings } = options
    this.#options = options
    this.#connection = newConnection(session, settings)
    for (const { kind, mid, payloadType } of offer.tracks) this.#sending.set(kind, this.#add(kind, mid, payloadType))
    answer(this.#connection, offer.sdp, {
      onAnswer: options.onAnswer,
      onConnected: () => {
        this.#heardAt = performance.now()
        options.onConnected()
      },
      onEnd: (reason) => this.end(reason),
    })
  }

  /** To be called every few hundredths of a second. */
  tick(now: number): void {
    if (this.#heardAt === null) {
      if (now - this.#startedAt > CONNECT_MS) this.end('never connected')
    } else if (now - this.#heardAt > IDLE_MS) this.end('idle')
  }

  show(shown: Shown, now: number): void {
    const { config, track } = this.#sending.get(shown.kind) ?? {}
    if (this.#ended || config === undefined || !track?.isOpen()) return
    config.timestamp = shown.kind === 'video' ? this.#placePicture(shown.timestamp, now) : this.#placeSound(now)
    track.sendMessageBinary(shown.data)
  }

  /** Ends it and says so. */
  end(reason: string): void {
    if (this.#ended) return
    this.#ended = true
    for (const { track } of this.#sending.values()) track.close()
    this.#sending.clear()
    this.#connection.close()
    this.#options.onEnd(reason)
  }

  #add(kind: MediumKind, mid: string, payloadType: number): Sending {
    const medium = kind === 'video' ? new Video(mid, 'SendOnly') : new Audio(mid, 'SendOnly')
    if (medium instanceof Video) medium.addH264Codec(payloadType)
    else medium.addOpusCodec(payloadType)
    const ssrc = randomInt(1, CIRCLE)
    medium.addSSRC(ssrc, 'crier', 'crier', kind)
    const track = this.#connection.addTrack(medium)
    const config = new RtpPacketizationConfig(ssrc, 'crier', payloadType, kind === 'video' ? 90_000 : 48_000)
    const packetizer =
      kind === 'video' ? new H264RtpPacketizer('Length', config, MOST_PAYLOAD_BYTES) : new RtpPacketizer(config)
    packetizer.addToChain(new RtcpSrReporter(config))
    packetizer.addToChain(new RtcpNackResponder(PACKETS_KEPT))
    track.setMediaHandler(packetizer)
    track.onMessage(() => {
      this.#heardAt = performance.now()
    })
    return { track, config }
  }

  /**
   * Pictures lie where they would have come without any delay. Those of the group under way, which come all at once, are
   * so put a millisecond apart: a player does not wait for what is over.
   */
  #placePicture(timestamp: number, now: number): number {
    this.#offset = Math.min(this.#offset, now - timestamp)
    this.#pictureMs = Math.max(this.#pictureMs + 1, timestamp + this.#offset)
    return Math.round(this.#pictureMs * 90) % CIRCLE
  }

  #placeSound(now: number): number {
    const arrived = Math.round(now * 48)
    const next = (this.#soundTicks ?? Number.NEGATIVE_INFINITY) + SOUND_TICKS
    this.#soundTicks = arrived - next > SOUND_GAP_TICKS ? arrived : next
    return this.#soundTicks % CIRCLE
  }
}
