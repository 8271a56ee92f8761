import { DAY } from '../../../core/clock.ts'
import type { Turn } from '../../../core/turn.ts'
import { sendMail } from '../../../mail/jobs.ts'
import { renderMail } from '../../../mail/layout.ts'
import type { Mail } from '../../../mail/mailer.ts'
import { plainText, quotedName } from '../../../mail/user-text.ts'
import { findPlatform } from '../../../platforms/registry.ts'
import { findUser } from '../../identity/users/index.ts'
import { findMembership, findNames, ownerIds } from '../../workspace/workspaces/index.ts'
import type { SocialAccountRow } from './tables.ts'

/** Days before the end of an access at which its user gets a mail. */
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

/** Sends a mail about the access to an account: that it ends, or that it has ended. */
export async function mailAboutAccess(turn: Turn, row: SocialAccountRow, days: number | null): Promise<void> {
  const to = await addressFor(turn, row)
  if (to === undefined) return
  const names = await findNames(turn.sql, [turn.workspaceId])
  turn.job(sendMail, { ...accessMail(to, row, names.get(turn.workspaceId) ?? '', days) })
}

/** The user who connected the account, or an owner of the workspace if that user has left. */
async function addressFor(turn: Turn, { connectedBy }: SocialAccountRow): Promise<string | undefined> {
  const member = await findMembership(turn.sql, turn.workspaceId, connectedBy)
  const userId = member === undefined ? (await ownerIds(turn.sql, turn.workspaceId))[0] : connectedBy
  if (userId === undefined) return undefined
  return (await findUser(turn.sql, userId, { columns: ['email'] }))?.email
}

function accessMail(to: string, row: SocialAccountRow, workspaceName: string, days: number | null): Mail {
  const title = findPlatform(row.platform)?.title ?? row.platform
  const account = quotedName(row.handle ?? row.name)
  const workspace = quotedName(workspaceName)
  if (days === null) {
    return renderMail(to, `Connect ${account} at ${title} again`, [
      'Hello,',
      `${title} no longer accepts Crier’s access to ${account} in the workspace ${workspace}.`,
      ...(row.brokenReason === null ? [] : [`${title} reports: “${plainText(row.brokenReason)}”`]),
      'Nothing is published to this account until you connect it again. Its posts and history are kept.',
    ])
  }
  return renderMail(to, `Crier’s access to ${account} at ${title} ends in ${days === 1 ? 'a day' : `${days} days`}`, [
    'Hello,',
    `Crier’s access to ${account} at ${title}, in the workspace ${workspace}, ends on ${row.expiresAt?.slice(0, 16).replace('T', ' ')} UTC.`,
    `${title} does not let Crier renew it. Connect the account again before then, so that no scheduled post is held.`,
  ])
}
