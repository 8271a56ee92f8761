import type { Clock } from '../../../../core/clock.ts'
import type { Sql } from '../../../../core/sql.ts'
import { ACCOUNT_FIGURES, CONTENT_FIGURES, FIGURES, isAccountFigure, type FigureName } from '../figures.ts'
import type { PlatformStatsData, StatFigureData, StatsFilter } from '../schemas.ts'
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
    sql.rows<Found>(POST_GAINS, [accountIds, CONTENT_FIGURES, firsts, lasts, ...whole]),
    sql.rows<{ account_id: string; count: number }>(PUBLISHED, [
      workspaceId,
      accountIds,
      new Date(start).toISOString(),
      new Date(end).toISOString(),
    ]),
  ])
  return {
    values: new Map(
      [...levels, ...gains].map(({ account_id: id, change, figure, value }) => [`${id} ${figure}`, { value, change }]),
    ),
    published: new Map(published.map(({ account_id: id, count }) => [id, count])),
  }
}

interface Found {
  readonly account_id: string
  readonly figure: FigureName
  readonly value: number | null
  readonly change: number | null
}

const MONTHS = `
  select account_id, figure, gained from analytics_account_periods
  where account_id = any($1::uuid[]) and figure = any($2::text[]) and unit = 'month' and first between $5 and $6`

const LEVELS = `
  with series as (
    select id, account_id, figure from analytics_series
    where account_id = any($1::uuid[]) and figure = any($2::text[])
  ), parts as (
    select s.account_id, s.figure, d.gained
    from series s
    cross join unnest($3::integer[], $4::integer[]) as piece(first, last)
    join analytics_days d on d.series_id = s.id and d.day between piece.first and piece.last
    union all ${MONTHS}
  )
  select s.account_id, s.figure, l.value, c.change
  from series s
  join lateral (
    select d.value from analytics_days d
    where d.series_id = s.id and d.day between $7 and $8 order by d.day desc limit 1
  ) l on true
  left join (select account_id, figure, sum(gained) as change from parts group by 1, 2) c using (account_id, figure)`

const POST_GAINS = `
  select account_id, figure, sum(gained) as value, null::double precision as change
  from (
    select a.account_id, a.figure, a.gained
    from unnest($3::integer[], $4::integer[]) as piece(first, last)
    join analytics_account_days a
      on a.account_id = any($1::uuid[]) and a.figure = any($2::text[]) and a.day between piece.first and piece.last
    where a.content_count > 0
    union all ${MONTHS}
  ) parts
  group by account_id, figure`

const PUBLISHED = `
  select account_id, count(*)::integer as count
  from analytics_content
  where workspace_id = $1 and account_id = any($2::uuid[]) and deleted_at is null
    and published_at >= $3::timestamptz and published_at < $4::timestamptz
  group by account_id`
