import { EXAMPLE } from '../../../core/example-ids.ts'
import { notificationType } from '../../../core/notification.ts'
import { Type } from '../../../core/schema.ts'

const resource = ({ postId }: { readonly postId: string }) => ({ kind: 'post', id: postId })

const waiting = Type.Object({ postId: Type.String(), posts: Type.Integer(), names: Type.String() })

export const approvalRequested = notificationType({
  name: 'approval.requested',
  kind: 'approvalRequested',
  summary: 'Posts wait for your approval. One for all posts that were submitted together',
  scope: 'posts:read',
  urgent: true,
  data: waiting,
  example: { postId: EXAMPLE.postId, posts: 2, names: '“Launch day”, “The day after”' },
  resource,
})

export const approvalReminded = notificationType({
  name: 'approval.reminded',
  kind: 'approvalRequested',
  summary: 'The deadline of a stage that waits for your approval is over',
  scope: 'posts:read',
  urgent: true,
  data: waiting,
  example: { postId: EXAMPLE.postId, posts: 1, names: '“Launch day”' },
  resource,
})

export const approvalDecided = notificationType({
  name: 'approval.decided',
  kind: 'approvalDecided',
  summary: 'The review of a post has ended. Sent to its author and to the member who submitted it',
  scope: 'posts:read',
  data: Type.Object({
    postId: Type.String(),
    post: Type.String(),
    outcome: Type.String(),
    reason: Type.String(),
    hasComment: Type.String(),
    comment: Type.String(),
  }),
  example: {
    postId: EXAMPLE.postId,
    post: 'Launch day',
    outcome: 'changes_requested',
    reason: 'It needs changes, at the stage “Legal”.',
    hasComment: 'yes',
    comment: 'Name the sponsor',
  },
  resource,
})
