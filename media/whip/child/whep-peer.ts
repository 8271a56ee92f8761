import type { MediumKind, ViewerFrame, WhepOffer, WhipChildSettings } from './protocol.ts'
import { Connection, CONNECT_TIMEOUT_MS, type ConnectionListener, type SendingTrack } from './rtc.ts'

/** `onEnd` is called once. */
export interface WhepPeerOptions extends ConnectionListener {
  readonly session: string
  readonly offer: WhepOffer
  readonly settings: WhipChildSettings
}

/** A browser sends a receiver report about once a second. Without one for this long, it has disconnected. */
const IDLE_TIMEOUT_MS = 15_000
/** RTP timestamp units per Opus packet: 20 ms at 48 kHz. */
const AUDIO_FRAME_TICKS = 960
/** If audio is later than this (500 ms), the timestamp skips the gap. */
const AUDIO_GAP_TICKS = 24_000
/** RTP timestamps wrap at 32 bits. */
const TIMESTAMP_RANGE = 2 ** 32

/** A WHEP viewer: its connection and the RTP timestamps of the frames sent to it. */
export class WhepPeer {
  readonly #options: WhepPeerOptions
  readonly #connection: Connection
  readonly #tracks = new Map<MediumKind, SendingTrack>()
  readonly #startedAt = performance.now()
  /** When the last RTCP packet came; null before the connection. */
  #lastPacketAt: number | null = null
  #ended = false
  /** Smallest difference so far between arrival time and stream time, milliseconds. */
  #offset = Number.POSITIVE_INFINITY
  #videoMs = Number.NEGATIVE_INFINITY
  #audioTicks: number | null = null

  /** @throws Error if the WebRTC library rejects the offer */
  constructor(options: WhepPeerOptions) {
    const { offer, session, settings } = options
    this.#options = options
    this.#connection = new Connection(session, settings, {
      onAnswer: options.onAnswer,
      onConnected: () => {
        this.#lastPacketAt = performance.now()
        options.onConnected()
      },
      onEnd: (reason) => this.end(reason),
    })
    try {
      for (const { kind, mid, payloadType } of offer.tracks) {
        const track = this.#connection.addTrack(kind, mid, payloadType)
        this.#tracks.set(kind, track)
        track.onMessage(() => {
          this.#lastPacketAt = performance.now()
        })
      }
      this.#connection.answer(offer.sdp)
    } catch (error) {
      this.#connection.close()
      throw error
    }
  }

  /** Checks the timeouts. To be called about every 20 ms. */
  tick(now: number): void {
    if (this.#lastPacketAt === null) {
      if (now - this.#startedAt > CONNECT_TIMEOUT_MS) this.end('never connected')
    } else if (now - this.#lastPacketAt > IDLE_TIMEOUT_MS) this.end('idle')
  }

  sendFrame(frame: ViewerFrame, now: number): void {
    const track = this.#tracks.get(frame.kind)
    if (this.#ended || track === undefined || this.#lastPacketAt === null) return
    const timestamp = frame.kind === 'video' ? this.#videoTimestamp(frame.timestamp, now) : this.#audioTimestamp(now)
    track.sendFrame(frame.data, timestamp)
  }

  /** Closes the connection and calls `onEnd`. */
  end(reason: string): void {
    if (this.#ended) return
    this.#ended = true
    this.#tracks.clear()
    this.#connection.close()
    this.#options.onEnd(reason)
  }

  /**
   * Timestamps follow the stream time, shifted by the smallest delay so far. The frames of the current group arrive all at
   * once at the start, so they are 1 ms apart and the player shows them without waiting.
   */
  #videoTimestamp(timestamp: number, now: number): number {
    this.#offset = Math.min(this.#offset, now - timestamp)
    this.#videoMs = Math.max(this.#videoMs + 1, timestamp + this.#offset)
    return Math.round(this.#videoMs * 90) % TIMESTAMP_RANGE
  }

  #audioTimestamp(now: number): number {
    const arrived = Math.round(now * 48)
    const next = (this.#audioTicks ?? Number.NEGATIVE_INFINITY) + AUDIO_FRAME_TICKS
    this.#audioTicks = arrived - next > AUDIO_GAP_TICKS ? arrived : next
    return this.#audioTicks % TIMESTAMP_RANGE
  }
}
