import type { Sql } from '../../../../core/sql.ts'
import { greaterThan } from '../../../../db/condition.ts'
import type { LoadedPost } from '../../posts/index.ts'
import { approvalGuests, type GuestRow } from '../tables.ts'

type Subject = Pick<GuestRow, 'postId' | 'label' | 'accountId'>

/** Whether a link shows a post. */
export function covers(guest: Subject, post: { id: string; labels: readonly string[]; accountIds: readonly string[] }) {
  const { accountId, label, postId } = guest
  return (
    (postId === null || postId === post.id) &&
    (label === null || post.labels.includes(label)) &&
    (accountId === null || post.accountIds.includes(accountId))
  )
}

/** The guests with a valid link to a post. @param now ISO 8601 */
export async function guestsFor(sql: Sql, { post, targets }: LoadedPost, now: string): Promise<GuestRow[]> {
  const { id, labels, workspaceId } = post
  const guests = await approvalGuests.find(sql, { workspaceId, revokedAt: null, expiresAt: greaterThan(now) })
  const accountIds = targets.map(({ accountId }) => accountId)
  return guests.filter((guest) => covers(guest, { id, labels, accountIds }))
}
