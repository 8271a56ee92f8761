import { DAY } from '../../../core/clock.ts'
import type { Turn } from '../../../core/turn.ts'
import { findPlatform } from '../../../platforms/registry.ts'
import { notify } from '../../talk/notifications/index.ts'
import { findMembership, ownerIds } from '../../workspace/workspaces/index.ts'
import { accountDisconnected, accountExpiring } from './notifications.ts'
import type { SocialAccountRow } from './tables.ts'

/** Days before the end of an access at which its user is notified. */
const REMINDER_DAYS = [7, 1] as const

/** The reminder that is due, in days before the end; undefined if none is, or a later one was sent. */
export function dueReminder(
  { expiresAt, remindedDays }: Pick<SocialAccountRow, 'expiresAt' | 'remindedDays'>,
  now: number,
): number | undefined {
  if (expiresAt === null) return undefined
  const left = Date.parse(expiresAt) - now
  const due = REMINDER_DAYS.findLast((days) => left <= days * DAY)
  return due !== undefined && left > 0 && (remindedDays === null || remindedDays > due) ? due : undefined
}

/** Tells who connected an account that the access ends, or that it has ended (`days` is null). */
export async function notifyOfAccess(turn: Turn, row: SocialAccountRow, days: number | null): Promise<void> {
  const platform = findPlatform(row.platform)?.title ?? row.platform
  const to = await recipients(turn, row)
  const data = { accountId: row.id, account: row.handle ?? row.name, platform }
  if (days === null) {
    const reason = row.brokenReason ?? ''
    notify(turn, accountDisconnected, { to, data: { ...data, hasReason: reason === '' ? 'no' : 'yes', reason } })
  } else notify(turn, accountExpiring, { to, data: { ...data, days, until: row.expiresAt ?? '' } })
}

/** The user who connected the account, or an owner of the workspace if that user has left. */
async function recipients(turn: Turn, { connectedBy }: SocialAccountRow): Promise<string[]> {
  const member = await findMembership(turn.sql, turn.workspaceId, connectedBy)
  return member === undefined ? (await ownerIds(turn.sql, turn.workspaceId)).slice(0, 1) : [connectedBy]
}
