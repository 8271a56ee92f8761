import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Nullable, Sequence, Type } from '../../../core/schema.ts'
import { BoardView, IdeaCommentView, IdeaView, type BoardData, type IdeaData } from './schemas.ts'

const { ideaBoardId, ideaColumnId, ideaCommentId, ideaId, userId, workspaceId } = EXAMPLE

const EXAMPLE_BOARD: BoardData = {
  _id: ideaBoardId,
  createdAt: EXAMPLE_TIME,
  updatedAt: EXAMPLE_TIME,
  workspaceId,
  name: 'Spring campaign',
  description: '',
  columns: [{ _id: ideaColumnId, name: 'Ideas', limit: null }],
  seq: 1,
  ideasCount: 0,
  version: 1,
  createdBy: userId,
}

const EXAMPLE_IDEA: IdeaData = {
  _id: ideaId,
  createdAt: EXAMPLE_TIME,
  updatedAt: EXAMPLE_TIME,
  workspaceId,
  boardId: ideaBoardId,
  column: ideaColumnId,
  rank: 'a0',
  seq: 2,
  title: 'A tour of the workshop',
  description: 'Two minutes, with the people who work there.',
  status: 'open',
  statusNote: null,
  decidedBy: null,
  decidedAt: null,
  duplicateOfId: null,
  assetIds: [],
  postId: null,
  score: 0,
  upVotesCount: 0,
  downVotesCount: 0,
  commentsCount: 0,
  version: 1,
  createdBy: userId,
}

const seq = Sequence({ description: 'The number of this change in the order of the board' })

export const ideaBoardCreated = event({
  name: 'ideaBoard.created',
  summary: 'An idea board was created',
  scope: 'ideas:read',
  data: BoardView,
  example: EXAMPLE_BOARD,
})

export const ideaBoardUpdated = event({
  name: 'ideaBoard.updated',
  summary: 'The name, columns or place of an idea board was changed',
  scope: 'ideas:read',
  data: BoardView,
  example: { ...EXAMPLE_BOARD, seq: 3, version: 2 },
})

export const ideaBoardDeleted = event({
  name: 'ideaBoard.deleted',
  summary: 'An idea board was deleted with its ideas',
  scope: 'ideas:read',
  data: Type.Object({ ideaBoardId: Id }),
  example: { ideaBoardId },
})

export const ideaCreated = event({
  name: 'idea.created',
  summary: 'An idea was added to a board',
  scope: 'ideas:read',
  data: IdeaView,
  example: EXAMPLE_IDEA,
})

export const ideaUpdated = event({
  name: 'idea.updated',
  summary: 'An idea was edited, merged, converted or voted for',
  scope: 'ideas:read',
  data: IdeaView,
  example: { ...EXAMPLE_IDEA, status: 'planned', seq: 4, version: 2 },
})

export const ideaMoved = event({
  name: 'idea.moved',
  summary: 'An idea was moved to another place',
  description:
    'The order of a column follows from `rank` alone. All moves of a board have numbers (`seq`) without gaps among the changes of the board, so everyone who applies them by number ends with the same order.',
  scope: 'ideas:read',
  data: Type.Object({
    ...IdeaView.properties,
    from: Type.Object(
      {
        boardId: Id,
        column: Id,
        seq: Nullable(
          Sequence({
            description:
              'The number of the change in the order of the board that the idea has left. Null if it has stayed on its board',
          }),
        ),
      },
      { description: 'Where the idea was before' },
    ),
  }),
  example: { ...EXAMPLE_IDEA, rank: 'a1', seq: 5, from: { boardId: ideaBoardId, column: ideaColumnId, seq: null } },
})

export const ideaDeleted = event({
  name: 'idea.deleted',
  summary: 'An idea was deleted',
  scope: 'ideas:read',
  data: Type.Object({ ideaId: Id, boardId: Id, seq }),
  example: { ideaId, boardId: ideaBoardId, seq: 6 },
})

export const ideaCommentCreated = event({
  name: 'ideaComment.created',
  summary: 'A member has commented on an idea',
  scope: 'ideas:read',
  data: IdeaCommentView,
  example: {
    _id: ideaCommentId,
    createdAt: EXAMPLE_TIME,
    updatedAt: EXAMPLE_TIME,
    ideaId,
    actor: { _id: userId, name: 'Ada Lovelace', email: 'ada@example.com' },
    body: 'The workshop is free on Tuesday.',
    mentions: [],
    attachments: [],
  },
})

export const ideaCommentDeleted = event({
  name: 'ideaComment.deleted',
  summary: 'A comment on an idea was deleted',
  scope: 'ideas:read',
  data: Type.Object({ ideaCommentId: Id, ideaId: Id }),
  example: { ideaCommentId, ideaId },
})
