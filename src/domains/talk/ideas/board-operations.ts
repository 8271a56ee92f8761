import { Conflict, NotFound, PreconditionFailed, ValidationFailed } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { created, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { ColumnNotEmpty, NeighborMoved } from './errors.ts'
import { BoardChange, BoardPath, BoardQuery, BoardView, NewBoard } from './schemas.ts'

const { ideaBoardId: id, workspaceId } = EXAMPLE

export const listIdeaBoards = operation({
  route: 'GET /api/ideas/boards',
  summary: 'List idea boards',
  description: 'Lists the boards in the order that members gave them.',
  access: 'ideas:read',
  workspace: from.query('workspaceId'),
  query: BoardQuery,
  returns: { 200: ListOf(BoardView) },
  errors: [ValidationFailed],
  example: { query: { workspaceId } },
  handle: async ({ ideas, query }) => list('Idea boards', await ideas.boards.list(query.workspaceId, query)),
})

export const createIdeaBoard = operation({
  route: 'POST /api/ideas/boards',
  summary: 'Create an idea board',
  access: 'ideas:write',
  workspace: from.body('workspaceId'),
  turn: true,
  body: NewBoard,
  returns: { 201: Envelope(BoardView) },
  errors: [Conflict],
  example: {
    body: {
      workspaceId,
      name: 'Spring campaign',
      columns: [{ name: 'Ideas' }, { name: 'In progress', limit: 3 }, { name: 'Done' }],
    },
  },
  handle: async ({ body, caller, ideas, turn }) =>
    created('Idea board created', await ideas.boards.create(turn, body, caller.userId)),
})

export const getIdeaBoard = operation({
  route: 'GET /api/ideas/boards/{id}',
  summary: 'Get an idea board',
  description:
    'To show a board live, read the board, then its ideas, and apply the events of ideas whose `seq` is greater than that of the idea you have.',
  access: 'ideas:read',
  workspace: owner('idea_boards'),
  path: BoardPath,
  returns: { 200: Envelope(BoardView) },
  errors: [NotFound],
  etag: 'edits',
  example: { path: { id } },
  handle: async ({ ideas, path }) => ok('Idea board', await ideas.boards.get(path.id)),
})

export const updateIdeaBoard = operation({
  route: 'PATCH /api/ideas/boards/{id}',
  summary: 'Update an idea board',
  description: 'Changes the name, the columns with their limits and order, or the place of the board among the others.',
  access: 'ideas:write',
  workspace: owner('idea_boards'),
  turn: true,
  path: BoardPath,
  body: BoardChange,
  returns: { 200: Envelope(BoardView) },
  errors: [NotFound, PreconditionFailed, ValidationFailed, ColumnNotEmpty, NeighborMoved],
  etag: 'edits',
  example: { path: { id }, body: { name: 'Summer campaign' } },
  handle: async ({ body, ideas, ifMatch, path, turn }) =>
    ok('Idea board changed', await ideas.boards.update(turn, path.id, body, ifMatch)),
})

export const deleteIdeaBoard = operation({
  route: 'DELETE /api/ideas/boards/{id}',
  summary: 'Delete an idea board',
  description: 'Deletes its ideas as well, with their votes and comments. Drafts created from them are kept.',
  access: 'ideas:write',
  workspace: owner('idea_boards'),
  turn: true,
  path: BoardPath,
  returns: { 200: Done },
  errors: [NotFound],
  example: { path: { id } },
  handle: async ({ ideas, path, turn }) => {
    await ideas.boards.delete(turn, path.id)
    return done('Idea board deleted')
  },
})
