import { setTimeout as delay } from 'node:timers/promises'
import type { DestinationStatus } from '../../../media/types.ts'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/log.ts'
import type { TurnRunner } from '../../core/system-turn.ts'
import { observeStream, type DestinationReport, type Observation } from '../turns.ts'

/** Changes of destinations alone are gathered this long: at most four reports a second, the last state wins. */
const GATHER_MS = 250
/** After a turn that failed, for example because the database is away. */
const RETRY_MS = 500

interface Watched {
  readonly streamId: string
  readonly workspaceId: string
  ingest: Observation['ingest']
  /** Every destination as it was last seen. */
  readonly destinations: Map<string, DestinationReport>
  /** Those that the database has not been told of. */
  readonly unreported: Set<string>
  ingestUnreported: boolean
  reportedAt: number
  wake: (() => void) | undefined
  running: Promise<void> | undefined
}

export interface ObserverOptions {
  readonly nodeId: string
  readonly turns: TurnRunner
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Tells the database what the media node sees, stream by stream. It reports states, not happenings: what changes while
 * a report is under way, or while the database is away, goes into the next one.
 */
export class Observer {
  readonly #options: ObserverOptions
  readonly #streams = new Map<string, Watched>()
  #closed = false

  constructor(options: ObserverOptions) {
    this.#options = options
  }

  ingestStarted(streamId: string, workspaceId: string, sessionId: string, path: string): void {
    const watched = this.#watch(streamId, workspaceId)
    watched.ingest = { sessionId, path }
    this.#ingestChanged(watched)
  }

  ingestEnded(streamId: string, sessionId: string): void {
    const watched = this.#streams.get(streamId)
    if (watched?.ingest?.sessionId !== sessionId) return
    watched.ingest = null
    this.#ingestChanged(watched)
  }

  destinationChanged(streamId: string, workspaceId: string, { id, state, since, lastError }: DestinationStatus): void {
    const watched = this.#watch(streamId, workspaceId)
    watched.destinations.set(id, { id, state, since, lastError })
    watched.unreported.add(id)
    this.#report(watched)
  }

  /** The media process is gone: no publisher is left, and no destination is connected. */
  lostAll(): void {
    const since = new Date(this.#options.clock.now()).toISOString()
    for (const watched of this.#streams.values()) {
      for (const [id, { state, lastError }] of watched.destinations) {
        if (state === 'idle' || state === 'stopped') continue
        watched.destinations.set(id, { id, state: 'idle', since, lastError })
        watched.unreported.add(id)
      }
      const hadIngest = watched.ingest !== null
      watched.ingest = null
      if (hadIngest) this.#ingestChanged(watched)
      else if (watched.unreported.size > 0) this.#report(watched)
    }
  }

  hasIngest(streamId: string): boolean {
    return this.#streams.get(streamId)?.ingest != null
  }

  /** Streams that have a publisher here. */
  get ingests(): number {
    let count = 0
    for (const { ingest } of this.#streams.values()) if (ingest !== null) count += 1
    return count
  }

  /** Whether the database knows all that was seen of a stream. */
  isSettled(streamId: string): boolean {
    return this.#streams.get(streamId)?.running === undefined
  }

  /** Once all that was seen of it is reported. */
  forget(streamId: string): void {
    const watched = this.#streams.get(streamId)
    void watched?.running?.then(() => this.forget(streamId))
    if (this.isSettled(streamId)) this.#streams.delete(streamId)
  }

  /** Waits, at most so long, until everything is reported; reports nothing from then on. */
  async close(withinMs: number): Promise<void> {
    const running = [...this.#streams.values()].flatMap((watched) => {
      watched.wake?.()
      return watched.running ? [watched.running] : []
    })
    await Promise.race([Promise.all(running), delay(withinMs, undefined, { ref: false })])
    this.#closed = true
  }

  #watch(streamId: string, workspaceId: string): Watched {
    let watched = this.#streams.get(streamId)
    if (watched === undefined) {
      watched = {
        streamId,
        workspaceId,
        ingest: null,
        destinations: new Map(),
        unreported: new Set(),
        ingestUnreported: false,
        reportedAt: Number.NEGATIVE_INFINITY,
        wake: undefined,
        running: undefined,
      }
      this.#streams.set(streamId, watched)
    }
    return watched
  }

  #ingestChanged(watched: Watched): void {
    watched.ingestUnreported = true
    watched.wake?.()
    this.#report(watched)
  }

  #report(watched: Watched): void {
    watched.running ??= this.#reportAll(watched).finally(() => {
      watched.running = undefined
    })
  }

  async #reportAll(watched: Watched): Promise<void> {
    while (!this.#closed && (watched.ingestUnreported || watched.unreported.size > 0)) {
      const wait = watched.reportedAt + GATHER_MS - this.#options.clock.monotonic()
      if (!watched.ingestUnreported && wait > 0) await this.#pause(watched, wait)
      const ids = [...watched.unreported]
      const hadIngestChange = watched.ingestUnreported
      watched.unreported.clear()
      watched.ingestUnreported = false
      try {
        await this.#options.turns.system(watched.workspaceId, observeStream, {
          streamId: watched.streamId,
          nodeId: this.#options.nodeId,
          ingest: watched.ingest,
          destinations: ids.flatMap((id) => watched.destinations.get(id) ?? []),
        })
      } catch (error) {
        for (const id of ids) watched.unreported.add(id)
        watched.ingestUnreported ||= hadIngestChange
        this.#options.log.warn({ error, streamId: watched.streamId }, 'the state of a stream could not be written')
        if (!this.#closed) await this.#pause(watched, RETRY_MS)
      }
      watched.reportedAt = this.#options.clock.monotonic()
    }
  }

  async #pause(watched: Watched, ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      watched.wake = resolve
      timer = setTimeout(resolve, ms)
    })
    watched.wake = undefined
    clearTimeout(timer)
  }
}
