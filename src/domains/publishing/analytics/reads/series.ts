import type { Clock } from '../../../../core/clock.ts'
import { NotFound } from '../../../../core/errors.ts'
import type { Sql } from '../../../../core/sql.ts'
import { findReaders } from '../../../identity/users/index.ts'
import { isAccountFigure, type FigureName } from '../figures.ts'
import type { ContentSeriesFilter } from '../content-schemas.ts'
import type { FollowersFilter, GapView, PointData, SeriesFilter } from '../schemas.ts'
import { boundsOf, dayOf, dayText } from '../storage/zone-days.ts'
import { analyticsContent } from '../tables.ts'
import { growth, sumOf } from './numbers.ts'
import {
  bucketsOf,
  MOST_DAYS,
  piecesOf,
  spanOf,
  spanView,
  timesOf,
  type Bucket,
  type Interval,
  type Span,
  type WeekStart,
} from './span.ts'
import { notReported, type WatchedAccount, type WatchedAccounts } from './watched.ts'

/** A day, or a whole week or month by its first day. */
interface Day {
  readonly day: number
  readonly value: number | null
  readonly gained: number | null
}

/** Figures over time. A time without a report is a point without a value, with the reason. */
export class AnalyticsTimeSeries {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #watched: WatchedAccounts

  constructor(sql: Sql, clock: Clock, watched: WatchedAccounts) {
    this.#sql = sql
    this.#clock = clock
    this.#watched = watched
  }

  /** @throws AppError validation_failed, not_found */
  async ofAccounts(
    { accountIds, figure = 'followers', interval = 'day', workspaceId, ...asked }: SeriesFilter,
    userId?: string,
  ) {
    const { accounts, zone } = await this.#watched.load(workspaceId, accountIds)
    const span = spanOf(asked, zone, this.#clock.now())
    const weekStart = await this.#weekStart(interval, asked.calendarStartDay, userId)
    const days = await this.#days(accounts, figure, span, interval, weekStart)
    const parts = partsOf(span, interval, weekStart)
    return {
      timezone: zone,
      figure,
      interval,
      span: spanView(span),
      accounts: accounts.map((watched) => ({
        ...named(watched),
        points: this.#points(watched, figure, days.get(watched.account.id) ?? [], parts, zone),
      })),
    }
  }

  /** @throws AppError validation_failed, not_found */
  async followers({ interval = 'day', ...filter }: FollowersFilter, userId?: string) {
    const { accounts, zone } = await this.#watched.load(filter.workspaceId, filter.accountIds)
    const span = spanOf(filter, zone, this.#clock.now())
    const weekStart = await this.#weekStart(interval, filter.calendarStartDay, userId)
    const days = await this.#days(accounts, 'followers', span, interval, weekStart)
    const { end, start } = timesOf(span)
    const parts = partsOf(span, interval, weekStart)
    const shown = accounts.map((watched) => {
      const own = days.get(watched.account.id) ?? []
      const value = own.at(-1)?.value ?? null
      const change = sumOf(own.map(({ gained }) => gained))
      return {
        ...named(watched),
        value,
        change,
        changeRate: growth(value, change),
        points: this.#points(watched, 'followers', own, parts, zone),
        gap: value === null ? this.#watched.reason(watched, 'followers', start, end) : null,
      }
    })
    const counted = shown.filter((_, index) => notReported(accounts[index]!, 'followers') === undefined)
    return {
      timezone: zone,
      interval,
      span: spanView(span),
      accounts: shown,
      combined: parts.map(({ from, to }, index) => {
        const values = counted.map(({ points }) => points[index]?.value ?? null)
        return { from, to, value: values.includes(null) ? null : sumOf(values) }
      }),
    }
  }

  /** The figures of one post, from its publication on by default. @throws AppError validation_failed, not_found */
  async ofContent(id: string, { figure: wanted, interval = 'day', ...asked }: ContentSeriesFilter, userId?: string) {
    const record = await analyticsContent.first(this.#sql, { id, deletedAt: null })
    if (record === undefined) throw NotFound()
    const { accounts, zone } = await this.#watched.load(record.workspaceId)
    const watched = accounts.find(({ account }) => account.id === record.accountId)
    if (watched === undefined) throw NotFound()
    const figure =
      wanted ??
      (['views', 'likes', 'comments'] as const).find((one) => notReported(watched, one) === undefined) ??
      'views'
    const now = this.#clock.now()
    const published = dayOf(Date.parse(record.publishedAt), zone)
    const to = asked.to ?? dayText(Math.min(dayOf(now, zone), published + MOST_DAYS - 1))
    const span = spanOf({ from: asked.from ?? earlier(dayText(published), to), to }, zone, now)
    const [weekStart, days, halfLife] = await Promise.all([
      this.#weekStart(interval, asked.calendarStartDay, userId),
      this.#sql.rows<Day>(CONTENT_DAYS, [id, figure, span.first, span.last]),
      this.#sql.row<{ at: string }>(HALF, [id, figure]),
    ])
    // Without its first reports, the half would be found too late.
    const isLost = watched.watch?.keptSince != null && record.publishedAt < watched.watch.keptSince
    const hours = halfLife && (Date.parse(halfLife.at) - Date.parse(record.publishedAt)) / 3_600_000
    return {
      contentId: id,
      timezone: zone,
      figure,
      interval,
      span: spanView(span),
      points: this.#points(
        watched,
        figure,
        days,
        partsOf(span, interval, weekStart),
        zone,
        Date.parse(record.publishedAt),
      ),
      halfLifeHours: hours === undefined || isLost ? null : Math.round(Math.max(0, hours) * 10) / 10,
      halfLifeGap: isLost ? NOT_KEPT : hours === undefined ? (notReported(watched, figure) ?? NO_VALUE) : null,
    }
  }

  /**
   * Where weeks begin: as the request says, or the settings of the user. In reports, which have many readers, on Monday.
   * Only weeks need it.
   */
  async #weekStart(interval: Interval, chosen: WeekStart | undefined, userId?: string): Promise<WeekStart> {
    if (chosen !== undefined) return chosen
    if (interval !== 'week' || userId === undefined) return 'monday'
    const [reader] = await findReaders(this.#sql, [userId])
    return reader?.ui.calendarStartDay ?? 'monday'
  }

  /** The days, or whole weeks or months, of a span that have a report, by account. */
  async #days(
    accounts: readonly WatchedAccount[],
    figure: FigureName,
    span: Span,
    interval: Interval,
    weekStart: WeekStart,
  ): Promise<Map<string, Day[]>> {
    if (accounts.length === 0) return new Map()
    const ids = accounts.map(({ account }) => account.id)
    const text = isAccountFigure(figure) ? ACCOUNT_DAYS : POST_DAYS
    const { firsts, lasts, whole } = piecesOf(span, interval, weekStart)
    const values = [ids, figure, firsts, lasts, interval, ...whole]
    const rows = await this.#sql.rows<Day & { account_id: string }>(text, values)
    return Map.groupBy(rows, (row) => row.account_id)
  }

  #points(
    watched: WatchedAccount,
    figure: FigureName,
    days: readonly Day[],
    parts: readonly Part[],
    zone: string,
    publishedAt = 0,
  ): PointData[] {
    let next = 0
    return parts.map((part) => {
      const { from, to } = part
      const first = next
      while (next < days.length && days[next]!.day <= part.last) next += 1
      const own = days.slice(first, next)
      const gained = sumOf(own.map((day) => day.gained))
      if (own.length > 0) return { from, to, value: own.at(-1)?.value ?? null, gained, gap: null }
      const { start } = boundsOf(part.first, zone)
      const { end } = boundsOf(part.last, zone)
      const gap =
        end <= publishedAt
          ? { code: 'not_started' as const, message: 'The post was published later.' }
          : this.#watched.reason(watched, figure, start, end)
      return { from, to, value: null, gained: null, gap }
    })
  }
}

const NOT_KEPT: GapView = { code: 'not_kept', message: 'The first reports of the post are no longer kept.' }
const NO_VALUE: GapView = { code: 'not_collected', message: 'There is no report above 0.' }

function named({ account: { id, name, platform } }: WatchedAccount) {
  return { accountId: id, platform, accountName: name }
}

/** A day, week or month of a span, as replies name it. */
interface Part extends Bucket {
  readonly from: string
  readonly to: string
}

/** The same for all accounts, which have hundreds of days. */
function partsOf(span: Span, interval: Interval, weekStart: WeekStart): Part[] {
  return bucketsOf(span, interval, weekStart).map(({ first, last }) => ({
    first,
    last,
    from: dayText(first),
    to: dayText(last),
  }))
}

function earlier(one: string, two: string): string {
  return one < two ? one : two
}

const WHOLE = `
  select account_id, first as day, value, gained from analytics_account_periods
  where account_id = any($1::uuid[]) and figure = $2 and unit = $5 and first between $6 and $7`

const ACCOUNT_DAYS = `
  select s.account_id, d.day, d.value, d.gained
  from analytics_series s
  cross join unnest($3::integer[], $4::integer[]) as piece(first, last)
  join analytics_days d on d.series_id = s.id and d.day between piece.first and piece.last
  where s.account_id = any($1::uuid[]) and s.figure = $2 and s.content_id is null
  union all ${WHOLE}
  order by account_id, day`

const POST_DAYS = `
  select a.account_id, a.day, null::double precision as value, a.gained
  from unnest($3::integer[], $4::integer[]) as piece(first, last)
  join analytics_account_days a
    on a.account_id = any($1::uuid[]) and a.figure = $2 and a.day between piece.first and piece.last
  where a.content_count > 0
  union all ${WHOLE}
  order by account_id, day`

const CONTENT_DAYS = `
  select d.day, d.value, d.gained
  from analytics_series s join analytics_days d on d.series_id = s.id
  where s.subject_id = $1 and s.figure = $2 and d.day between $3 and $4
  order by d.day`

const HALF = `
  with series as (select id from analytics_series where subject_id = $1 and figure = $2),
  newest as (
    select d.value from analytics_days d join series s on d.series_id = s.id order by d.day desc limit 1
  )
  select m.at from analytics_samples m join series s on m.series_id = s.id, newest n
  where n.value > 0 and m.value >= n.value / 2
  order by m.at limit 1`
