import { sql as raw } from 'kysely'
import type { Clock } from '../../../../core/clock.ts'
import type { Sql } from '../../../../core/sql.ts'
import { query } from '../../../../db/query.ts'
import { ACCOUNT_FIGURES, CONTENT_FIGURES, FIGURES, isAccountFigure, type FigureName } from '../figures.ts'
import type { PlatformStatsData, StatFigureData, StatsFilter } from '../schemas.ts'
import { analyticsAccountDays, analyticsAccountPeriods, analyticsContent } from '../tables.ts'
import { engagementsOf, growth, ratio, sumOf } from './numbers.ts'
import { piecesOf, spanBefore, spanOf, spanView, timesOf, type Span } from './span.ts'
import type { WatchedAccount, WatchedAccounts } from './watched.ts'

/** What accounts and their posts did in a span. */
export interface SpanFigures {
  /** By account and figure: the last value and the gain of the account; what its posts gained. */
  readonly values: ReadonlyMap<string, { readonly value: number | null; readonly change: number | null }>
  /** By account. */
  readonly published: ReadonlyMap<string, number>
}

/** Figures of accounts in a span, compared with the span before. */
export class PlatformStatistics {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #watched: WatchedAccounts

  constructor(sql: Sql, clock: Clock, watched: WatchedAccounts) {
    this.#sql = sql
    this.#clock = clock
    this.#watched = watched
  }

  /** @throws AppError validation_failed, not_found */
  async of({ accountIds, compare = false, workspaceId, ...asked }: StatsFilter): Promise<PlatformStatsData> {
    const { accounts, zone } = await this.#watched.load(workspaceId, accountIds)
    const span = spanOf(asked, zone, this.#clock.now())
    const before = compare ? spanBefore(span) : undefined
    const ids = accounts.map(({ account }) => account.id)
    const [now, previous] = await Promise.all([
      figuresIn(this.#sql, workspaceId, ids, span),
      before && figuresIn(this.#sql, workspaceId, ids, before),
    ])
    const shown = accounts.map((account) => this.#account(account, span, now, previous))
    return {
      timezone: zone,
      span: spanView(span),
      previousSpan: before === undefined ? null : spanView(before),
      accounts: shown,
      totals: FIGURES.map((figure) => {
        const all = shown.flatMap(({ figures }) => figures.filter((one) => one.figure === figure))
        return {
          figure,
          value: sumOf(all.map((one) => one.value)),
          previousValue: sumOf(all.map((one) => one.previousValue)),
          accountCount: all.filter((one) => one.value !== null).length,
        }
      }),
    }
  }

  #account(watched: WatchedAccount, span: Span, now: SpanFigures, previous: SpanFigures | undefined) {
    const { account, watch } = watched
    const { end, start } = timesOf(span)
    const of = (figures: SpanFigures | undefined, figure: FigureName) => figures?.values.get(`${account.id} ${figure}`)
    const figures = FIGURES.map((figure): StatFigureData => {
      const { change = null, value = null } = of(now, figure) ?? {}
      const previousValue = of(previous, figure)?.value ?? null
      return {
        figure,
        value,
        change: isAccountFigure(figure) ? change : null,
        changeRate: isAccountFigure(figure) ? growth(value, change) : null,
        previousValue,
        comparison: value === null || previousValue === null ? null : ratio(value - previousValue, previousValue),
        gap: value === null ? this.#watched.reason(watched, figure, start, end) : null,
      }
    })
    const engagements = (of_: SpanFigures | undefined) => engagementsOf((figure) => of(of_, figure)?.value)
    const rates = (figures_: SpanFigures | undefined) => ({
      engagementRateByFollowers: ratio(engagements(figures_), of(figures_, 'followers')?.value),
      engagementRateByReach: ratio(engagements(figures_), of(figures_, 'reach')?.value),
    })
    const [current, earlier] = [rates(now), rates(previous)]
    return {
      accountId: account.id,
      platform: account.platform,
      accountName: account.name,
      collectedAt: watch?.collectedAt ?? null,
      figures,
      engagements: engagements(now),
      rates: (['engagementRateByFollowers', 'engagementRateByReach'] as const).map((rate) => ({
        rate,
        value: current[rate],
        previousValue: earlier[rate],
      })),
      publishedCount: now.published.get(account.id) ?? 0,
    }
  }
}

/** The figures of accounts in a span, from rolled-up months, and from days where the span cuts a month. */
export async function figuresIn(
  sql: Sql,
  workspaceId: string,
  accountIds: readonly string[],
  span: Span,
): Promise<SpanFigures> {
  if (accountIds.length === 0) return { values: new Map(), published: new Map() }
  const { end, start } = timesOf(span)
  const { firsts, lasts, whole } = piecesOf(span, 'month')
  const [levels, gains, published] = await Promise.all([
    sql.rows<Found>(LEVELS, [accountIds, ACCOUNT_FIGURES, firsts, lasts, ...whole, span.first, span.last]),
    postGains.rows(sql, {
      accountIds,
      figures: CONTENT_FIGURES,
      firsts,
      lasts,
      firstMonth: whole[0],
      lastMonth: whole[1],
    }),
    publishedCounts.rows(sql, {
      workspaceId,
      accountIds,
      from: new Date(start).toISOString(),
      to: new Date(end).toISOString(),
    }),
  ])
  const gained = gains.map((row) => ({ ...row, change: null }))
  return {
    values: new Map(
      [...levels, ...gained].map(({ accountId, change, figure, value }) => [
        `${accountId} ${figure}`,
        { value, change },
      ]),
    ),
    published: new Map(published.map(({ accountId, count }) => [accountId, count])),
  }
}

interface Found {
  readonly accountId: string
  readonly figure: FigureName
  readonly value: number | null
  readonly change: number | null
}

// Written by hand (`npm run bench:analytics`): the typed form of its parts and its lateral join is longer and harder to
// read.
const LEVELS = `
  with series as (
    select id, account_id, figure from analytics_series
    where account_id = any($1::uuid[]) and figure = any($2::text[])
  ), parts as (
    select s.account_id, s.figure, d.gained
    from series s
    cross join unnest($3::integer[], $4::integer[]) as piece(first, last)
    join analytics_days d on d.series_id = s.id and d.day between piece.first and piece.last
    union all
    select account_id, figure, gained from analytics_account_periods
    where account_id = any($1::uuid[]) and figure = any($2::text[]) and unit = 'month' and first between $5 and $6
  )
  select s.account_id as "accountId", s.figure, l.value, c.change
  from series s
  join lateral (
    select d.value from analytics_days d
    where d.series_id = s.id and d.day between $7 and $8 order by d.day desc limit 1
  ) l on true
  left join (select account_id, figure, sum(gained) as change from parts group by 1, 2) c using (account_id, figure)`

interface Gains {
  readonly accountIds: readonly string[]
  readonly figures: readonly FigureName[]
  /** Pieces of days, and whole months from the first to the last, by their first days. */
  readonly firsts: readonly number[]
  readonly lasts: readonly number[]
  readonly firstMonth: number
  readonly lastMonth: number
}

/** What the posts of accounts gained. */
const postGains = query({ analyticsAccountDays, analyticsAccountPeriods }, (db, $: Gains) => {
  const days = db
    .selectFrom(
      raw<{ first: number; last: number }>`unnest(${$.firsts}::integer[], ${$.lasts}::integer[])`.as<'piece'>(
        raw`piece (first, last)`,
      ),
    )
    .innerJoin('analyticsAccountDays as a', (join) =>
      join.onRef('a.day', '>=', 'piece.first').onRef('a.day', '<=', 'piece.last'),
    )
    .select(['a.accountId', 'a.figure', 'a.gained'])
    .where('a.accountId', '=', raw<string>`any(${$.accountIds}::uuid[])`)
    .where('a.figure', '=', raw<FigureName>`any(${$.figures}::text[])`)
    .where('a.contentCount', '>', 0)
  const months = db
    .selectFrom('analyticsAccountPeriods')
    .select(['accountId', 'figure', 'gained'])
    .where('accountId', '=', raw<string>`any(${$.accountIds}::uuid[])`)
    .where('figure', '=', raw<FigureName>`any(${$.figures}::text[])`)
    .where('unit', '=', 'month')
    .where('first', '>=', $.firstMonth)
    .where('first', '<=', $.lastMonth)
  return db
    .selectFrom(months.unionAll(days).as('parts'))
    .select((e) => ['accountId', 'figure', e.fn.sum<number | null>('gained').as('value')])
    .groupBy(['accountId', 'figure'])
})

const publishedCounts = query(
  { analyticsContent },
  (db, $: { workspaceId: string; accountIds: readonly string[]; from: string; to: string }) =>
    db
      .selectFrom('analyticsContent')
      .select((e) => ['accountId', e.fn.countAll<number>().as('count')])
      .where('workspaceId', '=', $.workspaceId)
      .where('accountId', '=', raw<string>`any(${$.accountIds}::uuid[])`)
      .where('deletedAt', 'is', null)
      .where('publishedAt', '>=', $.from)
      .where('publishedAt', '<', $.to)
      .groupBy('accountId'),
)
