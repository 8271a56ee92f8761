import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../../db/columns.ts'
import type { Row } from '../../../../db/row.ts'
import { table } from '../../../../db/table.ts'
import { Workspace } from '../../../workspace/workspaces/index.ts'
import { Post } from '../../posts/index.ts'
import type { CommentAnchorData, CommentVisibility } from './schemas.ts'

const uuids = () => p.array().columnType('uuid[]').defaultRaw(`'{}'`)

/** What a member says about a post. Platforms do not see it. */
export const PostComment = defineEntity({
  name: 'PostComment',
  tableName: 'post_comments',
  indexes: [
    { name: 'post_comments_by_author', properties: ['authorId', 'id'] },
    { name: 'post_comments_by_post', properties: ['postId', 'id'] },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'post_comments_workspace_id_fkey', onDelete: 'cascade' }).index(
      'post_comments_by_workspace',
    ),
    postId: references(Post, { name: 'post_comments_post_id_fkey', onDelete: 'cascade' }),
    authorId: p.uuid(),
    body: p.text(),
    /** The users that it mentions. */
    mentions: uuids(),
    /** The assets that are attached to it. */
    assetIds: uuids(),
    /** The comment that it answers. Null for the first one of a thread. */
    replyTo: p.uuid().nullable().index('post_comments_by_reply'),
    visibility: p.text().$type<CommentVisibility>().default('internal'),
    /** The part of the post that it is about. Null for all of it. */
    anchor: p.json<CommentAnchorData>().nullable(),
    editedAt: timestamp().nullable(),
    resolvedAt: timestamp().nullable(),
    resolvedBy: p.uuid().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const postComments = table(PostComment)
export type CommentRow = Row<typeof PostComment>
