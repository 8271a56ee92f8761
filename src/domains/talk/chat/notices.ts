import type { Clock } from '../../../core/clock.ts'
import type { Turn } from '../../../core/turn.ts'
import { memberIds } from '../../workspace/workspaces/index.ts'
import { notify } from '../notifications/index.ts'
import { chatDirectMessage, chatMentioned } from './notifications.ts'
import type { ChannelData, MessageData } from './schemas.ts'

/** Mentions as a text writes them: `<@user id>` and `<!channel>`. */
const MARKS = /<@[0-9a-f-]{36}>|<!channel>/g

/** Tells members of a message that is for them: a direct message, or one that mentions them. */
export async function notifyOfMessage(
  turn: Turn,
  clock: Clock,
  channel: ChannelData,
  { author, body, mentions, seq }: MessageData,
): Promise<void> {
  const isDirect = channel.kind === 'dm'
  if (!isDirect && mentions.userIds.length === 0 && !mentions.everyone) return
  const message = body.replaceAll(MARKS, '…')
  const name = channel.name === null ? '' : `#${channel.name}`
  const data = { channelId: channel._id, channel: name, seq, message }
  const common = { actorId: author, data, now: clock.now() }
  if (isDirect) {
    notify(turn, chatDirectMessage, { ...common, to: channel.memberIds })
    return
  }
  const everyone = channel.private ? channel.memberIds : await memberIds(turn.sql, turn.workspaceId)
  notify(turn, chatMentioned, { ...common, to: mentions.everyone ? everyone : mentions.userIds })
}
