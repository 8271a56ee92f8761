import { Cron } from 'croner'
import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import { completeSettings, type Settings } from './settings.ts'
import { users } from './tables.ts'

/** A user who gets notifications and mails. */
export interface Reader {
  readonly id: string
  readonly email: string
  readonly name: string
  /** IANA time zone. */
  readonly timezone: string
  /** The language tag of the user's interface, or of the profile. */
  readonly language: string
  readonly notifications: Settings['notifications']
  readonly ui: Settings['ui']
}

/** The users with these ids, sorted by id. */
export async function findReaders(sql: Sql, userIds: readonly string[]): Promise<Reader[]> {
  if (userIds.length === 0) return []
  const columns = ['id', 'email', 'name', 'timezone', 'locale', 'settings'] as const
  const rows = await users.find(sql, { id: anyOf(userIds) }, { columns, orderBy: ['id asc'] })
  return rows.map(({ email, id, locale, name, settings, timezone }) => {
    const { notifications, ui } = completeSettings(settings)
    return { id, email, name, timezone, language: ui.language ?? locale, notifications, ui }
  })
}

/** When a mail about an event of now is sent, by the reader's digest and quiet hours. Milliseconds since the epoch. */
export function mailTime({ notifications: { digest, quietHours }, timezone }: Reader, now: number): number {
  const at =
    digest === 'daily'
      ? nextTime('08:00', timezone, now)
      : digest === 'hourly'
        ? nextRun('0 * * * *', timezone, now)
        : now
  return quietUntil(quietHours, timezone, at)
}

/** When quiet hours end, or `now` outside of them. Hours that end before they start go on past midnight. */
export function quietUntil(
  { enabled, end, start, timezone }: Settings['notifications']['quietHours'],
  userZone: string,
  now: number,
): number {
  if (!enabled) return now
  const zone = timezone ?? userZone
  const format = { timeZone: zone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  const minute = new Intl.DateTimeFormat('en-GB', format).format(now)
  const isQuiet = start <= end ? minute >= start && minute < end : minute >= start || minute < end
  return isQuiet ? nextTime(end, zone, now) : now
}

function nextTime(time: string, zone: string, now: number): number {
  const [hours, minutes] = time.split(':').map(Number)
  return nextRun(`${minutes} ${hours} * * *`, zone, now)
}

function nextRun(pattern: string, zone: string, now: number): number {
  return new Cron(pattern, { timezone: zone, paused: true }).nextRun(new Date(now))?.getTime() ?? now
}
