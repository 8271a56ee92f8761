import { Forbidden, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { operation, owner } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { created, done, list } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { IdeaCommentPath, IdeaCommentQuery, IdeaCommentView, IdeaPath, NewIdeaComment } from './schemas.ts'

const { ideaCommentId, ideaId: id } = EXAMPLE

export const listIdeaComments = operation({
  route: 'GET /api/ideas/{id}/comments',
  summary: 'List the comments on an idea',
  description: 'Newest first.',
  access: 'ideas:read',
  workspace: owner('ideas'),
  path: IdeaPath,
  query: IdeaCommentQuery,
  returns: { 200: ListOf(IdeaCommentView) },
  errors: [NotFound],
  example: { path: { id } },
  handle: async ({ ideas, path, query }) => list('Comments', await ideas.comments.list(path.id, pageRequest(query))),
})

export const addIdeaComment = operation({
  route: 'POST /api/ideas/{id}/comments',
  summary: 'Comment on an idea',
  description: 'Mentioned members get an email, unless their notification settings turn it off.',
  access: 'ideas:read',
  workspace: owner('ideas'),
  turn: true,
  path: IdeaPath,
  body: NewIdeaComment,
  returns: { 201: Envelope(IdeaCommentView) },
  errors: [NotFound, ValidationFailed],
  example: { path: { id }, body: { body: 'The workshop is free on Tuesday.' } },
  handle: async ({ body, caller, ideas, path, turn }) =>
    created('Comment added', await ideas.comments.add(turn, path.id, body, caller.userId)),
})

export const deleteIdeaComment = operation({
  route: 'DELETE /api/ideas/{id}/comments/{commentId}',
  summary: 'Delete a comment on an idea',
  description: 'Deletes your own comment. With the scope team:manage, deletes any comment.',
  access: 'ideas:read',
  workspace: owner('ideas'),
  turn: true,
  path: IdeaCommentPath,
  returns: { 200: Done },
  errors: [NotFound, Forbidden],
  example: { path: { id, commentId: ideaCommentId } },
  handle: async ({ ideas, member, path, turn }) => {
    await ideas.comments.delete(turn, path, member)
    return done('Comment deleted')
  },
})
