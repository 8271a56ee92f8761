import { event } from '../../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../../core/example-ids.ts'
import { Id, Type } from '../../../../core/schema.ts'
import { PostCommentView } from './schemas.ts'

const EXAMPLE_COMMENT = {
  _id: EXAMPLE.postCommentId,
  createdAt: EXAMPLE_TIME,
  updatedAt: EXAMPLE_TIME,
  postId: EXAMPLE.postId,
  actor: { _id: EXAMPLE.userId, name: 'Ada Lovelace', email: 'ada@example.com' },
  body: 'Can we use the other picture?',
  replyTo: null,
  visibility: 'internal',
  anchor: null,
  editedAt: null,
  resolvedAt: null,
  resolvedBy: null,
} as const

export const postCommentCreated = event({
  name: 'postComment.created',
  summary: 'A member has commented on a post',
  scope: 'posts:read',
  data: PostCommentView,
  example: { ...EXAMPLE_COMMENT, mentions: [], attachments: [] },
})

export const postCommentUpdated = event({
  name: 'postComment.updated',
  summary: 'A comment on a post was edited, resolved or reopened',
  scope: 'posts:read',
  data: PostCommentView,
  example: { ...EXAMPLE_COMMENT, mentions: [], attachments: [], editedAt: EXAMPLE_TIME },
})

export const postCommentDeleted = event({
  name: 'postComment.deleted',
  summary: 'A comment on a post was deleted',
  scope: 'posts:read',
  data: Type.Object({ postCommentId: Id, postId: Id }),
  example: { postCommentId: EXAMPLE.postCommentId, postId: EXAMPLE.postId },
})
