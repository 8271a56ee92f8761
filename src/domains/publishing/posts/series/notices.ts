import type { Turn } from '../../../../core/turn.ts'
import { sendMail } from '../../../../mail/jobs.ts'
import { renderMail } from '../../../../mail/layout.ts'
import { plainText, quotedName } from '../../../../mail/user-text.ts'
import { mailRecipients } from '../../../identity/users/index.ts'
import { findNames, ownerIds } from '../../../workspace/workspaces/index.ts'
import type { TargetProblem } from '../tables.ts'
import { REASONS } from './reasons.ts'
import type { SeriesRow } from './tables.ts'

/** Tells the author which occurrences cannot be published as they are. */
export async function mailFailed(
  turn: Turn,
  row: SeriesRow,
  problems: readonly TargetProblem[],
  now: number,
): Promise<void> {
  const messages = [...new Set(problems.map(({ message, nextStep }) => `${message} ${nextStep ?? ''}`.trim()))]
  await mail(turn, [row.authorId], now, 'Posts of a recurring post need you', [
    `New posts of ${nameOf(row)} cannot be published as they are:`,
    ...messages.map((message) => plainText(message)),
  ])
}

/** Tells the owners that a series is paused, because its author has lost access. */
export async function mailPaused(turn: Turn, row: SeriesRow, now: number): Promise<void> {
  const { message, nextStep } = REASONS.noAccess
  const owners = await ownerIds(turn.sql, turn.workspaceId)
  await mail(turn, owners, now, 'A recurring post is paused', [
    `The recurring post ${nameOf(row)} is paused. ${message}`,
    nextStep ?? '',
  ])
}

async function mail(
  turn: Turn,
  userIds: readonly string[],
  now: number,
  subject: string,
  blocks: readonly string[],
): Promise<void> {
  const names = await findNames(turn.sql, [turn.workspaceId])
  const workspace = `The workspace is ${quotedName(names.get(turn.workspaceId) ?? '')}.`
  for (const { at, email } of await mailRecipients(turn.sql, userIds, 'postFailed', now)) {
    turn.job(sendMail, { ...renderMail(email, subject, ['Hello,', ...blocks, workspace]) }, { runAt: new Date(at) })
  }
}

function nameOf({ template: { body } }: SeriesRow): string {
  return quotedName(body.title ?? body.content)
}
