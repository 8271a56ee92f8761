import type { MediumKind, Shown, WatchOffer, WhipChildSettings } from './protocol.ts'
import { Connection, CONNECT_MS, type ConnectionListener, type SendingTrack } from './rtc.ts'

/** `onEnd` is called once. */
export interface ViewerOptions extends ConnectionListener {
  readonly session: string
  readonly offer: WatchOffer
  readonly settings: WhipChildSettings
}

/** A browser reports about every second; one that is silent for this long is gone. */
const IDLE_MS = 15_000
const SOUND_TICKS = 960
/** Sound that comes later than this has had a gap. */
const SOUND_GAP_TICKS = 24_000
const CIRCLE = 2 ** 32

/** One client that watches: its connection, and the times of what it is sent. */
export class Viewer {
  readonly #options: ViewerOptions
  readonly #connection: Connection
  readonly #tracks = new Map<MediumKind, SendingTrack>()
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
    this.#connection = new Connection(session, settings, {
      onAnswer: options.onAnswer,
      onConnected: () => {
        this.#heardAt = performance.now()
        options.onConnected()
      },
      onEnd: (reason) => this.end(reason),
    })
    try {
      for (const { kind, mid, payloadType } of offer.tracks) {
        const track = this.#connection.addTrack(kind, mid, payloadType)
        this.#tracks.set(kind, track)
        track.onMessage(() => {
          this.#heardAt = performance.now()
        })
      }
      this.#connection.answer(offer.sdp)
    } catch (error) {
      this.#connection.close()
      throw error
    }
  }

  /** To be called every few hundredths of a second. */
  tick(now: number): void {
    if (this.#heardAt === null) {
      if (now - this.#startedAt > CONNECT_MS) this.end('never connected')
    } else if (now - this.#heardAt > IDLE_MS) this.end('idle')
  }

  show(shown: Shown, now: number): void {
    const track = this.#tracks.get(shown.kind)
    if (this.#ended || track === undefined || this.#heardAt === null) return
    const timestamp = shown.kind === 'video' ? this.#placePicture(shown.timestamp, now) : this.#placeSound(now)
    track.sendFrame(shown.data, timestamp)
  }

  /** Ends it and says so. */
  end(reason: string): void {
    if (this.#ended) return
    this.#ended = true
    this.#tracks.clear()
    this.#connection.close()
    this.#options.onEnd(reason)
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
