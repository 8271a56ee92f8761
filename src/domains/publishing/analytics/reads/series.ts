import type { Clock } from '../../../../core/clock.ts'
import { NotFound } from '../../../../core/errors.ts'
import type { Sql } from '../../../../core/sql.ts'
import { isAccountFigure, type FigureName } from '../figures.ts'
import type { ContentSeriesFilter } from '../content-schemas.ts'
import type { FollowersFilter, PointData, SeriesFilter } from '../schemas.ts'
import { boundsOf, dayOf, dayText } from '../storage/zone-days.ts'
import { analyticsContent } from '../tables.ts'
import { growth, sumOf } from './numbers.ts'
import { bucketsOf, MOST_DAYS, spanOf, spanView, timesOf, type Bucket, type Interval, type Span } from './span.ts'
import { notReported, type WatchedAccount, type WatchedAccounts } from './watched.ts'

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
  async ofAccounts({ accountIds, figure = 'followers', interval = 'day', workspaceId, ...asked }: SeriesFilter) {
    const { accounts, zone } = await this.#watched.load(workspaceId, accountIds)
    const span = spanOf(asked, zone, this.#clock.now())
    const days = await this.#days(accounts, figure, span)
    return {
      timezone: zone,
      figure,
      interval,
      span: spanView(span),
      accounts: accounts.map((watched) => ({
        ...named(watched),
        points: this.#points(watched, figure, days.get(watched.account.id) ?? [], span, interval),
      })),
    }
  }

  /** @throws AppError validation_failed, not_found */
  async followers({ interval = 'day', ...filter }: FollowersFilter) {
    const { accounts, zone } = await this.#watched.load(filter.workspaceId, filter.accountIds)
    const span = spanOf(filter, zone, this.#clock.now())
    const days = await this.#days(accounts, 'followers', span)
    const { end, start } = timesOf(span)
    const shown = accounts.map((watched) => {
      const own = days.get(watched.account.id) ?? []
      const value = own.at(-1)?.value ?? null
      const change = sumOf(own.map(({ gained }) => gained))
      return {
        ...named(watched),
        value,
        change,
        changeRate: growth(value, change),
        points: this.#points(watched, 'followers', own, span, interval),
        gap: value === null ? this.#watched.reason(watched, 'followers', start, end) : null,
      }
    })
    const counted = shown.filter((_, index) => notReported(accounts[index]!, 'followers') === undefined)
    return {
      timezone: zone,
      interval,
      span: spanView(span),
      accounts: shown,
      combined: bucketsOf(span, interval).map((bucket, index) => {
        const values = counted.map(({ points }) => points[index]?.value ?? null)
        return { ...textsOf(bucket), value: values.includes(null) ? null : sumOf(values) }
      }),
    }
  }

  /** The figures of one post, from its publication on by default. @throws AppError validation_failed, not_found */
  async ofContent(id: string, { figure: wanted, interval = 'day', ...asked }: ContentSeriesFilter) {
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
    const [days, halfLife] = await Promise.all([
      this.#sql.rows<Day>(CONTENT_DAYS, [id, figure, span.first, span.last]),
      this.#sql.row<{ at: string }>(HALF, [id, figure]),
    ])
    const hours = halfLife && (Date.parse(halfLife.at) - Date.parse(record.publishedAt)) / 3_600_000
    return {
      contentId: id,
      timezone: zone,
      figure,
      interval,
      span: spanView(span),
      points: this.#points(watched, figure, days, span, interval, Date.parse(record.publishedAt)),
      halfLifeHours: hours === undefined ? null : Math.round(Math.max(0, hours) * 10) / 10,
    }
  }

  /** The days of a span that have a report, by account. */
  async #days(accounts: readonly WatchedAccount[], figure: FigureName, span: Span): Promise<Map<string, Day[]>> {
    if (accounts.length === 0) return new Map()
    const ids = accounts.map(({ account }) => account.id)
    const text = isAccountFigure(figure) ? ACCOUNT_DAYS : POST_DAYS
    const rows = await this.#sql.rows<Day & { account_id: string }>(text, [ids, figure, span.first, span.last])
    return Map.groupBy(rows, (row) => row.account_id)
  }

  #points(
    watched: WatchedAccount,
    figure: FigureName,
    days: readonly Day[],
    span: Span,
    interval: Interval,
    publishedAt = 0,
  ): PointData[] {
    let next = 0
    return bucketsOf(span, interval).map((bucket) => {
      const first = next
      while (next < days.length && days[next]!.day <= bucket.last) next += 1
      const own = days.slice(first, next)
      const gained = sumOf(own.map((day) => day.gained))
      if (own.length > 0) return { ...textsOf(bucket), value: own.at(-1)?.value ?? null, gained, gap: null }
      const { start } = boundsOf(bucket.first, span.zone)
      const { end } = boundsOf(bucket.last, span.zone)
      const gap =
        end <= publishedAt
          ? { code: 'not_started' as const, message: 'The post was published later.' }
          : this.#watched.reason(watched, figure, start, end)
      return { ...textsOf(bucket), value: null, gained: null, gap }
    })
  }
}

function named({ account: { id, name, platform } }: WatchedAccount) {
  return { accountId: id, platform, accountName: name }
}

function textsOf({ first, last }: Bucket) {
  return { from: dayText(first), to: dayText(last) }
}

function earlier(one: string, two: string): string {
  return one < two ? one : two
}

const ACCOUNT_DAYS = `
  select s.account_id, d.day, d.value, d.gained
  from analytics_series s join analytics_days d on d.series_id = s.id
  where s.account_id = any($1::uuid[]) and s.figure = $2 and s.content_id is null and d.day between $3 and $4
  order by s.account_id, d.day`

const POST_DAYS = `
  select account_id, day, null::double precision as value, gained
  from analytics_account_days
  where account_id = any($1::uuid[]) and figure = $2 and day between $3 and $4 and content_count > 0
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
