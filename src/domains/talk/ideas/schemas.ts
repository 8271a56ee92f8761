import { pageFields } from '../../../core/page.ts'
import {
  Id,
  Input,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  Sequence,
  Text,
  Timestamp,
  Type,
  type Static,
} from '../../../core/schema.ts'
import { Several } from '../../../core/several.ts'
import { ActorView } from '../../publishing/writing/index.ts'
import { IdeaStatusSchema } from './states.ts'

export const MAX_BOARDS = 200
export const MAX_COLUMNS = 20
export const MAX_IDEAS = 2_000
const MAX_FILES = 20

const ColumnLimit = Type.Union([Type.Integer({ minimum: 1, maximum: MAX_IDEAS }), Type.Null()], {
  description: 'How many ideas the column can have. Null without a limit',
})

export const BoardView = named(
  'IdeaBoard',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    name: Type.String({ description: 'Its name' }),
    description: Type.String({ description: 'What the board is for' }),
    columns: Type.Array(Type.Object({ _id: Id, name: Type.String({ description: 'Its name' }), limit: ColumnLimit }), {
      description: 'The columns in their order',
    }),
    seq: Sequence({ description: 'The number of the newest change of the board and its ideas' }),
    ideasCount: Type.Integer({ description: 'Ideas on the board, without duplicates' }),
    version: Type.Integer({ description: 'Raised with each change of the board itself' }),
    createdBy: Id,
  }),
)
export type BoardData = Static<typeof BoardView>

const boardFields = {
  name: Text(1, 100),
  description: Text(0, 1_000),
}

export const NewBoard = Input({
  workspaceId: Id,
  name: boardFields.name,
  description: Type.Optional(boardFields.description),
  columns: Type.Optional(
    Type.Array(Input({ name: Text(1, 100), limit: Type.Optional(ColumnLimit) }), {
      minItems: 1,
      maxItems: MAX_COLUMNS,
      description: 'The columns in their order. `Ideas`, `In progress` and `Done` by default',
    }),
  ),
})
export type NewBoardData = Static<typeof NewBoard>

export const BoardChange = Input({
  name: Type.Optional(boardFields.name),
  description: Type.Optional(boardFields.description),
  columns: Type.Optional(
    Type.Array(Input({ _id: Type.Optional(Id), name: Text(1, 100), limit: Type.Optional(ColumnLimit) }), {
      minItems: 1,
      maxItems: MAX_COLUMNS,
      description:
        'All columns in their new order. One without `_id` is added, and one that is missing is deleted if it has no ideas. A limit below the number of ideas is allowed: the column takes no more until some have left',
    }),
  ),
  before: Type.Optional(Type.String({ ...Id, description: 'Places the board before this board' })),
  after: Type.Optional(Type.String({ ...Id, description: 'Places the board after this board' })),
})
export type BoardChangeData = Static<typeof BoardChange>

export const IdeaPath = Input({ id: Id })
export const BoardPath = Input({ id: Id })
export const BoardQuery = Input({ workspaceId: Id, ...pageFields })

export const IdeaView = named(
  'Idea',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    boardId: Id,
    column: Type.String({ ...Id, description: 'The id of its column' }),
    rank: Type.String({
      description:
        'Its place in the column. Ideas are in the order of the bytes of this text, so compare it without a locale',
    }),
    seq: Sequence({
      description:
        'The number of its newest change in the order of its board. Of two versions of an idea on one board, the one with the greater number is newer',
    }),
    title: Type.String({ description: 'One line' }),
    description: Type.String({ description: 'The text below the title' }),
    status: IdeaStatusSchema,
    statusNote: Nullable(Type.String({ description: 'Explains the status' })),
    decidedBy: Nullable(Type.String({ ...Id, description: 'Who last changed the status or its note' })),
    decidedAt: Nullable(Timestamp),
    duplicateOfId: Nullable(Type.String({ ...Id, description: 'The idea that it was merged into' })),
    assetIds: Type.Array(Id, { description: 'Assets of the media library' }),
    postId: Nullable(
      Type.String({ ...Id, description: 'The draft that was made of it. Null if that post was deleted' }),
    ),
    score: Type.Integer({ description: 'Votes for it less votes against it' }),
    upVotesCount: Type.Integer({ description: 'Votes for it' }),
    downVotesCount: Type.Integer({ description: 'Votes against it' }),
    commentsCount: Type.Integer({ description: 'Comments on it' }),
    version: Type.Integer({ description: 'Raised with each edit. Moves and votes do not raise it' }),
    createdBy: Id,
  }),
)
export type IdeaData = Static<typeof IdeaView>

const Vote = Type.Unsafe<VoteValue>({
  type: 'integer',
  enum: [1, 0, -1],
  description: '1 for it, -1 against it, 0 takes the vote back',
})

export const OwnIdeaView = named(
  'IdeaForMember',
  Type.Object({
    ...IdeaView.properties,
    attachments: Type.Array(
      Type.Object({
        assetId: Id,
        name: Nullable(Type.String({ description: 'Null if the asset was deleted' })),
        type: Nullable(Type.String({ description: 'Media type' })),
      }),
      { description: 'The files of `assetIds`' },
    ),
    ownVote: Type.Unsafe<VoteValue>({ ...Vote, description: 'Your vote: 1, -1, or 0 for none' }),
  }),
)
export type OwnIdeaData = Static<typeof OwnIdeaView>

const ideaFields = {
  title: Text(1, 200),
  description: Text(0, 10_000),
  assetIds: Type.Array(Id, { maxItems: MAX_FILES, uniqueItems: true, description: 'Assets of the media library' }),
}

const place = {
  before: Type.Optional(Type.String({ ...Id, description: 'Places it directly before this idea of the column' })),
  after: Type.Optional(Type.String({ ...Id, description: 'Places it directly after this idea of the column' })),
}

export const NewIdea = Input({
  workspaceId: Id,
  boardId: Id,
  column: Type.Optional(Type.String({ ...Id, description: 'The id of a column of the board. The first by default' })),
  title: ideaFields.title,
  description: Type.Optional(ideaFields.description),
  assetIds: Type.Optional(ideaFields.assetIds),
  ...place,
})
export type NewIdeaData = Static<typeof NewIdea>

export const IdeaChange = Input({
  title: Type.Optional(ideaFields.title),
  description: Type.Optional(ideaFields.description),
  assetIds: Type.Optional(ideaFields.assetIds),
  status: Type.Optional(IdeaStatusSchema),
  statusNote: Type.Optional(Nullable(Text(1, 5_000, { description: 'Explains the status. Null removes it' }))),
})
export type IdeaChangeData = Static<typeof IdeaChange>

export const IdeaMove = Input(
  {
    boardId: Id,
    column: Type.String({ ...Id, description: 'The id of a column of the board' }),
    ...place,
  },
  { description: 'Without `before` and `after`, the idea is placed at the end of the column' },
)
export type IdeaMoveData = Static<typeof IdeaMove>

export const IdeaVoteInput = Input({ value: Vote })
export type VoteValue = -1 | 0 | 1

export const IdeaMerge = Input({ intoId: Type.String({ ...Id, description: 'The idea that stays' }) })

export const IDEA_SORTS = ['votes', 'new', 'manual'] as const
export const IdeaQuery = Input({
  workspaceId: Id,
  boardId: Several(Id),
  column: Several(Id, { description: 'The id of a column' }),
  status: Several(IdeaStatusSchema),
  createdBy: Several(Id),
  sort: Type.Optional(
    OneOf(IDEA_SORTS, {
      description:
        '`manual`: by column, and in it as members have placed them; needs one `boardId`, and is the default with it. `new`: newest first; the default for no board or several. `votes`: highest score first',
    }),
  ),
  ...pageFields,
})
export type IdeaFilter = Static<typeof IdeaQuery>

export const SimilarQuery = Input({
  workspaceId: Id,
  title: Text(1, 200, { description: 'The title, or the part of it that is already written' }),
  boardId: Several(Id),
  exceptId: Several(Id, { description: 'An idea to leave out, such as the one that is edited' }),
})
export type SimilarFilter = Static<typeof SimilarQuery>

export const SimilarIdea = named(
  'SimilarIdea',
  Type.Object({
    _id: Id,
    boardId: Id,
    title: Type.String(),
    status: IdeaStatusSchema,
    score: Type.Integer(),
    similarity: Type.Number({ description: 'From 0 to 1, by the groups of three letters that both titles have' }),
  }),
)

export const IdeaCommentView = named(
  'IdeaComment',
  Type.Object({
    ...ResourceBase,
    ideaId: Id,
    actor: ActorView,
    body: Type.String({ description: 'The text' }),
    mentions: Type.Array(Id, { description: 'The users that it mentions' }),
    attachments: OwnIdeaView.properties.attachments,
  }),
)
export type IdeaCommentData = Static<typeof IdeaCommentView>

export const NewIdeaComment = Input({
  body: Text(1, 8_000, { description: 'The text' }),
  mentions: Type.Optional(
    Type.Array(Id, {
      maxItems: MAX_FILES,
      uniqueItems: true,
      description: 'Ids of members. They get a mail, unless their notification settings say otherwise',
    }),
  ),
  attachments: Type.Optional(
    Type.Array(Id, { maxItems: MAX_FILES, uniqueItems: true, description: 'Ids of assets of the media library' }),
  ),
})
export type NewIdeaCommentData = Static<typeof NewIdeaComment>

export const IdeaCommentPath = Input({ id: Id, commentId: Id })
export const IdeaCommentQuery = Input(pageFields)
