import type { Turn } from '../../../core/turn.ts'
import { plainName } from '../../../mail/user-text.ts'
import { notify } from '../../talk/notifications/index.ts'
import { postName, type PostApprovalData } from '../posts/index.ts'
import { candidatesOf } from './approvers.ts'
import { approvalDecided, approvalReminded, approvalRequested } from './notifications.ts'

/** A post in a notification. */
interface Named {
  readonly post: { readonly id: string; readonly body: { readonly content: string; readonly title: string | null } }
}

interface Decided extends Named {
  readonly post: Named['post'] & { readonly approval: PostApprovalData; readonly createdBy: string }
}

/** How many posts a notification names. */
const MAX_NAMED = 5

/** Tells approvers that posts wait for them. @param posts by user id */
export function notifyApprovers(
  turn: Turn,
  posts: ReadonlyMap<string, readonly Named[]>,
  kind: 'opened' | 'reminder',
): void {
  const type = kind === 'reminder' ? approvalReminded : approvalRequested
  for (const [userId, waiting] of posts) {
    const [first] = waiting
    if (first === undefined) continue
    const named = waiting.slice(0, MAX_NAMED).map(({ post }) => `“${plainName(postName(post.body))}”`)
    const names = waiting.length > MAX_NAMED ? [...named, '…'] : named
    const data = { postId: first.post.id, posts: waiting.length, names: names.join(', ') }
    notify(turn, type, { to: [userId], data })
  }
}

const TOLD: readonly PostApprovalData['status'][] = ['approved', 'ready', 'changes_requested', 'rejected']

/**
 * Notifies the creator and the submitter of a post of the result of its review, except the user who ended the review
 * and users who have left.
 */
export async function notifyAuthors(
  turn: Turn,
  decided: Decided,
  outcome: PostApprovalData['status'] | 'flow_deleted' = decided.post.approval.status,
): Promise<void> {
  const { approval, body, createdBy, id } = decided.post
  if (!TOLD.includes(approval.status)) return
  const last = approval.decisions.findLast(({ isCurrent }) => isCurrent)
  const members = new Set((await candidatesOf(turn)).map(({ userId }) => userId))
  const comment = last?.comment ?? ''
  notify(turn, approvalDecided, {
    to: [createdBy, approval.submittedBy].filter((userId) => members.has(userId)),
    actorId: last?.userId,
    data: {
      postId: id,
      post: postName(body),
      outcome,
      reason: approval.message ?? '',
      hasComment: comment === '' ? 'no' : 'yes',
      comment,
    },
  })
}
