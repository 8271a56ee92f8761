import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../../db/columns.ts'
import type { Row } from '../../../../db/row.ts'
import { table } from '../../../../db/table.ts'
import { Workspace } from '../../../workspace/workspaces/index.ts'

/** Posts that were created with one request. */
export const PostBatch = defineEntity({
  name: 'PostBatch',
  tableName: 'post_batches',
  indexes: [
    { name: 'post_batches_by_creator', properties: ['createdBy', 'id'] },
    { name: 'post_batches_by_workspace', properties: ['workspaceId', 'id'] },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'post_batches_workspace_id_fkey', onDelete: 'cascade' }),
    /** Rows of the request. */
    rowCount: p.integer(),
    createdCount: p.integer(),
    createdBy: p.uuid(),
    /** When its posts were deleted together. */
    undoneAt: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const postBatches = table(PostBatch)
export type BatchRow = Row<typeof PostBatch>
