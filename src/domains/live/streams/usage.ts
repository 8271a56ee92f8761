import { MINUTE, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import type { PlanService } from '../../money/plans/service.ts'
import type { Static } from 'typebox'
import type { StreamingUsageView } from './schemas.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly streamingUsage: StreamingUsage
  }
}

/** Milliseconds that one publisher was live in one month. Written again and again; the largest value counts. */
export interface UsageRow {
  readonly ingest_id: string
  /** First day of the calendar month, UTC. */
  readonly month: string
  readonly session_id: string
  readonly stream_id: string
  readonly workspace_id: string
  readonly owner_id: string
  readonly live_ms: number
}

/** First day of the calendar month (UTC) of a time, as `2026-11-01`. */
export function monthOf(now: number): string {
  return `${new Date(now).toISOString().slice(0, 7)}-01`
}

/** Begun minutes do not count: a limit is reached when it is used up to the last second. */
export function minutesOf(ms: number): number {
  return Math.floor((ms / MINUTE) * 100) / 100
}

/** What an owner has used in a month over all workspaces. */
export async function usedMs(sql: Sql, ownerId: string, month: string): Promise<number> {
  const row = await sql.row<{ used: number }>(
    'select coalesce(sum(live_ms), 0)::bigint as used from stream_usage where owner_id = $1 and month = $2',
    [ownerId, month],
  )
  return row?.used ?? 0
}

/** Writes the counts of all streams at once. A row that comes late or twice changes nothing. */
export async function checkpoint(sql: Sql, rows: readonly UsageRow[], now: number): Promise<void> {
  if (rows.length === 0) return
  await sql.run(
    `insert into stream_usage (ingest_id, month, session_id, stream_id, workspace_id, owner_id, live_ms, updated_at)
     select ingest_id, month, session_id, stream_id, workspace_id, owner_id, live_ms, $2
     from json_populate_recordset(null::stream_usage, $1::json)
     on conflict (ingest_id, month) do update
       set live_ms = greatest(stream_usage.live_ms, excluded.live_ms), updated_at = excluded.updated_at
       where stream_usage.live_ms < excluded.live_ms`,
    [JSON.stringify(rows), new Date(now)],
  )
}

interface WorkspaceUsage {
  readonly workspace_id: string
  readonly owned: boolean
  readonly used: number
  readonly active: number
}

/** What a caller has streamed this month, and what their plan allows. */
export class StreamingUsage {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #plans: PlanService

  constructor(sql: Sql, clock: Clock, plans: PlanService) {
    this.#sql = sql
    this.#clock = clock
    this.#plans = plans
  }

  /** The caller's own minutes, and those of every workspace they are in. */
  async of(userId: string): Promise<Static<typeof StreamingUsageView>> {
    const month = monthOf(this.#clock.now())
    const [allowance, used, workspaces] = await Promise.all([
      this.#plans.limitsOf(userId),
      usedMs(this.#sql, userId, month),
      this.#workspacesOf(userId, month),
    ])
    return {
      month: month.slice(0, 7),
      minutesUsed: minutesOf(used),
      minutesLimit: allowance.streamingMinutesPerMonth,
      destinationLimit: allowance.streamDestinations,
      concurrentLimit: allowance.concurrentStreams,
      activeStreams: workspaces.filter((row) => row.owned).reduce((sum, row) => sum + row.active, 0),
      workspaces: workspaces.map((row) => ({
        workspaceId: row.workspace_id,
        owned: row.owned,
        minutesUsed: minutesOf(row.used),
        activeStreams: row.active,
      })),
    }
  }

  #workspacesOf(userId: string, month: string): Promise<WorkspaceUsage[]> {
    return this.#sql.rows<WorkspaceUsage>(
      `select w.id as workspace_id, w.owner_id = $1 as owned,
         (select coalesce(sum(u.live_ms), 0)::bigint from stream_usage u
            where u.owner_id = w.owner_id and u.month = $2 and u.workspace_id = w.id) as used,
         (select count(*) from streams s
            where s.workspace_id = w.id and s.status in ('starting', 'live', 'interrupted')) as active
       from workspace_members m join workspaces w on w.id = m.workspace_id
       where m.user_id = $1 and w.deleted_at is null order by w.id`,
      [userId, month],
    )
  }
}
