import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { Workspace } from '../../workspace/workspaces/index.ts'
import { Post, PostTarget } from '../posts/index.ts'

/**
 * A change of what is published that is still to be made at the platform: an edit, or the deletion. A target has at most
 * one, because each replaces the one before: an edit always brings the platform to the newest version, and a deletion
 * makes edits useless. The row is deleted when the change is made or given up.
 */
export const RemoteChange = defineEntity({
  name: 'RemoteChange',
  tableName: 'post_remote_changes',
  properties: {
    targetId: references(PostTarget, { name: 'post_remote_changes_target_id_fkey', onDelete: 'cascade' }).primary(),
    workspaceId: references(Workspace, { name: 'post_remote_changes_workspace_id_fkey', onDelete: 'cascade' }).index(
      'post_remote_changes_by_workspace',
    ),
    postId: references(Post, { name: 'post_remote_changes_post_id_fkey', onDelete: 'cascade' }).index(
      'post_remote_changes_by_post',
    ),
    kind: p.text().$type<RemoteChangeKind>(),
    /** Raised with each request and each attempt. A job with another number does nothing. */
    plan: p.integer(),
    /** The attempt that makes the change, and until when nobody else may. */
    attemptId: p.uuid().nullable(),
    leaseUntil: timestamp().nullable(),
    attemptCount: p.integer(),
    /** Segments whose edit was begun, so that the platform may show another text than the one that is stored. */
    touched: p.array().columnType('uuid[]').defaultRaw(`'{}'`),
    /** When it is given up. */
    giveUpAt: timestamp(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export type RemoteChangeKind = 'edit' | 'remove'
export const remoteChanges = table(RemoteChange)
export type RemoteChangeRow = Row<typeof RemoteChange>
