import { randomInt } from 'node:crypto'
import type { PeerConnection, Track } from 'node-datachannel'
import type { ReceptionStatus } from '../../types.ts'
import { MediaSession } from '../rtp/media-session.ts'
import { answer, CONNECT_MS, newConnection } from './connection.ts'
import type { CodedMedia, SessionOffer, WhipChildSettings } from './protocol.ts'

export interface PeerOptions {
  readonly session: string
  readonly offer: SessionOffer
  readonly settings: WhipChildSettings
  readonly onAnswer: (sdp: string) => void
  readonly onConnected: () => void
  readonly onMedia: (media: CodedMedia) => void
  /** Called once. */
  readonly onEnd: (reason: string) => void
}

/** A client that sends nothing for this long is gone: a page that was closed says no word. */
const IDLE_MS = 8_000

/** One client that publishes: its connection, and the media that comes over it. */
export class Peer {
  readonly #options: PeerOptions
  readonly #connection: PeerConnection
  readonly #tracks = new Map<'video' | 'audio', Track>()
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
      ssrc: randomInt(1, 2 ** 32),
      onMedia: options.onMedia,
      send: (kind, packet) => this.#send(kind, packet),
    })
    this.#connection = newConnection(session, settings)
    this.#connection.onTrack((track) => this.#take(track))
    answer(this.#connection, offer.sdp, {
      onAnswer: options.onAnswer,
      onConnected: () => {
        this.#connectedAt = performance.now()
        options.onConnected()
      },
      onEnd: (reason) => this.end(reason),
    })
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
    for (const track of this.#tracks.values()) track.close()
    this.#tracks.clear()
    this.#connection.close()
    this.#options.onEnd(reason)
  }

  reception(): ReceptionStatus[] {
    return this.#media.reception()
  }

  #take(track: Track): void {
    const kind = track.type() === 'audio' ? 'audio' : 'video'
    this.#tracks.set(kind, track)
    track.onMessage((bytes) => {
      if (!this.#ended) this.#media.receive(kind, bytes, performance.now())
    })
  }

  #send(kind: 'video' | 'audio', packet: Buffer): void {
    const track = this.#tracks.get(kind)
    if (!this.#ended && track?.isOpen()) track.sendMessageBinary(packet)
  }
}
