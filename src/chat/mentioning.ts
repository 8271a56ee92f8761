import type { Member } from '../core/caller.ts'
import type { Turn } from '../core/turn.ts'
import { ChannelMentionForbidden } from './errors.ts'
import { mentionsIn } from './mentions.ts'
import type { ChannelData, MessageData } from './schemas.ts'

type Mentions = MessageData['mentions']

/**
 * Whom a text mentions, as far as they may see the channel.
 * @throws AppError channel_mention_forbidden
 */
export async function mentionsOf(turn: Turn, member: Member, channel: ChannelData, body: string): Promise<Mentions> {
  const { users, channel: all } = mentionsIn(body)
  if (all && channel.kind !== 'dm' && !member.scopes.has('team:manage')) throw ChannelMentionForbidden()
  if (users.length === 0) return { users: [], channel: all }
  if (channel.private) return { users: users.filter((id) => channel.memberIds.includes(id)), channel: all }
  const rows = await turn.sql.rows<{ user_id: string }>(
    'select user_id from workspace_members where workspace_id = $1 and user_id = any($2)',
    [turn.workspaceId, users],
  )
  const known = new Set(rows.map((row) => row.user_id))
  return { users: users.filter((id) => known.has(id)), channel: all }
}

/** Nobody is told that they have mentioned themselves. */
export function insertMentions(
  turn: Turn,
  message: Pick<MessageData, 'channelId' | 'seq' | 'author'>,
  users: readonly string[],
): void {
  for (const userId of users) {
    if (userId === message.author) continue
    turn.insert('chat_mentions', { user_id: userId, channel_id: message.channelId, seq: message.seq })
  }
}
