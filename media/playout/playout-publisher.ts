import { randomUUID } from 'node:crypto'
import { DEFAULT_INGEST_LIMITS } from '../ingest/limits.ts'
import type { Publisher } from '../ingest/publisher.ts'
import { PublisherSession } from '../ingest/publisher-session.ts'
import type { DesiredStream, MediaEvent, MediaLog, StreamStatus } from '../types.ts'
import { Playout } from './playout.ts'

export interface PlayoutPublisherOptions {
  /** Connects the files to the stream as a publisher. */
  readonly attach: (publisher: Publisher) => void
  /** Whether another publisher takes over when the files have ended. */
  readonly hasStandby: () => boolean
  /** Whether the host, which requested the playout, is alive. */
  readonly isHostAlive: () => boolean
  /** The playout was stopped because the host does not answer. */
  readonly onLapse: () => void
  readonly onEvent: (event: MediaEvent) => void
  readonly log: MediaLog
}

interface Running {
  readonly id: string
  readonly session: PublisherSession
  readonly playout: Playout
}

/** How often the position is reported. */
const REPORT_MS = 1_000

/** Plays the files of a stream as one of its publishers. */
export class PlayoutPublisher {
  readonly #options: PlayoutPublisherOptions
  #streamId = ''
  #running: Running | undefined
  /** Id of the playout that has ended here. It must not start again when the same state is applied. */
  #endedId: string | undefined
  #reportedAt = 0

  constructor(options: PlayoutPublisherOptions) {
    this.#options = options
  }

  /** Starts, updates or stops the playout according to the desired state. */
  apply(stream: DesiredStream): void {
    this.#streamId = stream.streamId
    const { playout: desired } = stream
    if (this.#running !== undefined && this.#running.id !== desired?.id) this.#stop('stopped')
    if (desired === undefined || desired.id === this.#endedId) return
    if (this.#running === undefined) return this.#start(stream, desired)
    if (!this.#running.session.ended) return this.#running.playout.update(desired)
    // The session was dropped, for example with the previous key. Its position is newer than the desired one.
    const { position } = this.#running.playout
    this.#start(stream, position.cue === desired.cue ? { ...desired, ...position } : desired)
  }

  /** Reports the position about once a second. */
  tick(now: number): void {
    if (this.#running === undefined || now - this.#reportedAt < REPORT_MS) return
    this.#reportedAt = now
    this.#reportPosition(this.#running)
  }

  status(): StreamStatus['playout'] {
    if (this.#running === undefined) return null
    const { id, playout } = this.#running
    return { id, paused: playout.paused, ...playout.position }
  }

  close(): void {
    this.#stop('stopped')
  }

  #start(stream: DesiredStream, desired: NonNullable<DesiredStream['playout']>): void {
    const session = new PublisherSession({
      sessionId: randomUUID(),
      path: stream.path,
      keyHash: stream.keyHash,
      remoteAddress: 'file',
      stream,
      doctor: DEFAULT_INGEST_LIMITS.doctor,
      now: () => performance.now(),
      drop: (reason) => this.#drop(running, reason),
      refuse: (reason) => this.#drop(running, reason),
    })
    const playout = new Playout({
      desired,
      send: ({ payload, timestamp, type }) => {
        if (!this.#options.isHostAlive()) return this.#lapse(running)
        session.deliver({ type, payload, timestamp: timestamp % 0x1_0000_0000, streamId: 1, chunkStreamId: 0 })
      },
      onItem: () => this.#reportPosition(running),
      onBegin: () => this.#reportPosition(running, 'playout.began'),
      onSkipped: (item, message) => this.#skipped(running, item, message),
      onEnd: (failure) => this.#onEnd(running, failure),
    })
    const running: Running = { id: desired.id, session, playout }
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
    this.#options.log.warn({ streamId }, 'playout stopped: the host does not answer')
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
    this.#endedId = running.id
    // Reported before the publisher ends, so that the end does not look like a failure.
    this.#options.onEvent({
      type: 'playout.ended',
      streamId: this.#streamId,
      playoutId: running.id,
      reason: failure === null ? 'finished' : 'failed',
      message: failure,
      relieved: this.#options.hasStandby(),
    })
    running.session.end(failure === null ? 'finished' : 'failed')
  }

  #reportPosition({ id, playout }: Running, type: 'playout.moved' | 'playout.began' = 'playout.moved'): void {
    const streamId = this.#streamId
    this.#options.onEvent({ type, streamId, playoutId: id, ...playout.position })
  }
}
