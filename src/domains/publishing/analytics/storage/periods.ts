import { sql as raw } from 'kysely'
import type { Sql } from '../../../../core/sql.ts'
import { query } from '../../../../db/query.ts'
import { CONTENT_FIGURES } from '../figures.ts'
import { analyticsAccountPeriods } from '../tables.ts'
import { dayNumber, dayText } from './zone-days.ts'

/** The roll-ups that are coarser than days. */
export const UNITS = ['week', 'month'] as const
export type Unit = (typeof UNITS)[number]

/** The first day of the week (Monday) or month of a day. */
export function firstDayOf(day: number, unit: Unit): number {
  // 1970-01-01 was a Thursday.
  return unit === 'week' ? day - ((day + 3) % 7) : dayNumber(`${dayText(day).slice(0, 7)}-01`)
}

/** The last day of the week or month of a day. */
export function lastDayOf(day: number, unit: Unit): number {
  if (unit === 'week') return firstDayOf(day, unit) + 6
  const [year = 0, month = 1] = dayText(day).split('-').map(Number)
  return dayNumber(new Date(Date.UTC(year, month, 1)).toISOString().slice(0, 10)) - 1
}

/** Days of an account. */
export interface DaysOfAccount {
  readonly accountId: string
  readonly first: number
  readonly last: number
}

/** Writes the weeks and months of some days of an account again, from its days. */
export async function rollUpPeriods(sql: Sql, { accountId, first, last }: DaysOfAccount): Promise<void> {
  const periods = UNITS.flatMap((unit) => {
    const found: { unit: Unit; first: number; last: number }[] = []
    for (let day = firstDayOf(first, unit); day <= last; day = lastDayOf(day, unit) + 1) {
      found.push({ unit, first: day, last: lastDayOf(day, unit) })
    }
    return found
  })
  const units = periods.map(({ unit }) => unit)
  const firsts = periods.map((period) => period.first)
  await forgetPeriods.run(sql, { accountId, units, firsts })
  await sql.run(PERIODS, [accountId, units, firsts, periods.map((period) => period.last), CONTENT_FIGURES])
}

// A deleted record can leave a week without any figure, which an upsert would not find.
const forgetPeriods = query(
  { analyticsAccountPeriods },
  (db, $: { accountId: string; units: readonly Unit[]; firsts: readonly number[] }) =>
    db
      .deleteFrom('analyticsAccountPeriods as a')
      .using(
        raw<{ unit: Unit; first: number }>`unnest(${$.units}::text[], ${$.firsts}::integer[])`.as<'p'>(
          raw`p (unit, first)`,
        ),
      )
      .where('a.accountId', '=', $.accountId)
      .whereRef('a.unit', '=', 'p.unit')
      .whereRef('a.first', '=', 'p.first'),
)

// Written by hand (`npm run bench:analytics`): a roll-up with a lateral union, like the one of days.
const PERIODS = `
  insert into analytics_account_periods (account_id, figure, unit, first, value, gained)
  select $1, f.figure, p.unit, p.first, f.value, f.gained
  from unnest($2::text[], $3::integer[], $4::integer[]) as p(unit, first, last)
  cross join lateral (
    select s.figure, (array_agg(d.value order by d.day desc))[1] as value, sum(d.gained) as gained
    from analytics_series s join analytics_days d on d.series_id = s.id and d.day between p.first and p.last
    where s.subject_id = $1
    group by s.figure
    union all
    select a.figure, null, sum(a.gained)
    from analytics_account_days a
    where a.account_id = $1 and a.figure = any($5::text[]) and a.day between p.first and p.last
      and a.content_count > 0
    group by a.figure
  ) f`
