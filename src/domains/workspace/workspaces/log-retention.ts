import { DAY, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly workspaceLogRetention: WorkspaceLogRetention
  }
}

/** How long a workspace's logs are kept, in days. */
export interface LogAges {
  readonly events: number
  readonly audit: number
}

/** Workspaces that one statement looks at, and rows of each that it removes. */
const [WORKSPACES, ROWS] = [50, 2_000]

const SOME_WORKSPACES = `select id from workspaces where ($1::uuid is null or id > $1) order by id limit ${WORKSPACES}`

/** Events are numbered in the order of their times: only the oldest of a workspace are looked at. */
const FORGET_EVENTS = `
  delete from workspace_events e using (
    select oldest.workspace_id, oldest.seq from unnest($1::uuid[]) w (id)
    cross join lateral (
      select workspace_id, seq, at from workspace_events where workspace_id = w.id order by seq limit ${ROWS}
    ) oldest
    where oldest.at < $2
  ) gone where e.workspace_id = gone.workspace_id and e.seq = gone.seq`

const FORGET_AUDIT = `
  delete from audit_log a using (
    select old.id from unnest($1::uuid[]) w (id)
    cross join lateral (
      select id from audit_log where workspace_id = w.id and created_at < $2 order by created_at, id limit ${ROWS}
    ) old
  ) gone where a.id = gone.id`

/** Keeps the events and the audit log of workspaces from growing for ever. */
export class WorkspaceLogRetention {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #days: LogAges

  constructor(sql: Sql, clock: Clock, days: LogAges) {
    this.#sql = sql
    this.#clock = clock
    this.#days = days
  }

  /** Removes what is too old, workspace by workspace, until there is no more of it or the signal ends it. */
  async prune(signal: AbortSignal): Promise<void> {
    const now = this.#clock.now()
    const events = new Date(now - this.#days.events * DAY)
    const audit = new Date(now - this.#days.audit * DAY)
    for (let last: string | null = null; !signal.aborted;) {
      const rows: { id: string }[] = await this.#sql.rows<{ id: string }>(SOME_WORKSPACES, [last])
      const ids = rows.map(({ id }) => id)
      await this.#repeat(FORGET_EVENTS, ids, events, signal)
      await this.#repeat(FORGET_AUDIT, ids, audit, signal)
      last = ids.at(-1) ?? null
      if (ids.length < WORKSPACES) break
    }
  }

  async #repeat(statement: string, ids: readonly string[], before: Date, signal: AbortSignal): Promise<void> {
    for (let some = 1; some > 0 && !signal.aborted;) some = await this.#sql.run(statement, [ids, before])
  }
}
