import { EXAMPLE } from '../../../../core/example-ids.ts'
import { Forbidden, NotFound, ValidationFailed } from '../../../../core/errors.ts'
import { operation, owner } from '../../../../core/operation.ts'
import { pageRequest } from '../../../../core/page.ts'
import { created, done, list } from '../../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../../core/schema.ts'
import { PostPath } from '../../posts/index.ts'
import { CommentPath, CommentQuery, NewComment, PostCommentView } from './schemas.ts'

const { postCommentId, postId: id } = EXAMPLE

export const listPostComments = operation({
  route: 'GET /api/posts/{id}/comments',
  summary: 'List the comments on a post',
  description: 'What members say about the post, newest first. Platforms do not see it.',
  access: 'posts:read',
  workspace: owner('posts'),
  path: PostPath,
  query: CommentQuery,
  returns: { 200: ListOf(PostCommentView) },
  errors: [NotFound],
  example: { path: { id } },
  handle: async ({ path, query, writing }) =>
    list('Comments', await writing.comments.list(path.id, pageRequest(query))),
})

export const addPostComment = operation({
  route: 'POST /api/posts/{id}/comments',
  summary: 'Comment on a post',
  description: 'Members who are mentioned get a mail, unless their notification settings say otherwise.',
  access: 'posts:read',
  workspace: owner('posts'),
  turn: true,
  path: PostPath,
  body: NewComment,
  returns: { 201: Envelope(PostCommentView) },
  errors: [NotFound, ValidationFailed],
  example: { path: { id }, body: { body: 'Can we use the other picture?' } },
  handle: async ({ body, caller, path, turn, writing }) =>
    created('Comment added', await writing.comments.add(turn, path.id, body, caller.userId)),
})

export const deletePostComment = operation({
  route: 'DELETE /api/posts/{id}/comments/{commentId}',
  summary: 'Delete a comment on a post',
  description: 'Your own, or with the scope team:manage any.',
  access: 'posts:read',
  workspace: owner('posts'),
  turn: true,
  path: CommentPath,
  returns: { 200: Done },
  errors: [NotFound, Forbidden],
  example: { path: { id, commentId: postCommentId } },
  handle: async ({ member, path, turn, writing }) => {
    await writing.comments.delete(turn, path, member)
    return done('Comment deleted')
  },
})
