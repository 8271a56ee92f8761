import { DAY } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import { greaterThan } from '../../../db/condition.ts'
import { inSharedBatches } from '../../../db/delete-in-batches.ts'
import type { Foundation } from '../../../foundation.ts'
import { workspaces } from './tables.ts'

/** Workspaces that one statement covers. */
const WORKSPACES = 50

/** Deletes old events and audit entries of workspaces. */
export class WorkspaceLogRetention {
  readonly #foundation: Pick<Foundation, 'clock' | 'database' | 'logs'>
  readonly #days: { readonly events: number; readonly audit: number }

  /** @param days how long logs are kept, in days */
  constructor(
    foundation: Pick<Foundation, 'clock' | 'database' | 'logs'>,
    days: { readonly events: number; readonly audit: number },
  ) {
    this.#foundation = foundation
    this.#days = days
  }

  /** Deletes everything that is too old, a few workspaces at a time. Stops early when the signal is aborted. */
  async prune(signal: AbortSignal): Promise<void> {
    const { clock, logs, database: sql } = this.#foundation
    const now = clock.now()
    const events = new Date(now - this.#days.events * DAY)
    const audit = new Date(now - this.#days.audit * DAY)
    for (let last: string | undefined; !signal.aborted;) {
      const ids = await workspaceIds(sql, last)
      await inSharedBatches(ids.length, (rows) => logs.pruneEvents(sql, ids, events, rows), signal)
      await inSharedBatches(ids.length, (rows) => logs.pruneAudit(sql, ids, audit, rows), signal)
      last = ids.at(-1)
      if (ids.length < WORKSPACES) break
    }
  }
}

/** Ids of the next workspaces, in order. */
async function workspaceIds(sql: Sql, after: string | undefined): Promise<string[]> {
  const rows = await workspaces.find(sql, after === undefined ? {} : { id: greaterThan(after) }, {
    columns: ['id'],
    orderBy: ['id asc'],
    limit: WORKSPACES,
  })
  return rows.map(({ id }) => id)
}
