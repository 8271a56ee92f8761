import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../../db/columns.ts'
import type { Row } from '../../../../db/row.ts'
import { table } from '../../../../db/table.ts'
import { Workspace } from '../../../workspace/workspaces/index.ts'
import type { Blackout, QueueSlot } from '../../calendar/index.ts'

/** The queue of a workspace: its slots of the week, for posts that ask for the next free one. */
export const PostQueue = defineEntity({
  name: 'PostQueue',
  tableName: 'post_queues',
  properties: {
    workspaceId: references(Workspace, { name: 'post_queues_workspace_id_fkey', onDelete: 'cascade' })
      .primary()
      .index(false),
    version: p.integer(),
    /** Null for the zone of the workspace. */
    timeZone: p.text().nullable(),
    slots: p.json<readonly QueueSlot[]>(),
    blackouts: p.json<readonly Blackout[]>(),
    minimumGapMinutes: p.integer(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const postQueues = table(PostQueue)
export type QueueRow = Row<typeof PostQueue>
