import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../../db/columns.ts'
import type { Row } from '../../../../db/row.ts'
import { table } from '../../../../db/table.ts'
import { Workspace } from '../../../workspace/workspaces/index.ts'
import type { PostApprovalData, TargetRow, PostFacts } from '../../posts/index.ts'

/** What a bulk change does with posts. */
export type BulkAction = 'reschedule' | 'cancel' | 'label' | 'submit' | 'decide'

/** The fields of a target that bulk changes change. */
export const TARGET_FIELDS = [
  'status',
  'problem',
  'localTime',
  'timeZone',
  'scheduledAt',
  'adjustment',
  'startBy',
  'attemptCount',
  'nextAttemptAt',
] as const
type TargetBefore = Pick<TargetRow, 'id' | (typeof TARGET_FIELDS)[number]>

/** A post as it was before a bulk change. */
export interface PostBefore {
  readonly postId: string
  /** The post after the change, see `stampOf`. Another stamp means that it has changed again. */
  readonly stamp: string
  readonly post: Pick<PostFacts, 'labels' | 'localTime' | 'timeZone' | 'scheduledAt' | 'adjustment'> & {
    readonly approval: PostApprovalData | null
  }
  readonly targets: readonly TargetBefore[]
}

/** A request that has changed many posts, and what undoes it. */
export const PostBulkChange = defineEntity({
  name: 'PostBulkChange',
  tableName: 'post_bulk_changes',
  indexes: [
    { name: 'post_bulk_changes_by_workspace', properties: ['workspaceId', 'id'] },
    { name: 'post_bulk_changes_by_creator', properties: ['createdBy', 'id'] },
    { name: 'post_bulk_changes_by_time', properties: ['createdAt'] },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'post_bulk_changes_workspace_id_fkey', onDelete: 'cascade' }),
    action: p.text().$type<BulkAction>(),
    changedCount: p.integer(),
    /** The posts that were changed. */
    before: p.json<readonly PostBefore[]>(),
    createdBy: p.uuid(),
    undoneAt: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const postBulkChanges = table(PostBulkChange)
export type BulkChangeRow = Row<typeof PostBulkChange>
