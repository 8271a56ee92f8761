import { event } from '../../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../../core/example-ids.ts'
import { Id, Type } from '../../../../core/schema.ts'
import { PostCommentView } from './schemas.ts'

export const postCommentCreated = event({
  name: 'postComment.created',
  summary: 'A member has commented on a post',
  scope: 'posts:read',
  data: PostCommentView,
  example: {
    _id: EXAMPLE.postCommentId,
    createdAt: EXAMPLE_TIME,
    updatedAt: EXAMPLE_TIME,
    postId: EXAMPLE.postId,
    actor: { _id: EXAMPLE.userId, name: 'Ada Lovelace', email: 'ada@example.com' },
    body: 'Can we use the other picture?',
    mentions: [],
    attachments: [],
  },
})

export const postCommentDeleted = event({
  name: 'postComment.deleted',
  summary: 'A comment on a post was deleted',
  scope: 'posts:read',
  data: Type.Object({ postCommentId: Id, postId: Id }),
  example: { postCommentId: EXAMPLE.postCommentId, postId: EXAMPLE.postId },
})
