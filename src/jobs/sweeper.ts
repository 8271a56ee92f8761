import type { Clock } from '../core/clock.ts'
import type { Logger } from '../core/log.ts'
import type { Backend } from './backend.ts'
import type { Outbox } from './outbox.ts'

const AT_ONCE = 1_000

export interface SweeperOptions {
  readonly outbox: Outbox
  readonly clock: Clock
  readonly log: Logger
  readonly backend: Backend
  /** Rows younger than this are on their way. */
  readonly graceMs: number
}

/**
 * Finds rows whose job the backend does not have, and lets them be added again. That is how nothing is lost when a node
 * dies between claiming and adding, or the backend loses what it held.
 * @returns how many were found
 */
export async function sweep({ outbox, clock, log, backend, graceMs }: SweeperOptions): Promise<number> {
  if (await backend.store.wasEmptied()) {
    const count = await outbox.giveAllBack()
    log.warn({ count }, 'the job queues were emptied; what waits is added again')
    return count
  }
  const rows = await outbox.givenBefore(new Date(clock.now() - graceMs), AT_ONCE)
  let found = 0
  for (const [queue, some] of Map.groupBy(rows, (row) => row.queue)) {
    const ids = some.map(({ id }) => id)
    const known = await backend.known(queue, ids)
    const lost = ids.filter((id) => !known.has(id))
    await outbox.seen([...known])
    if (lost.length === 0) continue
    found += await outbox.giveBack(lost)
    log.warn({ queue, count: lost.length }, 'jobs that their queue did not know are added again')
  }
  return found
}
