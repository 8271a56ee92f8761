import type { Turn } from '../../../core/turn.ts'
import { sendMail } from '../../../mail/jobs.ts'
import { renderMail } from '../../../mail/layout.ts'
import { plainText, quotedName } from '../../../mail/user-text.ts'
import { findUser } from '../../identity/users/index.ts'
import { findMembership, findNames, ownerIds } from '../../workspace/workspaces/index.ts'
import type { DisabledReason } from './states.ts'
import type { WebhookRow } from './tables.ts'

const REASONS: Readonly<Record<Exclude<DisabledReason, 'by_member'>, string>> = {
  failing: 'No delivery has succeeded for three days.',
  gone: 'The endpoint replied 410 Gone.',
  reader_left: 'The member whose rights decided which events were sent has left the workspace.',
}

/** Tells the owners of the workspace, and who created the webhook, that it was disabled. */
export async function mailDisabled(turn: Turn, row: WebhookRow, reason: keyof typeof REASONS): Promise<void> {
  const creator = await findMembership(turn.sql, turn.workspaceId, row.createdBy)
  const userIds = new Set([...(await ownerIds(turn.sql, turn.workspaceId)), ...(creator ? [row.createdBy] : [])])
  const names = await findNames(turn.sql, [turn.workspaceId])
  const { host } = new URL(row.url)
  const blocks = [
    'Hello,',
    `The webhook to ${plainText(host)} in the workspace ${quotedName(names.get(turn.workspaceId) ?? '')} was disabled. ${REASONS[reason]}`,
    'It gets no events until it is enabled again. Events that it missed can be replayed.',
  ]
  for (const userId of userIds) {
    const email = (await findUser(turn.sql, userId, { columns: ['email'] }))?.email
    if (email !== undefined) turn.job(sendMail, { ...renderMail(email, 'A webhook was disabled', blocks) })
  }
}
