import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { Workspace } from '../../workspace/workspaces/index.ts'
import type { IdeaStatus } from './states.ts'

const inWorkspace = (name: string) => references(Workspace, { name, onDelete: 'cascade' })
const uuids = () => p.array().columnType('uuid[]').defaultRaw(`'{}'`)

/** A column of a board. Ideas name it by its id. */
export interface BoardColumn {
  readonly _id: string
  readonly name: string
  /** How many ideas it can have. Null without a limit. */
  readonly limit: number | null
}

/** A board with columns of ideas. */
const IdeaBoard = defineEntity({
  name: 'IdeaBoard',
  tableName: 'idea_boards',
  indexes: [
    { name: 'idea_boards_by_creator', properties: ['createdBy', 'id'] },
    { name: 'idea_boards_by_workspace', properties: ['workspaceId', 'id'] },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: inWorkspace('idea_boards_workspace_id_fkey'),
    name: p.text(),
    description: p.text(),
    columns: p.json<readonly BoardColumn[]>(),
    /** Its place among the boards. Compared by bytes. */
    rank: p.text(),
    /** The number of the newest change of the board or its ideas. */
    seq: p.bigint('number'),
    version: p.integer(),
    createdBy: p.uuid(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const ideaBoards = table(IdeaBoard)
export type BoardRow = Row<typeof IdeaBoard>

const Idea = defineEntity({
  name: 'Idea',
  tableName: 'ideas',
  indexes: [
    { name: 'ideas_by_creator', properties: ['createdBy', 'id'] },
    { name: 'ideas_by_workspace', properties: ['workspaceId', 'id'] },
    { name: 'ideas_by_board', properties: ['boardId', 'columnId'] },
    {
      name: 'ideas_by_original',
      expression: 'create index ideas_by_original on ideas (duplicate_of_id) where duplicate_of_id is not null',
    },
    { name: 'ideas_by_asset', expression: 'create index ideas_by_asset on ideas using gin (asset_ids)' },
    {
      // With the workspace in the index, a search reads entries of its own workspace only (extension btree_gist).
      name: 'ideas_by_similarity',
      expression: 'create index ideas_by_similarity on ideas using gist (workspace_id, match_text gist_trgm_ops)',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: inWorkspace('ideas_workspace_id_fkey'),
    boardId: references(IdeaBoard, { name: 'ideas_board_id_fkey', onDelete: 'cascade' }),
    columnId: p.uuid(),
    /** Its place in the column. Compared by bytes. */
    rank: p.text(),
    /** The number of its newest change in the order of its board. */
    seq: p.bigint('number'),
    title: p.text(),
    description: p.text(),
    /** The title as it is compared with others. */
    matchText: p.text(),
    status: p.text().$type<IdeaStatus>(),
    statusNote: p.text().nullable(),
    decidedBy: p.uuid().nullable(),
    decidedAt: timestamp().nullable(),
    /** The idea that it was merged into. */
    duplicateOfId: p.uuid().nullable(),
    assetIds: uuids(),
    /** The draft that was made of it. */
    postId: p.uuid().nullable(),
    /** Votes for it less votes against it. */
    score: p.integer().default(0),
    upVotesCount: p.integer().default(0),
    downVotesCount: p.integer().default(0),
    commentsCount: p.integer().default(0),
    version: p.integer(),
    createdBy: p.uuid(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const ideas = table(Idea)
export type IdeaRow = Row<typeof Idea>

/** The vote of a member. The primary key makes it one for each member. */
const IdeaVote = defineEntity({
  name: 'IdeaVote',
  tableName: 'idea_votes',
  indexes: [
    { name: 'idea_votes_by_person', properties: ['userId', 'ideaId'] },
    { name: 'idea_votes_by_workspace', properties: ['workspaceId'] },
  ],
  checks: [{ name: 'idea_votes_value', expression: 'abs(value) = 1' }],
  properties: {
    ideaId: references(Idea, { name: 'idea_votes_idea_id_fkey', onDelete: 'cascade' }).primary(),
    userId: p.uuid().primary(),
    workspaceId: inWorkspace('idea_votes_workspace_id_fkey'),
    value: p.smallint(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const ideaVotes = table(IdeaVote)

/** What a member says about an idea. */
const IdeaComment = defineEntity({
  name: 'IdeaComment',
  tableName: 'idea_comments',
  indexes: [
    { name: 'idea_comments_by_author', properties: ['authorId', 'id'] },
    { name: 'idea_comments_by_idea', properties: ['ideaId', 'id'] },
    { name: 'idea_comments_by_workspace', properties: ['workspaceId'] },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: inWorkspace('idea_comments_workspace_id_fkey'),
    ideaId: references(Idea, { name: 'idea_comments_idea_id_fkey', onDelete: 'cascade' }),
    authorId: p.uuid(),
    body: p.text(),
    /** The users that it mentions. */
    mentions: uuids(),
    /** The assets that are attached to it. */
    assetIds: uuids(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const ideaComments = table(IdeaComment)
export type IdeaCommentRow = Row<typeof IdeaComment>

export const ideaEntities = [IdeaBoard, Idea, IdeaVote, IdeaComment]
