import { randomInt } from 'node:crypto'
import type { ReceptionStatus } from '../../types.ts'
import { MediaSession } from '../rtp/media-session.ts'
import type { CodedMedia, WhipChildSettings, WhipOffer } from './protocol.ts'
import { Connection, CONNECT_TIMEOUT_MS, type ConnectionListener, type MediaTrack } from './rtc.ts'

/** `onEnd` is called once. */
export interface WhipPeerOptions extends ConnectionListener {
  readonly session: string
  readonly offer: WhipOffer
  readonly settings: WhipChildSettings
  readonly onMedia: (media: CodedMedia) => void
}

/** A client that sends nothing for this long has disconnected. Closing a page sends no message. */
const IDLE_TIMEOUT_MS = 8_000

/** A WHIP publisher: its connection and the media received over it. */
export class WhipPeer {
  readonly #options: WhipPeerOptions
  readonly #connection: Connection
  /** The only track that the library knows of. It carries the packets of all media. */
  #track: MediaTrack | null = null
  readonly #media: MediaSession
  readonly #startedAt = performance.now()
  #connectedAt: number | null = null
  #ended = false

  /** @throws Error if the WebRTC library rejects the offer */
  constructor(options: WhipPeerOptions) {
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
    this.#connection.onTrack((track) => this.#addTrack(track))
    this.#connection.answer(offer.sdp)
  }

  /** Checks the timeouts and sends RTCP. To be called about every 20 ms. */
  tick(now: number): void {
    if (this.#connectedAt === null) {
      if (now - this.#startedAt > CONNECT_TIMEOUT_MS) this.end('never connected')
      return
    }
    if (now - (this.#media.lastPacketAt ?? this.#connectedAt) > IDLE_TIMEOUT_MS) this.end('idle')
    else this.#media.tick(now)
  }

  /** Closes the connection and calls `onEnd`. */
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

  #addTrack(track: MediaTrack): void {
    this.#track = track
    track.onMessage((bytes) => {
      if (!this.#ended) this.#media.receive(bytes, performance.now())
    })
  }

  #send(packet: Buffer): void {
    if (!this.#ended) this.#track?.send(packet)
  }
}
