import { EXAMPLE } from '../../../../core/example-ids.ts'
import { Conflict, Forbidden, NotFound, ValidationFailed } from '../../../../core/errors.ts'
import { operation, owner } from '../../../../core/operation.ts'
import { pageRequest } from '../../../../core/page.ts'
import { created, done, list, ok } from '../../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../../core/schema.ts'
import { PostPath } from '../../posts/index.ts'
import { CommentEdit, CommentPath, CommentQuery, NewComment, PostCommentView } from './schemas.ts'

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
  description:
    'Members who are mentioned get a mail, unless their notification settings say otherwise. `replyTo` answers a comment, `anchor` names a part of a picture or of the text, and `visibility: guests` shows the comment on the pages of guests too. Otherwise guests never see it.',
  access: 'posts:read',
  workspace: owner('posts'),
  turn: true,
  path: PostPath,
  body: NewComment,
  returns: { 201: Envelope(PostCommentView) },
  errors: [Conflict, NotFound, ValidationFailed],
  example: { path: { id }, body: { body: 'Can we use the other picture?' } },
  handle: async ({ body, caller, path, turn, writing }) =>
    created('Comment added', await writing.comments.add(turn, path.id, body, caller.userId)),
})

export const deletePostComment = operation({
  route: 'DELETE /api/posts/{id}/comments/{commentId}',
  summary: 'Delete a comment on a post',
  description: 'Your own, or with the scope team:manage any. Its replies are deleted too.',
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

export const updatePostComment = operation({
  route: 'PATCH /api/posts/{id}/comments/{commentId}',
  summary: 'Edit your comment on a post',
  description:
    'Only its author can. Fields that are left out stay. `editedAt` shows that it was edited. With `visibility` a comment is shown to guests or hidden from them; while the first comment of a thread is internal, guests see none of its replies.',
  access: 'posts:read',
  workspace: owner('posts'),
  turn: true,
  path: CommentPath,
  body: CommentEdit,
  returns: { 200: Envelope(PostCommentView) },
  errors: [NotFound, Forbidden, ValidationFailed],
  example: { path: { id, commentId: postCommentId }, body: { body: 'Can we use the second picture?' } },
  handle: async ({ body, caller, path, turn, writing }) =>
    ok('Comment changed', await writing.comments.edit(turn, path, body, caller.userId)),
})

export const resolvePostComment = operation({
  route: 'POST /api/posts/{id}/comments/{commentId}/resolve',
  summary: 'Resolve a comment on a post',
  description: 'Marks the comment and its replies as done. Everyone who can comment can. Repeating it changes nothing.',
  access: 'posts:read',
  workspace: owner('posts'),
  turn: true,
  path: CommentPath,
  returns: { 200: Envelope(PostCommentView) },
  errors: [NotFound, Conflict],
  example: { path: { id, commentId: postCommentId } },
  handle: async ({ caller, path, turn, writing }) =>
    ok('Comment resolved', await writing.comments.resolve(turn, path, true, caller.userId)),
})

export const reopenPostComment = operation({
  route: 'POST /api/posts/{id}/comments/{commentId}/reopen',
  summary: 'Reopen a comment on a post',
  access: 'posts:read',
  workspace: owner('posts'),
  turn: true,
  path: CommentPath,
  returns: { 200: Envelope(PostCommentView) },
  errors: [NotFound, Conflict],
  example: { path: { id, commentId: postCommentId } },
  handle: async ({ caller, path, turn, writing }) =>
    ok('Comment reopened', await writing.comments.resolve(turn, path, false, caller.userId)),
})
