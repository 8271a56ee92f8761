import type { Sql } from '../../../core/sql.ts'
import type { ChannelData } from './schemas.ts'

export interface ChannelRow {
  id: string
  workspace_id: string
  kind: 'channel' | 'dm'
  name: string | null
  topic: string | null
  private: boolean
  created_by: string | null
  archived_at: string | null
  version: number
  created_at: string
  updated_at: string
  member_ids: string[]
}

/** Columns of a `ChannelRow`, for `c` a row of channels. */
export const CHANNEL_COLUMNS = `
  c.id, c.workspace_id, c.kind, c.name, c.topic, c.private, c.created_by, c.archived_at, c.version, c.created_at,
  c.updated_at, array(select cm.user_id::text from channel_members cm where cm.channel_id = c.id order by cm.user_id) as member_ids`

/** Number of the newest change of a channel `c`. */
export const TOP_SEQ = 'coalesce((select max(l.seq) from chat_log l where l.channel_id = c.id), 0)'

/** Whether user `$2` may see channel `c`, given that they may read chat. */
export const VISIBLE = `(not c.private or exists (
  select from channel_members vm where vm.channel_id = c.id and vm.workspace_id = c.workspace_id and vm.user_id = $2))`

export function channelState(row: ChannelRow): ChannelData {
  return {
    _id: row.id,
    workspaceId: row.workspace_id,
    kind: row.kind,
    name: row.name,
    topic: row.topic,
    private: row.private,
    archivedAt: row.archived_at,
    createdBy: row.created_by,
    memberIds: row.member_ids,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** Whether a user who may read chat in the workspace may see the channel. */
export function isVisibleTo(channel: ChannelData, userId: string): boolean {
  return !channel.private || channel.memberIds.includes(userId)
}

const VISIBLE_ONE = `select ${CHANNEL_COLUMNS} from channels c where c.workspace_id = $1 and c.id = $3 and ${VISIBLE}`

/** A channel of a workspace, as far as a user may see it. */
export async function findVisible(
  sql: Sql,
  workspaceId: string,
  userId: string,
  channelId: string,
): Promise<ChannelData | undefined> {
  const row = await sql.row<ChannelRow>(VISIBLE_ONE, [workspaceId, userId, channelId])
  return row && channelState(row)
}
