import type { Clock } from '../core/clock.ts'
import { isQueue } from '../core/job.ts'
import type { Logger } from '../core/log.ts'
import type { Backend } from './backend.ts'
import type { GivenRow, Outbox } from './outbox.ts'

const AT_ONCE = 1_000

export interface SweeperOptions {
  readonly outbox: Outbox
  readonly clock: Clock
  readonly log: Logger
  /** Rows that are younger than this may still be in transit. */
  readonly graceMs: number
}

/**
 * Finds rows whose job the backend does not have, and requeues them. So no job is lost when a node
 * is killed between claiming and adding, or when the backend loses jobs.
 */
export class Sweeper {
  readonly #options: SweeperOptions
  /** Where the next round continues. */
  #after: string | undefined
  /** Attempts whose job the backend did not have in the last pass over all rows, by job id. */
  #suspects: ReadonlyMap<string, number> = new Map()
  #newSuspects = new Map<string, number>()

  constructor(options: SweeperOptions) {
    this.#options = options
  }

  /** Checks one page of rows. @returns how many were requeued */
  async sweep(backend: Backend): Promise<number> {
    const { outbox, clock, log, graceMs } = this.#options
    if (await backend.store.wasEmptied()) {
      const count = await outbox.requeueAll()
      if (count > 0) log.warn({ count }, 'the job queues were emptied; their jobs are added again')
      return count
    }
    const rows = await outbox.queuedBefore(new Date(clock.now() - graceMs), this.#after, AT_ONCE)
    let found = 0
    for (const [queue, some] of Map.groupBy(rows, (row) => row.queue)) {
      const ids = some.map(({ id }) => id)
      // No worker takes jobs of a queue that only an older version had.
      const known = isQueue(queue) ? await backend.known(queue, ids) : new Set<string>()
      const lost = some.filter((row) => !known.has(row.id) && this.#isLost(row))
      if (lost.length === 0) continue
      const count = await outbox.requeueLost(lost)
      if (count > 0) log.warn({ queue, count }, 'jobs that were missing in their queue are added again')
      found += count
    }
    this.#turnPage(rows)
    return found
  }

  /** The backend removes a successful job before its end is stored. So a running job is lost only if two passes miss it. */
  #isLost({ id, state, attempts }: GivenRow): boolean {
    if (state === 'queued' || this.#suspects.get(id) === attempts) return true
    this.#newSuspects.set(id, attempts)
    return false
  }

  #turnPage(rows: readonly GivenRow[]): void {
    this.#after = rows.length === AT_ONCE ? rows.at(-1)?.id : undefined
    if (this.#after !== undefined) return
    this.#suspects = this.#newSuspects
    this.#newSuspects = new Map()
  }
}
