import { randomInt } from 'node:crypto'
import type { ReceptionStatus } from '../../types.ts'
import { MediaSession } from '../rtp/media-session.ts'
import type { CodedMedia, SessionOffer, WhipChildSettings } from './protocol.ts'
import { Connection, CONNECT_MS, type ConnectionListener, type MediaTrack } from './rtc.ts'

/** `onEnd` is called once. */
export interface PeerOptions extends ConnectionListener {
  readonly session: string
  readonly offer: SessionOffer
  readonly settings: WhipChildSettings
  readonly onMedia: (media: CodedMedia) => void
}

/** A client that sends nothing for this long is gone: a page that was closed says no word. */
const IDLE_MS = 8_000

/** One client that publishes: its connection, and the media that comes over it. */
export class Peer {
  readonly #options: PeerOptions
  readonly #connection: Connection
  /** The one medium that the library knows of: it carries the packets of all. */
  #track: MediaTrack | null = null
  readonly #media: MediaSession
  readonly #startedAt = performance.now()
  #connectedAt: number | null = null
  #ended = false

  /** @throws Error when the stack does not take the offer */
  constructor(options: PeerOptions) {
    const { offer, session, settings } = options
    this.#options = options
    this.#media = new MediaSession({
      video: offer.video,
      audio: offer.audio,
      routing: offer.routing,
      ssrc: randomInt(1, 2 ** 32),
      onMedia: options.onMedia,
      send: (packet) => this.#send(packet),
    })
    this.#connection = new Connection(session, settings, {
      onAnswer: options.onAnswer,
      onConnected: () => {
        this.#connectedAt = performance.now()
        options.onConnected()
      },
      onEnd: (reason) => this.end(reason),
    })
    this.#connection.onTrack((track) => this.#take(track))
    this.#connection.answer(offer.sdp)
  }

  /** To be called every few hundredths of a second. */
  tick(now: number): void {
    if (this.#connectedAt === null) {
      if (now - this.#startedAt > CONNECT_MS) this.end('never connected')
      return
    }
    if (now - (this.#media.lastPacketAt ?? this.#connectedAt) > IDLE_MS) this.end('idle')
    else this.#media.tick(now)
  }

  /** Ends it and says so. */
  end(reason: string): void {
    if (this.#ended) return
    this.#ended = true
    this.#track = null
    this.#connection.close()
    this.#options.onEnd(reason)
  }

  reception(): ReceptionStatus[] {
    return this.#media.reception()
  }

  #take(track: MediaTrack): void {
    this.#track = track
    track.onMessage((bytes) => {
      if (!this.#ended) this.#media.receive(bytes, performance.now())
    })
  }

  #send(packet: Buffer): void {
    if (!this.#ended) this.#track?.send(packet)
  }
}
