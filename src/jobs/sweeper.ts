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
  /** Rows younger than this are on their way. */
  readonly graceMs: number
}

/**
 * Finds rows whose job the backend does not have, and lets them be added again. That is how nothing is lost when a node
 * dies between claiming and adding, or the backend loses what it held.
 */
export class Sweeper {
  readonly #options: SweeperOptions
  /** Where the next round goes on. */
  #after: string | undefined
  /** Attempts whose job the backend did not know when all rows were looked at last, by the job's id. */
  #suspects: ReadonlyMap<string, number> = new Map()
  #newSuspects = new Map<string, number>()

  constructor(options: SweeperOptions) {
    this.#options = options
  }

  /** One round over some of the rows. @returns how many are to be added again */
  async sweep(backend: Backend): Promise<number> {
    const { outbox, clock, log, graceMs } = this.#options
    if (await backend.store.wasEmptied()) {
      const count = await outbox.giveAllBack()
      if (count > 0) log.warn({ count }, 'the job queues were emptied; what waits is added again')
      return count
    }
    const rows = await outbox.givenBefore(new Date(clock.now() - graceMs), this.#after, AT_ONCE)
    let found = 0
    for (const [queue, some] of Map.groupBy(rows, (row) => row.queue)) {
      const ids = some.map(({ id }) => id)
      // Of a queue that an older version had nobody takes jobs any more.
      const known = isQueue(queue) ? await backend.known(queue, ids) : new Set<string>()
      const lost = some.filter((row) => !known.has(row.id) && this.#isLost(row))
      if (lost.length === 0) continue
      const count = await outbox.giveBackLost(lost)
      if (count > 0) log.warn({ queue, count }, 'jobs that their queue did not know are added again')
      found += count
    }
    this.#turnPage(rows)
    return found
  }

  /** The backend forgets a job that went well before its end is written down: one that runs is looked at twice. */
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
