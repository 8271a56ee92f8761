import { setTimeout as delay } from 'node:timers/promises'
import { reasonOf, type TallyLog } from '../../../tools/tally-log.ts'
import type { DestinationStatus } from '../../../../media/types.ts'
import type { Foundation } from '../../../foundation.ts'
import { canBeUnknown, type DestinationReport, type Observation, observeStream } from '../streams/index.ts'

/** Changes of destinations are collected for this time: at most four reports a second, each with the latest states. */
const GATHER_MS = 250
/** Delay after a failed turn, for example when the database is unavailable. */
const RETRY_MS = 500

interface Watched {
  readonly streamId: string
  readonly workspaceId: string
  ingest: Observation['ingest']
  /** The last known state of every destination. */
  readonly destinations: Map<string, DestinationReport>
  /** Destinations whose state is not yet in the database. */
  readonly unreported: Set<string>
  ingestUnreported: boolean
  reportedAt: number
  wake: (() => void) | undefined
  running: Promise<void> | undefined
}

type Dependencies = Pick<Foundation, 'clock' | 'turns'> & {
  readonly nodeId: string
  /** Collects repeated log lines: while the database is unavailable, every report fails. */
  readonly tally: TallyLog
}

/**
 * Writes the states that the media node reports to the database, per stream. Changes during a write, or while the
 * database is unavailable, are part of the next write.
 */
export class Observer {
  readonly #dependencies: Dependencies
  readonly #streams = new Map<string, Watched>()
  /** ISO 8601: since when the media process has not answered. Null while it answers. */
  #silentSince: string | null = null
  #closed = false

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
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

  destinationChanged(streamId: string, workspaceId: string, status: DestinationStatus): void {
    const { id, state, since, lastError, hasWorked } = status
    const watched = this.#watch(streamId, workspaceId)
    watched.destinations.set(id, { id, state, since, lastError, hasWorked })
    watched.unreported.add(id)
    this.#report(watched)
  }

  /**
   * Sets since when the media process has not answered, or null when it answers again. Meanwhile its earlier
   * reports are unconfirmed.
   */
  silent(since: string | null): void {
    this.#silentSince = since
    for (const watched of this.#streams.values()) {
      for (const [id, { state }] of watched.destinations) if (canBeUnknown(state)) watched.unreported.add(id)
      if (watched.ingest !== null) this.#ingestChanged(watched)
      else if (watched.unreported.size > 0) this.#report(watched)
    }
  }

  /** The media process has ended: there are no publishers and no connected destinations. */
  lostAll(): void {
    const since = new Date(this.#dependencies.clock.now()).toISOString()
    this.#silentSince = null
    for (const watched of this.#streams.values()) {
      for (const [id, destination] of watched.destinations) {
        const { state } = destination
        if (state === 'idle' || state === 'stopped') continue
        watched.destinations.set(id, { ...destination, state: 'idle', since })
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

  /** Number of streams that have a publisher on this node. */
  get ingests(): number {
    let count = 0
    for (const { ingest } of this.#streams.values()) if (ingest !== null) count += 1
    return count
  }

  /** Whether all reports of a stream are written. */
  isSettled(streamId: string): boolean {
    return this.#streams.get(streamId)?.running === undefined
  }

  /** Forgets a stream when all its reports are written. */
  forget(streamId: string): void {
    const watched = this.#streams.get(streamId)
    void watched?.running?.then(() => this.forget(streamId))
    if (this.isSettled(streamId)) this.#streams.delete(streamId)
  }

  /** Waits until all reports are written, or the time has passed. Nothing is written afterwards. */
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
      const wait = watched.reportedAt + GATHER_MS - this.#dependencies.clock.monotonic()
      if (!watched.ingestUnreported && wait > 0) await this.#pause(watched, wait)
      const ids = [...watched.unreported]
      const hadIngestChange = watched.ingestUnreported
      watched.unreported.clear()
      watched.ingestUnreported = false
      try {
        await this.#dependencies.turns.system(watched.workspaceId, observeStream, {
          streamId: watched.streamId,
          nodeId: this.#dependencies.nodeId,
          ingest: watched.ingest,
          destinations: ids.flatMap((id) => this.#confirmed(watched.destinations.get(id)) ?? []),
          silentSince: this.#silentSince,
          at: new Date(this.#dependencies.clock.now()).toISOString(),
        })
      } catch (error) {
        for (const id of ids) watched.unreported.add(id)
        watched.ingestUnreported ||= hadIngestChange
        const reason = reasonOf(error)
        const line = { level: 'warn', message: 'the state of a stream could not be written' } as const
        this.#dependencies.tally.add({ ...line, reason, fields: { error, streamId: watched.streamId } })
        if (!this.#closed) await this.#pause(watched, RETRY_MS)
      }
      watched.reportedAt = this.#dependencies.clock.monotonic()
    }
  }

  /** The state of a destination, or `unknown` while the media process is silent. */
  #confirmed(report: DestinationReport | undefined): DestinationReport | undefined {
    if (report === undefined || this.#silentSince === null || !canBeUnknown(report.state)) return report
    return { ...report, state: 'unknown', since: this.#silentSince }
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
