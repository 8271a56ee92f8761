import type { Member } from '../../../core/caller.ts'
import type { Turn } from '../../../core/turn.ts'
import { onlyMembers } from '../../workspace/workspaces/index.ts'
import { ChannelMentionForbidden } from './errors.ts'
import { mentionsIn } from './mentions.ts'
import type { ChannelData, MessageData } from './schemas.ts'
import { chatMentions } from './tables.ts'

type Mentions = MessageData['mentions']

/**
 * The users mentioned in a text who may see the channel.
 * @throws AppError channel_mention_forbidden
 */
export async function mentionsOf(turn: Turn, member: Member, channel: ChannelData, body: string): Promise<Mentions> {
  const { everyone, userIds } = mentionsIn(body)
  if (everyone && channel.kind !== 'dm' && !member.scopes.has('team:manage')) throw ChannelMentionForbidden()
  if (channel.private) return { userIds: userIds.filter((id) => channel.memberIds.includes(id)), everyone }
  return { userIds: await onlyMembers(turn, userIds), everyone }
}

/** Inserts the mentions of a message. Authors do not mention themselves. */
export function insertMentions(
  turn: Turn,
  message: Pick<MessageData, 'channelId' | 'seq' | 'author'>,
  users: readonly string[],
): void {
  for (const userId of users) {
    if (userId === message.author) continue
    turn.insert(chatMentions, { userId, channelId: message.channelId, seq: message.seq })
  }
}
