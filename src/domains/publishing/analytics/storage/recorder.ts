import { sql as raw } from 'kysely'
import { DAY, type Clock } from '../../../../core/clock.ts'
import type { Transaction, Sql } from '../../../../core/sql.ts'
import { anyOf, atLeast } from '../../../../db/condition.ts'
import { query } from '../../../../db/query.ts'
import type { FigureName } from '../figures.ts'
import {
  analyticsAccountDays,
  analyticsAccountPeriods,
  analyticsAccounts,
  analyticsDays,
  analyticsSamples,
  analyticsSeries,
  type SampleSource,
} from '../tables.ts'
import type { SamplePartitions } from './partitions.ts'
import { rollUpPeriods } from './periods.ts'
import { rollUp } from './rollup.ts'
import { dayOf } from './zone-days.ts'

/** A figure as a platform reported it. */
export interface NewSample {
  /** Null for a figure of the account. */
  readonly contentId: string | null
  readonly figure: FigureName
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly value: number
  readonly source: SampleSource
  /** See `AnalyticsSeries.fromZero`. */
  readonly fromZero: boolean
}

/** Times before this are errors of platforms. */
export const EARLIEST = Date.UTC(2005, 0, 1)

/** Stores samples, and keeps the days and sums in step with them. */
export class SampleRecorder {
  readonly #clock: Clock
  readonly #partitions: SamplePartitions

  constructor(clock: Clock, partitions: SamplePartitions) {
    this.#clock = clock
    this.#partitions = partitions
  }

  /**
   * Stores samples of one account. The caller has locked the account, so that only one recorder changes its sums.
   * Samples that a platform dates before 2005, or later than tomorrow, are left out, and so are those of a time whose
   * samples are no longer kept: what that time was rolled up to is final.
   */
  async record(
    tx: Transaction,
    { accountId, zone }: { readonly accountId: string; readonly zone: string },
    samples: readonly NewSample[],
  ): Promise<void> {
    const now = this.#clock.now()
    const earliest = (await this.#keptSince(tx, accountId)) ?? EARLIEST
    const usable = samples.filter(({ at, value }) => at >= earliest && at <= now + DAY && Number.isFinite(value))
    if (usable.length === 0) return
    const ids = await this.#seriesOf(tx, accountId, usable)
    const times = usable.map(({ at }) => at)
    await this.#partitions.ensure(tx, times)
    tx.afterCommit(() => this.#partitions.committed(times))
    const receivedAt = new Date(now).toISOString()
    const rows = usable.map((sample) => {
      const { at, source, value } = sample
      return { seriesId: ids.get(keyOf(accountId, sample))!, at: new Date(at).toISOString(), receivedAt, value, source }
    })
    await analyticsSamples.insertAll(tx, rows, { ignoreConflict: true })
    const days = times.map((at) => dayOf(at, zone))
    const seriesIds = [...new Set(ids.values())]
    await rollUp(tx, { accountId, seriesIds, first: Math.min(...days), last: Math.max(...days), zone })
    const contentIds = [...new Set(usable.flatMap(({ contentId }) => contentId ?? []))]
    if (contentIds.length > 0) await tx.run(NEWEST, [contentIds])
  }

  /**
   * Rolls everything of an account up to the days of another zone. Days whose samples are no longer kept stay days of the
   * zone before.
   */
  async moveToZone(tx: Transaction, accountId: string, zone: string): Promise<void> {
    const series = await analyticsSeries.find(tx, { accountId }, { columns: ['id'] })
    const keptSince = await this.#keptSince(tx, accountId)
    const firstDay = keptSince === undefined ? 0 : dayOf(keptSince, zone)
    await analyticsAccountDays.delete(tx, { accountId, day: atLeast(firstDay) })
    await analyticsAccounts.update(tx, { accountId }, { zone })
    if (series.length === 0) return
    const seriesIds = series.map(({ id }) => id)
    await analyticsDays.delete(tx, { seriesId: anyOf(seriesIds), day: atLeast(firstDay) })
    await this.#rollUpAll(tx, accountId, seriesIds, zone)
    await analyticsAccountPeriods.delete(tx, { accountId })
    const days = await storedDays.row(tx, { accountId })
    if (days?.first == null || days.last === null) return
    await rollUpPeriods(tx, { accountId, first: days.first, last: days.last })
  }

  async #rollUpAll(tx: Transaction, accountId: string, seriesIds: readonly number[], zone: string): Promise<void> {
    const span = await storedSpan.row(tx, { seriesIds })
    if (span?.first == null || span.last === null) return
    const first = dayOf(Date.parse(span.first), zone)
    await rollUp(tx, { accountId, seriesIds, first, last: dayOf(Date.parse(span.last), zone), zone })
  }

  async #keptSince(sql: Sql, accountId: string): Promise<number | undefined> {
    const row = await analyticsAccounts.first(sql, { accountId }, { columns: ['keptSince'] })
    return row?.keptSince == null ? undefined : Date.parse(row.keptSince)
  }

  /** The ids of the series of the samples. Missing ones are added. */
  async #seriesOf(sql: Sql, accountId: string, samples: readonly NewSample[]): Promise<Map<string, number>> {
    const wanted = new Map(samples.map((sample) => [keyOf(accountId, sample), sample]))
    const subjects = [...new Set(samples.map(({ contentId }) => contentId ?? accountId))]
    const known = await this.#find(sql, subjects)
    const missing = [...wanted].filter(([key]) => !known.has(key))
    if (missing.length > 0) {
      const added = missing.map(([, { contentId, figure, fromZero }]) => {
        return { accountId, contentId, subjectId: contentId ?? accountId, figure, fromZero }
      })
      await analyticsSeries.insertAll(sql, added, { ignoreConflict: true })
    }
    const all = missing.length === 0 ? known : await this.#find(sql, subjects)
    return new Map([...all].filter(([key]) => wanted.has(key)))
  }

  async #find(sql: Sql, subjects: readonly string[]): Promise<Map<string, number>> {
    const rows = await analyticsSeries.find(
      sql,
      { subjectId: anyOf(subjects) },
      { columns: ['id', 'subjectId', 'figure'] },
    )
    return new Map(rows.map(({ figure, id, subjectId }) => [`${subjectId} ${figure}`, id]))
  }
}

function keyOf(accountId: string, { contentId, figure }: Pick<NewSample, 'contentId' | 'figure'>): string {
  return `${contentId ?? accountId} ${figure}`
}

/** The first and the last day of an account that has figures. */
const storedDays = query({ analyticsAccountDays, analyticsDays, analyticsSeries }, (db, $: { accountId: string }) =>
  db
    .selectFrom(
      db
        .selectFrom('analyticsSeries as s')
        .innerJoin('analyticsDays as d', 'd.seriesId', 's.id')
        .select('d.day')
        .where('s.subjectId', '=', $.accountId)
        .unionAll(db.selectFrom('analyticsAccountDays').select('day').where('accountId', '=', $.accountId))
        .as('days'),
    )
    .select((e) => [e.fn.min<number | null>('day').as('first'), e.fn.max<number | null>('day').as('last')]),
)

/** The times of the first and the last sample of series. */
const storedSpan = query({ analyticsSamples }, (db, $: { seriesIds: readonly number[] }) =>
  db
    .selectFrom('analyticsSamples')
    .select((e) => [e.fn.min<string | null>('at').as('first'), e.fn.max<string | null>('at').as('last')])
    .where('seriesId', '=', raw<number>`any(${$.seriesIds}::bigint[])`),
)

// The newest figures of posts, from the last day of each series. Written by hand, because the typed form of eight figures,
// each with its filter, is longer and harder to read.
const NEWEST = `
  update analytics_content c set
    views = coalesce(n.views, c.views), reach = coalesce(n.reach, c.reach), likes = coalesce(n.likes, c.likes),
    comments = coalesce(n.comments, c.comments), shares = coalesce(n.shares, c.shares),
    saves = coalesce(n.saves, c.saves), clicks = coalesce(n.clicks, c.clicks),
    watch_seconds = coalesce(n.watch_seconds, c.watch_seconds)
  from (
    select s.content_id,
      max(d.value) filter (where s.figure = 'views') as views,
      max(d.value) filter (where s.figure = 'reach') as reach,
      max(d.value) filter (where s.figure = 'likes') as likes,
      max(d.value) filter (where s.figure = 'comments') as comments,
      max(d.value) filter (where s.figure = 'shares') as shares,
      max(d.value) filter (where s.figure = 'saves') as saves,
      max(d.value) filter (where s.figure = 'clicks') as clicks,
      max(d.value) filter (where s.figure = 'watchSeconds') as watch_seconds
    from analytics_series s
    cross join lateral (select value from analytics_days where series_id = s.id order by day desc limit 1) d
    where s.content_id = any($1::uuid[])
    group by s.content_id
  ) n
  where c.id = n.content_id`
