import { sql as raw } from 'kysely'
import { DAY, type Clock } from '../../../../core/clock.ts'
import type { Jobs } from '../../../../core/job.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Transaction } from '../../../../core/sql.ts'
import type { Database } from '../../../../db/database.ts'
import { query } from '../../../../db/query.ts'
import { PLAN_NAMES, PLANS, type PlanService } from '../../../money/plans/index.ts'
import { notifyIn } from '../../../talk/notifications/index.ts'
import { findNames, payerOf } from '../../../workspace/workspaces/index.ts'
import { retentionShortensNotification } from '../notifications.ts'
import {
  analyticsAccounts,
  analyticsRetention,
  analyticsSamples,
  analyticsSeries,
  type AnalyticsAccountRow,
  type RetentionRow,
} from '../tables.ts'
import type { SamplePartitions } from './partitions.ts'
import { EARLIEST } from './recorder.ts'
import { boundsOf, dayOf } from './zone-days.ts'

/** How long nothing is deleted after a change to a plan with a shorter retention. */
const GRACE_MS = 30 * DAY
/** Workspaces that are looked up at once. */
const WORKSPACES = 100
/** The days of samples that one statement deletes of an account. */
const DAYS_AT_ONCE = 31

type Kept = Pick<RetentionRow, 'days' | 'nextDays' | 'shortensAt'>

interface Needs {
  readonly sql: Database
  readonly clock: Clock
  readonly log: Logger
  readonly jobs: Jobs
  readonly plans: Pick<PlanService, 'limitsOf'>
  readonly partitions: SamplePartitions
}

/**
 * Deletes samples that are older than the plan keeps them. What they were rolled up to stays. A smaller plan deletes
 * nothing for 30 days; the payer is told.
 */
export class SampleRetention {
  readonly #needs: Needs

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** For how long samples of a workspace are kept. */
  async of(workspaceId: string): Promise<Kept> {
    const { plans, sql } = this.#needs
    const row = await analyticsRetention.first(sql, { workspaceId })
    if (row !== undefined) return { days: row.days, nextDays: row.nextDays, shortensAt: row.shortensAt }
    const payerId = await payerOf(sql, workspaceId)
    const days = payerId === undefined ? 0 : (await plans.limitsOf(payerId)).analyticsDays
    return { days, nextDays: null, shortensAt: null }
  }

  /** Deletes what is too old in all workspaces. Stops early when the signal is aborted. */
  async prune(signal: AbortSignal): Promise<void> {
    const { sql } = this.#needs
    for (let last = NONE; !signal.aborted;) {
      const rows = await watchedWorkspaces.rows(sql, { last })
      for (const { id } of rows) if (!signal.aborted) await this.#workspace(id, signal)
      if (rows.length < WORKSPACES) break
      last = rows.at(-1)?.id ?? last
    }
    if (!signal.aborted) await this.#dropPartitions()
  }

  async #workspace(workspaceId: string, signal: AbortSignal): Promise<void> {
    const { clock, plans, sql } = this.#needs
    const payerId = await payerOf(sql, workspaceId)
    // A deleted workspace is purged as a whole.
    if (payerId === undefined) return
    const { analyticsDays } = await plans.limitsOf(payerId)
    const days = await sql.transaction((tx) => this.#agree(tx, workspaceId, payerId, analyticsDays))
    const until = clock.now() - days * DAY
    if (until < EARLIEST) return
    for (const row of await analyticsAccounts.find(sql, { workspaceId })) {
      if (signal.aborted) return
      await this.#account(row, until, signal)
    }
  }

  /** Follows the plan. @returns for how many days samples are kept now */
  async #agree(tx: Transaction, workspaceId: string, payerId: string, limit: number): Promise<number> {
    const { clock, jobs } = this.#needs
    const row = await analyticsRetention.first(tx, { workspaceId }, { lock: 'for update' })
    const { isShorter, ...kept } = keptAfter(row, limit, clock.now())
    await analyticsRetention.upsert(tx, { workspaceId, ...kept }, ['workspaceId'], ['days', 'nextDays', 'shortensAt'])
    if (isShorter) {
      const names = await findNames(tx, [workspaceId])
      await notifyIn(jobs, tx, retentionShortensNotification, {
        to: [payerId],
        data: {
          workspaceId,
          workspace: names.get(workspaceId) ?? '',
          days: kept.days,
          nextDays: limit,
          until: (kept.shortensAt ?? '').slice(0, 10),
        },
      })
    }
    return kept.days
  }

  /** Deletes whole days of an account, in steps, so that a reading does not wait for long. */
  async #account(row: AnalyticsAccountRow, until: number, signal: AbortSignal): Promise<void> {
    const { sql } = this.#needs
    const { accountId, startedAt, zone } = row
    if (startedAt === null) return
    const end = boundsOf(dayOf(until, zone), zone).start
    let from = row.keptSince === null ? undefined : Date.parse(row.keptSince)
    let reached = from ?? Date.parse(startedAt)
    while (reached < end && !signal.aborted) {
      const to = Math.min(reached + DAYS_AT_ONCE * DAY, end)
      const keptSince = new Date(to).toISOString()
      const after = from === undefined ? '-infinity' : new Date(from).toISOString()
      await sql.transaction(async (tx) => {
        // Readings and roll-ups of the account lock it as well.
        await analyticsAccounts.first(tx, { accountId }, { columns: ['accountId'], lock: 'for update' })
        await forgetSamples.run(tx, { accountId, after, before: keptSince })
        await analyticsAccounts.update(tx, { accountId }, { keptSince })
      })
      from = reached = to
    }
  }

  /** Drops the months that no workspace keeps. */
  async #dropPartitions(): Promise<void> {
    const { clock, log, partitions, sql } = this.#needs
    const row = await longestRetention.row(sql, {})
    const days = Math.max(row?.days ?? 0, ...PLAN_NAMES.map((name) => PLANS[name].limits.analyticsDays))
    const before = clock.now() - days * DAY - GRACE_MS
    if (before < EARLIEST) return
    for (const name of await partitions.endedBefore(sql, before)) {
      try {
        await sql.transaction((tx) => partitions.drop(tx, name))
      } catch (error) {
        // A long query holds it. It is dropped on another day.
        log.warn({ error, name }, 'dropping old samples failed')
      }
    }
  }
}

/** What is kept when the plan keeps `limit` days. `isShorter`: the plan has begun to keep less. */
export function keptAfter(kept: Kept | undefined, limit: number, now: number): Kept & { readonly isShorter: boolean } {
  const agreed = { days: limit, nextDays: null, shortensAt: null, isShorter: false }
  if (kept === undefined || limit >= kept.days) return agreed
  const isShorter = kept.nextDays === null || kept.shortensAt === null || limit < kept.nextDays
  if (isShorter) {
    return { days: kept.days, nextDays: limit, shortensAt: new Date(now + GRACE_MS).toISOString(), isShorter }
  }
  if (Date.parse(kept.shortensAt!) <= now) return agreed
  return { days: kept.days, nextDays: limit, shortensAt: kept.shortensAt, isShorter }
}

const NONE = '00000000-0000-0000-0000-000000000000'

/** A page of the workspaces with watched accounts. */
const watchedWorkspaces = query({ analyticsAccounts }, (db, $: { last: string }) =>
  db
    .selectFrom('analyticsAccounts')
    .select('workspaceId as id')
    .distinct()
    .where('workspaceId', '>', $.last)
    .orderBy('id')
    .limit(WORKSPACES),
)

const longestRetention = query({ analyticsRetention }, (db) =>
  db.selectFrom('analyticsRetention').select((e) => e.fn.max<number | null>('days').as('days')),
)

const forgetSamples = query(
  { analyticsSamples, analyticsSeries },
  (db, $: { accountId: string; after: string; before: string }) =>
    db
      .deleteFrom('analyticsSamples')
      .where('seriesId', 'in', (e) => e.selectFrom('analyticsSeries').select('id').where('accountId', '=', $.accountId))
      .where('at', '>=', raw<string>`${$.after}::timestamptz`)
      .where('at', '<', raw<string>`${$.before}::timestamptz`),
)
