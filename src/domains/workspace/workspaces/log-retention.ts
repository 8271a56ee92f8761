import { DAY, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import type { WorkspaceLogs } from '../../../core/workspace-logs.ts'
import { greaterThan } from '../../../db/condition.ts'
import { workspaces } from './tables.ts'

export interface WorkspaceLogRetentionOptions {
  readonly sql: Sql
  readonly logs: WorkspaceLogs
  readonly clock: Clock
  /** How long logs are kept, in days. */
  readonly days: { readonly events: number; readonly audit: number }
}

/** Workspaces that one statement covers. */
const WORKSPACES = 50

/** Deletes old events and audit entries of workspaces. */
export class WorkspaceLogRetention {
  readonly #options: WorkspaceLogRetentionOptions

  constructor(options: WorkspaceLogRetentionOptions) {
    this.#options = options
  }

  /** Deletes everything that is too old, a few workspaces at a time. Stops early when the signal is aborted. */
  async prune(signal: AbortSignal): Promise<void> {
    const { clock, days, logs, sql } = this.#options
    const now = clock.now()
    const events = new Date(now - days.events * DAY)
    const audit = new Date(now - days.audit * DAY)
    for (let last: string | undefined; !signal.aborted;) {
      const ids = await workspaceIds(sql, last)
      await repeat(() => logs.pruneEvents(sql, ids, events), signal)
      await repeat(() => logs.pruneAudit(sql, ids, audit), signal)
      last = ids.at(-1)
      if (ids.length < WORKSPACES) break
    }
  }
}

/** Calls until nothing is left to delete. */
async function repeat(prune: () => Promise<number>, signal: AbortSignal): Promise<void> {
  for (let count = 1; count > 0 && !signal.aborted;) count = await prune()
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
