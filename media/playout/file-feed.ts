import { randomUUID } from 'node:crypto'
import { DEFAULT_INGEST_LIMITS } from '../ingest/limits.ts'
import type { Publisher } from '../ingest/publisher.ts'
import { PublisherSession } from '../ingest/publisher-session.ts'
import type { DesiredStream, MediaEvent, MediaLog, StreamStatus } from '../types.ts'
import { Playout } from './playout.ts'

export interface FileFeedOptions {
  /** Takes the publisher that the files are. */
  readonly attach: (publisher: Publisher) => void
  /** Whether another publisher goes on when the files have ended. */
  readonly isRelieved: () => boolean
  /** Whether whoever wished for it is still there. */
  readonly isHosted: () => boolean
  /** It is not played on, because nobody may be there any more who wants it played here. */
  readonly onLapse: () => void
  readonly onEvent: (event: MediaEvent) => void
  readonly log: MediaLog
}

interface Running {
  readonly id: string
  readonly session: PublisherSession
  readonly playout: Playout
}

/** How often the position is told. */
const TELL_MS = 1_000

/** Plays the files of one stream, as a publisher among others. */
export class FileFeed {
  readonly #options: FileFeedOptions
  #streamId = ''
  #running: Running | undefined
  /** Was played to its end here: it does not begin again by being wished for once more. */
  #ended: string | undefined
  #toldAt = 0

  constructor(options: FileFeedOptions) {
    this.#options = options
  }

  /** Makes it play what the stream is to play. */
  apply(desired: DesiredStream): void {
    this.#streamId = desired.streamId
    const { playout: wish } = desired
    if (this.#running !== undefined && this.#running.id !== wish?.id) this.#stop('stopped')
    if (wish === undefined || wish.id === this.#ended) return
    if (this.#running === undefined) return this.#start(desired, wish)
    if (!this.#running.session.ended) return this.#running.playout.update(wish)
    // It was dropped with the key of before; where it was stands in the playout, not in what is wished.
    const { position } = this.#running.playout
    this.#start(desired, position.cue === wish.cue ? { ...wish, ...position } : wish)
  }

  /** Tells how far it is, about once a second. */
  tick(now: number): void {
    if (this.#running === undefined || now - this.#toldAt < TELL_MS) return
    this.#toldAt = now
    this.#tellPosition(this.#running)
  }

  status(): StreamStatus['playout'] {
    if (this.#running === undefined) return null
    const { id, playout } = this.#running
    return { id, paused: playout.paused, ...playout.position }
  }

  close(): void {
    this.#stop('stopped')
  }

  #start(desired: DesiredStream, wish: NonNullable<DesiredStream['playout']>): void {
    const session = new PublisherSession({
      sessionId: randomUUID(),
      path: desired.path,
      keyHash: desired.keyHash,
      remoteAddress: 'file',
      stream: desired,
      doctor: DEFAULT_INGEST_LIMITS.doctor,
      now: () => performance.now(),
      drop: (reason) => this.#drop(running, reason),
      refuse: (reason) => this.#drop(running, reason),
    })
    const playout = new Playout({
      desired: wish,
      send: ({ payload, timestamp, type }) => {
        if (!this.#options.isHosted()) return this.#lapse(running)
        session.deliver({ type, payload, timestamp: timestamp % 0x1_0000_0000, streamId: 1, chunkStreamId: 0 })
      },
      onItem: () => this.#tellPosition(running),
      onBegin: () => this.#tellPosition(running, 'playout.began'),
      onSkipped: (item, message) => this.#skipped(running, item, message),
      onEnd: (failure) => this.#onEnd(running, failure),
    })
    const running: Running = { id: wish.id, session, playout }
    this.#running = running
    this.#options.attach(session)
    void playout.run()
  }

  #drop({ playout, session }: Running, reason: string): void {
    playout.stop()
    session.end(reason)
  }

  #stop(reason: string): void {
    const running = this.#running
    this.#running = undefined
    if (running !== undefined) this.#drop(running, reason)
  }

  #lapse(running: Running): void {
    if (this.#running !== running) return
    const streamId = this.#streamId
    this.#options.log.warn({ streamId }, 'files are not played on: the host does not answer')
    this.#stop('host silent')
    this.#options.onLapse()
    this.#options.onEvent({ type: 'playout.lapsed', streamId, playoutId: running.id })
  }

  #skipped({ id }: Running, item: number, message: string): void {
    const streamId = this.#streamId
    this.#options.log.warn({ streamId, item, reason: message }, 'a file of a broadcast cannot be played')
    this.#options.onEvent({ type: 'playout.skipped', streamId, playoutId: id, item, message })
  }

  #onEnd(running: Running, failure: string | null): void {
    if (this.#running !== running) return
    this.#running = undefined
    this.#ended = running.id
    // Told before the publisher ends: whoever follows must not think that it was lost.
    this.#options.onEvent({
      type: 'playout.ended',
      streamId: this.#streamId,
      playoutId: running.id,
      reason: failure === null ? 'finished' : 'failed',
      message: failure,
      relieved: this.#options.isRelieved(),
    })
    running.session.end(failure === null ? 'finished' : 'failed')
  }

  #tellPosition({ id, playout }: Running, type: 'playout.moved' | 'playout.began' = 'playout.moved'): void {
    const streamId = this.#streamId
    this.#options.onEvent({ type, streamId, playoutId: id, ...playout.position })
  }
}
