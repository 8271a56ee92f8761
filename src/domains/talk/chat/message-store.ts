import { NotFound } from '../../../core/errors.ts'
import type { Turn } from '../../../core/turn.ts'
import { MessageDeleted } from './errors.ts'
import { MESSAGE_COLUMNS, messageView, type MessageRow } from './message-row.ts'
import type { MessageData } from './schemas.ts'

const ONE = `select ${MESSAGE_COLUMNS} from chat_messages m where m.channel_id = $1 and m.id = $2`

/** A message of a channel, deleted or not. @throws AppError not_found */
export async function findMessage(turn: Turn, channelId: string, messageId: string): Promise<MessageData> {
  const row = await turn.sql.row<MessageRow>(ONE, [channelId, messageId])
  if (row === undefined) throw NotFound()
  return messageView(row)
}

/** @throws AppError not_found, message_deleted */
export async function findLiving(turn: Turn, channelId: string, messageId: string): Promise<MessageData> {
  const message = await findMessage(turn, channelId, messageId)
  if (message.deletedAt !== null) throw MessageDeleted()
  return message
}

/** The row of a message that was just sent. */
export function insertMessage(turn: Turn, message: MessageData): void {
  const { mentions } = message
  turn.insert('chat_messages', {
    id: message._id,
    channel_id: message.channelId,
    workspace_id: turn.workspaceId,
    seq: message.seq,
    author_id: message.author,
    client_id: message.clientId,
    body: message.body,
    attachments: message.attachments,
    mentions: mentions.userIds,
    mentions_all: mentions.everyone,
    reply_to: message.replyTo,
    replies: 0,
    edits: 0,
    created_at: message.createdAt,
  })
}
