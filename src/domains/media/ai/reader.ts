import { DAY, type Clock } from '../../../core/clock.ts'
import { NotFound, ValidationFailed } from '../../../core/errors.ts'
import { instant } from '../../../core/instant.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import { anyOf, lessThan, oneOf } from '../../../db/condition.ts'
import type { CreditUse, Ledger } from '../../money/ledger/index.ts'
import { payerOf } from '../../workspace/workspaces/index.ts'
import type { AiSpending } from './connection/spending.ts'
import type { AiSpendingData } from './connection/schemas.ts'
import type { PlanService } from '../../money/plans/index.ts'
import {
  AI_KINDS,
  type AiJobData,
  type AiKind,
  type AiUsage,
  type AiUsageSeries,
  type CaptionData,
  type UsageSeriesFilter,
  type UseKind,
} from './schemas.ts'
import { aiCaptions, aiJobs, aiTranscripts, type AiJobRow, type CaptionRow } from './tables.ts'
import { captionView, jobView } from './views.ts'

/** Days of the series by default, and at most. */
const USUAL_DAYS = 30
const MAX_DAYS = 366

interface Dependencies {
  readonly clock: Clock
  readonly database: Sql
  readonly ledger: Ledger
  readonly plans: PlanService
  readonly spending: AiSpending
}

/** Reads jobs, saved captions, and what credits were used for. */
export class AiReader {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** @param kind only a job of this kind. @throws AppError not_found */
  async job(id: string, kind?: AiKind): Promise<AiJobData> {
    const { database } = this.#dependencies
    const row = await aiJobs.first(database, { id, ...(kind !== undefined && { kind }) })
    if (row === undefined) throw NotFound()
    const captions = await aiCaptions.find(database, { aiJobId: id }, { orderBy: ['id asc'] })
    return jobView(row, captions, await aiTranscripts.first(database, { aiJobId: id }))
  }

  /** A page of jobs, newest first. */
  async jobs(workspaceId: string, { after, limit }: PageRequest): Promise<PageResult<AiJobData>> {
    const { database } = this.#dependencies
    const rows = await aiJobs.find(
      database,
      { workspaceId, ...(after !== undefined && { id: lessThan(after.id) }) },
      { orderBy: ['id desc'], limit: limit + 1 },
    )
    const ids = rows.slice(0, limit).map(({ id }) => id)
    const captions = await aiCaptions.find(database, { aiJobId: anyOf(ids) }, { orderBy: ['id asc'] })
    const key = ({ createdAt, id }: AiJobRow) => ({ createdAt, id })
    return pageOf(rows, limit, key, (row) =>
      jobView(
        row,
        captions.filter(({ aiJobId }) => aiJobId === row.id),
      ),
    )
  }

  /** A page of saved captions, newest first. */
  async captions(
    filter: { readonly workspaceId: string; readonly assetId?: readonly string[] | undefined },
    { after, limit }: PageRequest,
  ): Promise<PageResult<CaptionData>> {
    const { assetId, workspaceId } = filter
    const rows = await aiCaptions.find(
      this.#dependencies.database,
      {
        workspaceId,
        ...(assetId !== undefined && { assetId: oneOf<string | null>(assetId) }),
        ...(after !== undefined && { id: lessThan(after.id) }),
      },
      { orderBy: ['id desc'], limit: limit + 1 },
    )
    const key = ({ createdAt, id }: CaptionRow) => ({ createdAt, id })
    return pageOf(rows, limit, key, captionView)
  }

  /** The credits of a user, and what they were used for in the current month. */
  async usage(userId: string): Promise<Static<typeof AiUsage>> {
    const { clock, database, ledger, plans } = this.#dependencies
    const [credits, { end, start }] = await Promise.all([
      ledger.credits.balanceOf(database, userId),
      plans.creditMonthOf(database, userId),
    ])
    const uses = await ledger.creditUses(userId, new Date(start), new Date(clock.now() + DAY))
    return {
      credits,
      periodStart: new Date(start).toISOString(),
      periodEnd: new Date(end).toISOString(),
      ...totalOf(uses),
    }
  }

  /** What a workspace uses of the credits of its owner this month. @throws AppError not_found */
  async spending(workspaceId: string): Promise<AiSpendingData> {
    const { database, spending } = this.#dependencies
    const payerId = await payerOf(database, workspaceId)
    if (payerId === undefined) throw NotFound()
    return spending.of(database, workspaceId, payerId)
  }

  /** What was used on each day of a range. @throws AppError validation_failed */
  async series(userId: string, { from, to }: UsageSeriesFilter): Promise<Static<typeof AiUsageSeries>> {
    const { clock, ledger } = this.#dependencies
    const last = dayOf(instant(to)?.getTime() ?? clock.now())
    const first = dayOf(instant(from)?.getTime() ?? last - (USUAL_DAYS - 1) * DAY)
    const count = (last - first) / DAY + 1
    if (count < 1 || count > MAX_DAYS) {
      const message = count < 1 ? 'must not be after `to`' : `must be at most ${MAX_DAYS} days before \`to\``
      throw ValidationFailed({ errors: [{ path: '/query/from', code: 'range', message }] })
    }
    const uses = await ledger.creditUses(userId, new Date(first), new Date(last + DAY))
    const byDay = Map.groupBy(uses, ({ date }) => date)
    const dailyUse = Array.from({ length: count }, (_, index) => {
      const date = new Date(first + index * DAY).toISOString().slice(0, 10)
      return { date, ...totalOf(byDay.get(date) ?? []) }
    })
    return { creditsUsed: totalOf(uses).creditsUsed, dailyUse }
  }
}

function dayOf(time: number): number {
  return time - (((time % DAY) + DAY) % DAY)
}

function totalOf(uses: readonly CreditUse[]) {
  const found = new Map<UseKind, number>()
  for (const { amount, work } of uses) {
    const kind = kindOf(work)
    found.set(kind, (found.get(kind) ?? 0) + amount)
  }
  const creditsByKind = [...found].map(([kind, creditsUsed]) => ({ kind, creditsUsed }))
  return { creditsUsed: creditsByKind.reduce((sum, one) => sum + one.creditsUsed, 0), creditsByKind }
}

/** The kind of work that a reservation was for, by its reference: `ai:caption:<id>`. */
function kindOf(reference: string): UseKind {
  const [domain, kind] = reference.split(':')
  return domain === 'ai' && isKind(kind) ? kind : 'other'
}

function isKind(kind: string | undefined): kind is AiKind {
  return (AI_KINDS as readonly (string | undefined)[]).includes(kind)
}
