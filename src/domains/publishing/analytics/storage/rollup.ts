import type { Sql } from '../../../../core/sql.ts'
import { startsOf } from './zone-days.ts'

/** The days of some series from `first` to `last`, again from their samples. */
export interface RollUp {
  readonly seriesIds: readonly number[]
  readonly first: number
  readonly last: number
  readonly zone: string
}

/** Days that are rolled up with one statement. */
const MOST_DAYS = 400

/** Writes the last value of each day, and what the series gained. Days without samples have no row. */
export async function rollUp(sql: Sql, { first, last, seriesIds, zone }: RollUp): Promise<void> {
  for (let from = first; from <= last; from += MOST_DAYS) {
    const to = Math.min(from + MOST_DAYS - 1, last)
    const { end, starts } = startsOf(from, to, zone)
    await sql.run(VALUES, [seriesIds, starts, end, from])
  }
  await sql.run(GAINS, [seriesIds, first, last])
}

// A skipped day begins when the next one begins: `width_bucket` then takes the later day.
const VALUES = `
  insert into analytics_days (series_id, day, value, sample_count, last_at)
  select series_id, $4::integer + width_bucket(at, $2::timestamptz[]) - 1 as day,
    (array_agg(value order by at desc, received_at desc))[1], count(*)::integer, max(at)
  from analytics_samples
  where series_id = any($1::bigint[]) and at >= ($2::timestamptz[])[1] and at < $3::timestamptz
  group by series_id, width_bucket(at, $2::timestamptz[])
  on conflict (series_id, day) do update
  set value = excluded.value, sample_count = excluded.sample_count, last_at = excluded.last_at`

// A late value also changes what the next day with a value gained. Only differences are written, and added to the sums.
const GAINS = `
  with edge as (
    select s.id,
      (select max(d.day) from analytics_days d where d.series_id = s.id and d.day < $2) as before,
      (select min(d.day) from analytics_days d where d.series_id = s.id and d.day > $3) as after
    from unnest($1::bigint[]) as s(id)
  ), computed as (
    select d.series_id, d.day, d.gained as old,
      case when lag(d.value) over series is not null then d.value - lag(d.value) over series
        when e.before is null and a.from_zero then d.value end as new
    from edge e
    join analytics_series a on a.id = e.id
    join analytics_days d on d.series_id = e.id
      and d.day between coalesce(e.before, $2) and coalesce(e.after, $3)
    window series as (partition by d.series_id order by d.day)
  ), changed as (
    update analytics_days d set gained = c.new from computed c
    where d.series_id = c.series_id and d.day = c.day and c.day >= $2 and c.new is distinct from c.old
    returning d.series_id, d.day, c.old, c.new
  )
  insert into analytics_account_days (account_id, figure, day, gained, content_count)
  select a.account_id, a.figure, c.day, sum(coalesce(c.new, 0) - coalesce(c.old, 0)),
    sum((c.new is not null)::integer - (c.old is not null)::integer)
  from changed c join analytics_series a on a.id = c.series_id
  where a.content_id is not null
  group by a.account_id, a.figure, c.day
  on conflict (account_id, figure, day) do update
  set gained = analytics_account_days.gained + excluded.gained,
    content_count = analytics_account_days.content_count + excluded.content_count`
