import { MINUTE } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import { completeSettings, type NotificationKind, type Settings } from './settings.ts'
import { users } from './tables.ts'

/** A user who wants mails of a kind. */
export interface MailRecipient {
  readonly userId: string
  readonly email: string
  /** When the mail may be sent: now, or when the user's quiet hours end. Milliseconds since the epoch. */
  readonly at: number
}

/** Which of the users want mails of a kind, by their notification settings. */
export async function mailRecipients(
  sql: Sql,
  userIds: readonly string[],
  kind: NotificationKind,
  now: number,
): Promise<MailRecipient[]> {
  if (userIds.length === 0) return []
  const columns = ['id', 'email', 'timezone', 'settings'] as const
  const rows = await users.find(sql, { id: anyOf(userIds) }, { columns })
  return rows.flatMap(({ email, id, settings, timezone }) => {
    const { kinds, quietHours } = completeSettings(settings).notifications
    return kinds[kind].email ? [{ userId: id, email, at: quietUntil(quietHours, timezone, now) }] : []
  })
}

/** When quiet hours end, or `now` outside of them. Hours that end before they start go on past midnight. */
export function quietUntil(
  { enabled, end, start, timezone }: Settings['notifications']['quietHours'],
  userZone: string,
  now: number,
): number {
  if (!enabled) return now
  const format = { timeZone: timezone ?? userZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  const minute = minutesOf(new Intl.DateTimeFormat('en-GB', format).format(now))
  const [from, to] = [minutesOf(start), minutesOf(end)]
  const isQuiet = from <= to ? minute >= from && minute < to : minute >= from || minute < to
  return isQuiet ? now + ((to - minute + 1_440) % 1_440) * MINUTE : now
}

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number)
  return hours * 60 + minutes
}
