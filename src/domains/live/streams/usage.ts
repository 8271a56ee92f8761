import { sql as raw } from 'kysely'
import { MINUTE, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import { query } from '../../../db/query.ts'
import type { NewRow } from '../../../db/row.ts'
import type { StreamStatus } from './state.ts'
import { streams, streamUsage, type StreamUsage } from './tables.ts'
import type { PlanService } from '../../money/plans/index.ts'
import type { Static } from 'typebox'
import type { StreamingUsageView } from './schemas.ts'

/** Milliseconds that one publisher was live in one month. It is written repeatedly, and the largest value counts. */
export type UsageRow = Omit<NewRow<typeof StreamUsage>, 'updatedAt'>

/** First day of the calendar month (UTC) of a time, as `2026-11-01`. */
export function monthOf(now: number): string {
  return `${new Date(now).toISOString().slice(0, 7)}-01`
}

/** Minutes of a usage, with two decimals, rounded down, so that a limit is reached only when it is fully used. */
export function minutesOf(ms: number): number {
  return Math.floor((ms / MINUTE) * 100) / 100
}

/** What an owner has used in a month over all workspaces. */
export async function usedMs(sql: Sql, ownerId: string, month: string): Promise<number> {
  const row = await sums.row(sql, { ownerIds: [ownerId], month })
  return row?.used ?? 0
}

/** What owners have used in a month. Owners that have used nothing are left out. */
export function usedByOwners(
  sql: Sql,
  ownerIds: readonly string[],
  month: string,
): Promise<{ ownerId: string; used: number }[]> {
  return sums.rows(sql, { ownerIds, month })
}

const sums = query({ streamUsage }, (db, $: { ownerIds: readonly string[]; month: string }) =>
  db
    .selectFrom('streamUsage')
    .select(['ownerId', raw<number>`sum(live_ms)::bigint`.as('used')])
    .where(raw<boolean>`owner_id = any(${$.ownerIds})`)
    .where('month', '=', $.month)
    .groupBy('ownerId'),
)

/** Writes the counts of all streams at once. A row that comes late or twice changes nothing. */
export async function checkpoint(sql: Sql, rows: readonly UsageRow[], now: number): Promise<void> {
  if (rows.length === 0) return
  const updatedAt = new Date(now)
  await writeUsage.run(sql, { rows: JSON.stringify(rows.map((row) => streamUsage.toColumns({ ...row, updatedAt }))) })
}

/** Each row is complete, so the columns of the record are those of the table. */
const writeUsage = query({ streamUsage }, (db, $: { rows: string }) =>
  db
    .insertInto('streamUsage')
    .expression((e) =>
      e.selectFrom(raw<object>`json_populate_recordset(null::stream_usage, ${$.rows}::json)`.as('rows')).selectAll(),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['ingestId', 'month'])
        .doUpdateSet((e) => ({ liveMs: e.ref('excluded.liveMs'), updatedAt: e.ref('excluded.updatedAt') }))
        .whereRef('streamUsage.liveMs', '<', 'excluded.liveMs'),
    ),
)

/** The states in which a stream counts against the plan's concurrent streams. */
const ACTIVE: readonly StreamStatus[] = ['starting', 'live', 'interrupted']

/** How many streams of workspaces are active. */
export function countActive(sql: Sql, workspaceIds: readonly string[]): Promise<number> {
  return streams.count(sql, { workspaceId: anyOf(workspaceIds), status: anyOf(ACTIVE) })
}

interface WorkspaceUsage {
  readonly workspaceId: string
  readonly owned: boolean
  readonly minutesUsed: number
  readonly activeStreams: number
}

/** Reads the workspaces of which a user is a member. */
export type WorkspacesOf = (userId: string) => Promise<readonly { readonly id: string; readonly ownerId: string }[]>

/** What owners have used in a month, by workspace. */
const usedIn = query({ streamUsage }, (db, $: { ownerIds: readonly string[]; month: string }) =>
  db
    .selectFrom('streamUsage')
    .select(['workspaceId', 'ownerId', raw<number>`sum(live_ms)::bigint`.as('used')])
    .where(raw<boolean>`owner_id = any(${$.ownerIds})`)
    .where('month', '=', $.month)
    .groupBy(['workspaceId', 'ownerId']),
)

const activeIn = query({ streams }, (db, $: { workspaceIds: readonly string[] }) =>
  db
    .selectFrom('streams')
    .select(['workspaceId', raw<number>`count(*)`.as('count')])
    .where(raw<boolean>`workspace_id = any(${$.workspaceIds})`)
    .where('status', 'in', ACTIVE)
    .groupBy('workspaceId'),
)

/** The usage of a caller in this month, and the limits of the plan. */
export class StreamingUsage {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #plans: PlanService
  readonly #workspacesOf: WorkspacesOf

  constructor(sql: Sql, clock: Clock, plans: PlanService, workspacesOf: WorkspacesOf) {
    this.#sql = sql
    this.#clock = clock
    this.#plans = plans
    this.#workspacesOf = workspacesOf
  }

  /** The caller's own minutes, and those of all workspaces of which the caller is a member. */
  async of(userId: string): Promise<Static<typeof StreamingUsageView>> {
    const month = monthOf(this.#clock.now())
    const [allowance, used, workspaces] = await Promise.all([
      this.#plans.limitsOf(userId),
      usedMs(this.#sql, userId, month),
      this.#byWorkspace(userId, month),
    ])
    return {
      month: month.slice(0, 7),
      minutesUsed: minutesOf(used),
      minutesLimit: allowance.streamingMinutesPerMonth,
      destinationLimit: allowance.streamDestinations,
      concurrentLimit: allowance.concurrentStreams,
      activeStreams: workspaces.filter((row) => row.owned).reduce((sum, row) => sum + row.activeStreams, 0),
      workspaces,
    }
  }

  async #byWorkspace(userId: string, month: string): Promise<WorkspaceUsage[]> {
    const workspaces = await this.#workspacesOf(userId)
    const workspaceIds = workspaces.map(({ id }) => id)
    const ownerIds = [...new Set(workspaces.map(({ ownerId }) => ownerId))]
    const [usage, active] = await Promise.all([
      usedIn.rows(this.#sql, { ownerIds, month }),
      activeIn.rows(this.#sql, { workspaceIds }),
    ])
    return workspaces
      .map(({ id, ownerId }) => ({
        workspaceId: id,
        owned: ownerId === userId,
        minutesUsed: minutesOf(usage.find((row) => row.workspaceId === id && row.ownerId === ownerId)?.used ?? 0),
        activeStreams: active.find((row) => row.workspaceId === id)?.count ?? 0,
      }))
      .toSorted((a, b) => (a.workspaceId < b.workspaceId ? -1 : 1))
  }
}
