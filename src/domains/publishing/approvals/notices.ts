import type { Turn } from '../../../core/turn.ts'
import { sendMail } from '../../../mail/jobs.ts'
import { renderMail } from '../../../mail/layout.ts'
import { plainText, quotedName } from '../../../mail/user-text.ts'
import { mailRecipients } from '../../identity/users/index.ts'
import { findNames } from '../../workspace/workspaces/index.ts'
import type { PostApprovalData } from '../posts/index.ts'
import { candidatesOf } from './approvers.ts'

/** A post in a mail. */
interface Named {
  readonly post: { readonly body: { readonly content: string; readonly title: string | null } }
}

interface Decided extends Named {
  readonly post: Named['post'] & { readonly approval: PostApprovalData; readonly createdBy: string }
}

/** How many posts a mail names. */
const MOST_NAMED = 10

async function workspaceName(turn: Turn): Promise<string> {
  return quotedName((await findNames(turn.sql, [turn.workspaceId])).get(turn.workspaceId) ?? '')
}

function nameOf({ post: { body } }: Named): string {
  return quotedName(body.title ?? body.content)
}

/** Tells approvers that posts wait for them, as their notification settings want it. @param posts by user id */
export async function mailApprovers(
  turn: Turn,
  posts: ReadonlyMap<string, readonly Named[]>,
  { kind, now }: { kind: 'opened' | 'reminder'; now: number },
): Promise<void> {
  if (posts.size === 0) return
  const workspace = await workspaceName(turn)
  for (const { at, email, userId } of await mailRecipients(turn.sql, [...posts.keys()], 'approvalRequested', now)) {
    const waiting = posts.get(userId) ?? []
    const named = waiting.slice(0, MOST_NAMED).map(nameOf).join(', ')
    const rest = waiting.length > MOST_NAMED ? ` and ${waiting.length - MOST_NAMED} more` : ''
    const what = waiting.length === 1 ? 'A post waits' : `${waiting.length} posts wait`
    const subject = `${kind === 'reminder' ? 'Reminder: ' : ''}${what} for your approval`
    const blocks = ['Hello,', `${what} for your approval in the workspace ${workspace}: ${named}${rest}.`]
    turn.job(sendMail, { ...renderMail(email, subject, blocks) }, { runAt: new Date(at) })
  }
}

const SUBJECTS: Readonly<Partial<Record<PostApprovalData['status'], string>>> = {
  approved: 'Your post was approved',
  ready: 'Your post was approved and waits to be released',
  changes_requested: 'Your post needs changes',
  rejected: 'Your post was rejected',
}

/**
 * Tells the creator of a post, and who submitted it, how its review has ended. Who has ended it and who has left get no
 * mail.
 */
export async function mailAuthors(turn: Turn, decided: Decided, now: number): Promise<void> {
  const { approval, createdBy } = decided.post
  const subject = SUBJECTS[approval.status]
  if (subject === undefined) return
  const last = approval.decisions.findLast(({ isCurrent }) => isCurrent)
  const members = new Set((await candidatesOf(turn)).map(({ userId }) => userId))
  const isTold = (userId: string) => userId !== last?.userId && members.has(userId)
  const authors = [...new Set([createdBy, approval.submittedBy])].filter((userId) => isTold(userId))
  if (authors.length === 0) return
  const blocks = [
    'Hello,',
    `${subject}: ${nameOf(decided)}, in the workspace ${await workspaceName(turn)}.`,
    ...(approval.message === null ? [] : [plainText(approval.message)]),
    ...(last?.comment == null ? [] : [`The comment was: “${plainText(last.comment)}”`]),
  ]
  for (const { at, email } of await mailRecipients(turn.sql, authors, 'approvalDecided', now)) {
    turn.job(sendMail, { ...renderMail(email, subject, blocks) }, { runAt: new Date(at) })
  }
}
