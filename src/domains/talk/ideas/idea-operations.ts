import { Conflict, NotFound, PlanLimit, PreconditionFailed, ValidationFailed } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { created, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf, Type } from '../../../core/schema.ts'
import { PostView } from '../../publishing/posts/index.ts'
import { ColumnFull, IdeaClosed, IdeaMerged, NeighborMoved } from './errors.ts'
import {
  IdeaChange,
  IdeaMerge,
  IdeaMove,
  IdeaPath,
  IdeaQuery,
  IdeaVoteInput,
  NewIdea,
  OwnIdeaView,
  SimilarIdea,
  SimilarQuery,
} from './schemas.ts'

const { ideaBoardId: boardId, ideaColumnId: column, ideaId: id, workspaceId } = EXAMPLE

export const listIdeas = operation({
  route: 'GET /api/ideas',
  summary: 'List ideas',
  description: 'Merged ideas are returned only with `status=duplicate`.',
  access: 'ideas:read',
  workspace: from.query('workspaceId'),
  query: IdeaQuery,
  returns: { 200: ListOf(OwnIdeaView) },
  errors: [ValidationFailed],
  example: { query: { workspaceId, sort: 'votes' } },
  handle: async ({ caller, ideas, query }) => list('Ideas', await ideas.lists.list(query, caller.userId)),
})

export const findSimilarIdeas = operation({
  route: 'GET /api/ideas/similar',
  summary: 'Find ideas with a similar title',
  description:
    'Returns up to five ideas, most similar first. Show them below the title while a member writes it, to avoid duplicates.',
  access: 'ideas:read',
  workspace: from.query('workspaceId'),
  query: SimilarQuery,
  returns: { 200: Envelope(Type.Array(SimilarIdea)) },
  example: { query: { workspaceId, title: 'A tour of the worksh' } },
  handle: async ({ ideas, query }) => ok('Similar ideas', await ideas.lists.similar(query)),
})

export const createIdea = operation({
  route: 'POST /api/ideas',
  summary: 'Create an idea',
  access: 'ideas:write',
  workspace: from.body('workspaceId'),
  turn: true,
  body: NewIdea,
  returns: { 201: Envelope(OwnIdeaView) },
  errors: [ValidationFailed, Conflict, ColumnFull, NeighborMoved],
  example: {
    body: {
      workspaceId,
      boardId,
      title: 'A tour of the workshop',
      description: 'Two minutes, with the people who work there.',
    },
  },
  handle: async ({ body, caller, ideas, turn }) =>
    created('Idea created', await ideas.service.create(turn, body, caller.userId)),
})

export const getIdea = operation({
  route: 'GET /api/ideas/{id}',
  summary: 'Get an idea',
  access: 'ideas:read',
  workspace: owner('ideas'),
  path: IdeaPath,
  returns: { 200: Envelope(OwnIdeaView) },
  errors: [NotFound],
  etag: 'edits',
  example: { path: { id } },
  handle: async ({ caller, ideas, path }) => ok('Idea', await ideas.service.get(path.id, caller.userId)),
})

export const updateIdea = operation({
  route: 'PATCH /api/ideas/{id}',
  summary: 'Update an idea',
  description:
    'Changes the text, the files or the status. `statusNote` explains the status, for example why an idea was declined.',
  access: 'ideas:write',
  workspace: owner('ideas'),
  turn: true,
  path: IdeaPath,
  body: IdeaChange,
  returns: { 200: Envelope(OwnIdeaView) },
  errors: [NotFound, PreconditionFailed, ValidationFailed, ColumnFull],
  etag: 'edits',
  example: { path: { id }, body: { status: 'planned', statusNote: 'We film it in March.' } },
  handle: async ({ body, caller, ideas, ifMatch, path, turn }) =>
    ok('Idea changed', await ideas.service.update(turn, path.id, body, { ifMatch, userId: caller.userId })),
})

export const deleteIdea = operation({
  route: 'DELETE /api/ideas/{id}',
  summary: 'Delete an idea',
  description: 'Deletes its votes and comments as well. A draft created from it is kept.',
  access: 'ideas:write',
  workspace: owner('ideas'),
  turn: true,
  path: IdeaPath,
  returns: { 200: Done },
  errors: [NotFound],
  example: { path: { id } },
  handle: async ({ ideas, path, turn }) => {
    await ideas.service.delete(turn, path.id)
    return done('Idea deleted')
  },
})

export const moveIdea = operation({
  route: 'POST /api/ideas/{id}/move',
  summary: 'Move an idea',
  description:
    'Moves the idea to a position in a column, on the same board or on another one. The position is after the idea `after`, before the idea `before`, or at the end if both are missing. If other ideas have moved between the two, the idea is placed directly after `after`. If one of the two has left the column, only the other one counts. Moves on a board run one at a time, so all members see the same order.',
  access: 'ideas:write',
  workspace: owner('ideas'),
  turn: true,
  socket: true,
  path: IdeaPath,
  body: IdeaMove,
  returns: { 200: Envelope(OwnIdeaView) },
  errors: [NotFound, ValidationFailed, Conflict, IdeaMerged, ColumnFull, NeighborMoved],
  example: { path: { id }, body: { boardId, column } },
  handle: async ({ body, caller, ideas, path, turn }) =>
    ok('Idea moved', await ideas.service.move(turn, path.id, body, caller.userId)),
})

export const voteIdea = operation({
  route: 'POST /api/ideas/{id}/vote',
  summary: 'Vote for an idea',
  description: 'Each member has one vote for each idea. A new vote replaces the previous one.',
  access: 'ideas:read',
  workspace: owner('ideas'),
  turn: true,
  audit: false,
  socket: true,
  path: IdeaPath,
  body: IdeaVoteInput,
  returns: { 200: Envelope(OwnIdeaView) },
  errors: [NotFound, IdeaClosed],
  example: { path: { id }, body: { value: 1 } },
  handle: async ({ body, caller, ideas, path, turn }) =>
    ok('Voted', await ideas.votes.vote(turn, path.id, body.value, caller.userId)),
})

export const mergeIdea = operation({
  route: 'POST /api/ideas/{id}/merge',
  summary: 'Merge an idea into another one',
  description:
    'Marks the idea as a duplicate of `intoId` and moves its votes there. A member who voted for both keeps the vote for `intoId`. Comments stay with the duplicate. Returns the idea `intoId`.',
  access: 'ideas:write',
  workspace: owner('ideas'),
  turn: true,
  path: IdeaPath,
  body: IdeaMerge,
  returns: { 200: Envelope(OwnIdeaView) },
  errors: [NotFound, ValidationFailed, IdeaMerged],
  example: { path: { id }, body: { intoId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4f05' } },
  handle: async ({ body, caller, ideas, path, turn }) =>
    ok('Ideas merged', await ideas.votes.merge(turn, path.id, body.intoId, caller.userId)),
})

export const convertIdea = operation({
  route: 'POST /api/ideas/{id}/convert',
  summary: 'Make a draft of an idea',
  description:
    'The draft has the title, description and files of the idea, and no accounts yet. Your publishing settings add the first comment and campaign parameters in links. The idea gets a `postId` and the post an `ideaId`. If the idea already has a draft, the reply is 200 with that post.',
  access: 'posts:write',
  workspace: owner('ideas'),
  turn: true,
  path: IdeaPath,
  returns: { 200: Envelope(PostView), 201: Envelope(PostView) },
  errors: [NotFound, PlanLimit],
  example: { path: { id } },
  handle: async ({ caller, ideas, path, turn }) => {
    const { isNew, post } = await ideas.conversion.convert(turn, path.id, caller.userId)
    return isNew ? created('Draft created', post) : ok('The idea has a draft already', post)
  },
})
