import { Cron } from 'croner'
import { DAY } from '../../../core/clock.ts'
import { WEEKDAYS, type Weekday } from '../../../core/local-times.ts'
import { dayKey } from '../calendar/index.ts'

/** When the reports of a schedule are made: once a day, a week or a month at a local time. */
export interface Rhythm {
  readonly interval: 'day' | 'week' | 'month'
  readonly weekday: Weekday
  /** 1 to 28, so that each month has it. */
  readonly monthDay: number
  /** `HH:MM` in the zone. */
  readonly time: string
  readonly zone: string
}

/**
 * The first time after an instant, in milliseconds. A local time that does not exist moves forward. If a local time occurs
 * twice, the first one is used.
 */
export function timeAfter({ interval, monthDay, time, weekday, zone }: Rhythm, after: number): number {
  const [hour, minute] = time.split(':').map(Number)
  const days = {
    day: '* * *',
    week: `* * ${(WEEKDAYS.indexOf(weekday) + 1) % 7}`,
    month: `${monthDay} * *`,
  }[interval]
  const next = new Cron(`${minute} ${hour} ${days}`, { timezone: zone, paused: true }).nextRun(new Date(after))
  if (next === null) throw new Error(`no time after ${after} for ${interval} ${time} ${zone}`)
  return next.getTime()
}

/** The last time up to `now`. @param due the first time that has passed */
export function lastTime(rhythm: Rhythm, due: number, now: number): number {
  for (let last = due; ;) {
    const next = timeAfter(rhythm, last)
    if (next > now) return last
    last = next
  }
}

/** The days, `YYYY-MM-DD`, that a report of this time is about. All of them have ended. */
export function spanBefore({ interval, zone }: Pick<Rhythm, 'interval' | 'zone'>, at: number) {
  const today = Date.parse(`${dayKey(new Date(at), zone)}T00:00:00Z`)
  const text = (day: number) => new Date(day).toISOString().slice(0, 10)
  if (interval !== 'month') return { from: text(today - (interval === 'day' ? 1 : 7) * DAY), to: text(today - DAY) }
  const first = new Date(today)
  const month = (back: number) => Date.UTC(first.getUTCFullYear(), first.getUTCMonth() - back, 1)
  return { from: text(month(1)), to: text(month(0) - DAY) }
}
