import { sql as raw, type Kysely } from 'kysely'
import type { Clock } from '../../../../core/clock.ts'
import { NotFound } from '../../../../core/errors.ts'
import type { Sql } from '../../../../core/sql.ts'
import { query, type DatabaseOf } from '../../../../db/query.ts'
import { findReaders } from '../../../identity/users/index.ts'
import { isAccountFigure, type FigureName } from '../figures.ts'
import type { ContentSeriesFilter } from '../content-schemas.ts'
import type { FollowersFilter, GapView, PointData, SeriesFilter } from '../schemas.ts'
import { boundsOf, dayOf, dayText } from '../storage/zone-days.ts'
import {
  analyticsAccountDays,
  analyticsAccountPeriods,
  analyticsContent,
  analyticsDays,
  analyticsSamples,
  analyticsSeries,
} from '../tables.ts'
import { growth, sumOf } from './numbers.ts'
import {
  bucketsOf,
  MAX_DAYS,
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
    const to = asked.to ?? dayText(Math.min(dayOf(now, zone), published + MAX_DAYS - 1))
    const span = spanOf({ from: asked.from ?? earlier(dayText(published), to), to }, zone, now)
    const [weekStart, days, halfLife] = await Promise.all([
      this.#weekStart(interval, asked.calendarStartDay, userId),
      contentDays.rows(this.#sql, { id, figure, first: span.first, last: span.last }),
      halfTime.row(this.#sql, { id, figure }),
    ])
    // If the first samples are missing, the half-life is too long.
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
    const { firsts, lasts, whole } = piecesOf(span, interval, weekStart)
    const wanted = {
      accountIds: accounts.map(({ account }) => account.id),
      figure,
      firsts,
      lasts,
      unit: interval,
      firstWhole: whole[0],
      lastWhole: whole[1],
    }
    const rows = await (isAccountFigure(figure) ? accountDays : postDays).rows(this.#sql, wanted)
    return Map.groupBy(rows, (row) => row.accountId)
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

interface Wanted {
  readonly accountIds: readonly string[]
  readonly figure: FigureName
  /** Pieces of days, and whole weeks or months from the first to the last, by their first days. */
  readonly firsts: readonly number[]
  readonly lasts: readonly number[]
  readonly unit: Interval
  readonly firstWhole: number
  readonly lastWhole: number
}

const dayTables = { analyticsAccountDays, analyticsAccountPeriods, analyticsDays, analyticsSeries }
type Db = Kysely<DatabaseOf<typeof dayTables>>

function piecesIn($: Wanted) {
  return raw<{ first: number; last: number }>`unnest(${$.firsts}::integer[], ${$.lasts}::integer[])`.as<'piece'>(
    raw`piece (first, last)`,
  )
}

function wholePeriods(db: Db, $: Wanted) {
  return db
    .selectFrom('analyticsAccountPeriods')
    .select(['accountId', 'first as day', 'value', 'gained'])
    .where('accountId', '=', raw<string>`any(${$.accountIds}::uuid[])`)
    .where('figure', '=', $.figure)
    .where('unit', '=', raw<'week' | 'month'>`${$.unit}`)
    .where('first', '>=', $.firstWhole)
    .where('first', '<=', $.lastWhole)
}

function inOrder(db: Db, days: ReturnType<typeof wholePeriods>) {
  return db
    .selectFrom(days.as('days'))
    .select(['accountId', 'day', 'value', 'gained'])
    .orderBy('accountId')
    .orderBy('day')
}

const accountDays = query(dayTables, (db, $: Wanted) =>
  inOrder(
    db,
    wholePeriods(db, $).unionAll(
      db
        .selectFrom('analyticsSeries as s')
        .crossJoin(piecesIn($))
        .innerJoin('analyticsDays as d', (join) =>
          join.onRef('d.seriesId', '=', 's.id').onRef('d.day', '>=', 'piece.first').onRef('d.day', '<=', 'piece.last'),
        )
        .select(['s.accountId', 'd.day', 'd.value', 'd.gained'])
        .where('s.accountId', '=', raw<string>`any(${$.accountIds}::uuid[])`)
        .where('s.figure', '=', $.figure)
        .where('s.contentId', 'is', null),
    ),
  ),
)

const postDays = query(dayTables, (db, $: Wanted) =>
  inOrder(
    db,
    wholePeriods(db, $).unionAll(
      db
        .selectFrom(piecesIn($))
        .innerJoin('analyticsAccountDays as a', (join) =>
          join.onRef('a.day', '>=', 'piece.first').onRef('a.day', '<=', 'piece.last'),
        )
        .select(['a.accountId', 'a.day', raw<null>`null::double precision`.as('value'), 'a.gained'])
        .where('a.accountId', '=', raw<string>`any(${$.accountIds}::uuid[])`)
        .where('a.figure', '=', $.figure)
        .where('a.contentCount', '>', 0),
    ),
  ),
)

const contentDays = query(dayTables, (db, $: { id: string; figure: FigureName; first: number; last: number }) =>
  db
    .selectFrom('analyticsSeries as s')
    .innerJoin('analyticsDays as d', 'd.seriesId', 's.id')
    .select(['d.day', 'd.value', 'd.gained'])
    .where('s.subjectId', '=', $.id)
    .where('s.figure', '=', $.figure)
    .where('d.day', '>=', $.first)
    .where('d.day', '<=', $.last)
    .orderBy('d.day'),
)

/** When a figure first reached half of its newest value. */
const halfTime = query(
  { analyticsDays, analyticsSamples, analyticsSeries },
  (db, $: { id: string; figure: FigureName }) =>
    db
      .with('series', (series) =>
        series.selectFrom('analyticsSeries').select('id').where('subjectId', '=', $.id).where('figure', '=', $.figure),
      )
      .with('newest', (newest) =>
        newest
          .selectFrom('analyticsDays as d')
          .innerJoin('series as s', 's.id', 'd.seriesId')
          .select('d.value')
          .orderBy('d.day', 'desc')
          .limit(raw.lit(1)),
      )
      .selectFrom('analyticsSamples as m')
      .innerJoin('series as s', 's.id', 'm.seriesId')
      .crossJoin('newest as n')
      .select('m.at')
      .where('n.value', '>', 0)
      .where('m.value', '>=', raw<number>`n.value / 2`)
      .orderBy('m.at')
      .limit(raw.lit(1)),
)
