import type { Sql } from '../../../../core/sql.ts'
import { query } from '../../../../db/query.ts'
import { analyticsAccountDays, analyticsDays, analyticsSeries } from '../tables.ts'
import { rollUpPeriods } from './periods.ts'
import { startsOf } from './zone-days.ts'

/** The days of series of one account from `first` to `last`, again from their samples. */
export interface RollUp {
  readonly accountId: string
  readonly seriesIds: readonly number[]
  readonly first: number
  readonly last: number
  readonly zone: string
}

/** Days that are rolled up with one statement. */
const MAX_DAYS = 400

/**
 * Writes the last value of each day and what the series gained, and then the weeks and months of the account. Days
 * without samples get no row.
 */
export async function rollUp(sql: Sql, { accountId, first, last, seriesIds, zone }: RollUp): Promise<void> {
  const changed: number[] = []
  for (let from = first; from <= last; from += MAX_DAYS) {
    const to = Math.min(from + MAX_DAYS - 1, last)
    const { end, starts } = startsOf(from, to, zone)
    const found = await sql.row<{ first: number | null; last: number | null }>(DAYS, [seriesIds, starts, end, from, to])
    if (found?.first != null && found.last !== null) changed.push(found.first, found.last)
  }
  if (changed.length === 0) return
  await rollUpPeriods(sql, { accountId, first: Math.min(...changed), last: Math.max(...changed) })
}

// Written by hand (`npm run bench:analytics`): one statement with windows rolls up all days and sums.
// A skipped day begins when the next one begins: `width_bucket` then takes the later day. A late value also changes what
// the next day with a value gained. Only rows that differ are written, each once, and the differences are added to the
// sums. Days whose samples are no longer kept stay as they are.
const DAYS = `
  with fresh as (
    select distinct on (series_id, day) series_id, day, value
    from (
      select series_id, $4::integer + width_bucket(at, $2::timestamptz[]) - 1 as day, at, received_at, value
      from analytics_samples
      where series_id = any($1::bigint[]) and at >= ($2::timestamptz[])[1] and at < $3::timestamptz
    ) s
    order by series_id, day, at desc, received_at desc
  ), edge as (
    select s.id, a.account_id, a.figure, a.content_id is not null as is_content, a.from_zero,
      (select max(d.day) from analytics_days d where d.series_id = s.id and d.day < $4) as before,
      (select min(d.day) from analytics_days d where d.series_id = s.id and d.day > $5) as after
    from unnest($1::bigint[]) as s(id) join analytics_series a on a.id = s.id
  ), stored as (
    select d.series_id, d.day, d.value, d.gained
    from edge e join analytics_days d on d.series_id = e.id
      and d.day between coalesce(e.before, $4) and coalesce(e.after, $5)
  ), merged as (
    select series_id, day, coalesce(f.value, s.value) as value, s.value as old_value, s.gained as old_gained
    from fresh f full join stored s using (series_id, day)
  ), computed as (
    select m.*, e.account_id, e.figure, e.is_content,
      m.value - coalesce(
        lag(m.value) over series, case when e.before is null and e.from_zero then 0 end
      ) as gained
    from merged m join edge e on e.id = m.series_id
    window series as (partition by m.series_id order by m.day)
  ), changed as materialized (
    select * from computed
    where day >= $4 and (value is distinct from old_value or gained is distinct from old_gained)
  ), written as (
    insert into analytics_days (series_id, day, value, gained)
    select series_id, day, value, gained from changed
    on conflict (series_id, day) do update set value = excluded.value, gained = excluded.gained
  ), summed as (
    insert into analytics_account_days (account_id, figure, day, gained, content_count)
    select account_id, figure, day, sum(coalesce(gained, 0) - coalesce(old_gained, 0)),
      sum((gained is not null)::integer - (old_gained is not null)::integer)
    from changed
    where is_content and gained is distinct from old_gained
    group by account_id, figure, day
    on conflict (account_id, figure, day) do update
    set gained = analytics_account_days.gained + excluded.gained,
      content_count = analytics_account_days.content_count + excluded.content_count
  )
  select min(day) as first, max(day) as last from changed`

/** Deletes the series of a post of an account, and takes them out of the sums of the account. */
export async function withdraw(sql: Sql, accountId: string, contentId: string): Promise<void> {
  const days = await subtract.row(sql, { contentId })
  await analyticsSeries.delete(sql, { contentId })
  if (days?.first == null || days.last === null) return
  await rollUpPeriods(sql, { accountId, first: days.first, last: days.last })
}

/** Takes a post out of the sums of its account. @returns the first and the last day that changed */
const subtract = query({ analyticsAccountDays, analyticsDays, analyticsSeries }, (db, $: { contentId: string }) =>
  db
    .with('changed', (changed) =>
      changed
        .updateTable('analyticsAccountDays as a')
        .from('analyticsSeries as s')
        .innerJoin('analyticsDays as d', 'd.seriesId', 's.id')
        .set((e) => ({
          gained: e('a.gained', '-', e.ref('d.gained').$notNull()),
          contentCount: e('a.contentCount', '-', 1),
        }))
        .where('s.contentId', '=', $.contentId)
        .where('d.gained', 'is not', null)
        .whereRef('a.accountId', '=', 's.accountId')
        .whereRef('a.figure', '=', 's.figure')
        .whereRef('a.day', '=', 'd.day')
        .returning('a.day'),
    )
    .selectFrom('changed')
    .select((e) => [e.fn.min<number | null>('day').as('first'), e.fn.max<number | null>('day').as('last')]),
)
