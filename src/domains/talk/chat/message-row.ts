import { expressionBuilder, sql } from 'kysely'
import type { Row } from '../../../db/row.ts'
import type { MessageData } from './schemas.ts'
import { byCode } from './state.ts'
import type { ChatDatabase, ChatMessage } from './tables.ts'

type Reactions = { emoji: string; userIds: string[] }[]

/** A message with its reactions by emoji; null when it has none. */
export type MessageRow = Omit<Row<typeof ChatMessage>, 'workspaceId'> & { readonly reactions: Reactions | null }

const e = expressionBuilder<ChatDatabase & { m: ChatDatabase['chatMessages'] }, 'm'>()

const byEmoji = e
  .selectFrom('chatReactions as reaction')
  .select(['reaction.emoji', sql`json_agg(reaction.user_id order by reaction.seq)`.as('users')])
  .whereRef('reaction.messageId', '=', 'm.id')
  .groupBy('reaction.emoji')

/** The columns of chat_messages in a `MessageRow`, where `m` is a row of it. */
export const MESSAGE_COLUMNS = [
  'm.id',
  'm.channelId',
  'm.seq',
  'm.authorId',
  'm.clientId',
  'm.body',
  'm.attachments',
  'm.mentions',
  'm.mentionsAll',
  'm.replyTo',
  'm.replies',
  'm.lastReplySeq',
  'm.lastReplyAt',
  'm.edits',
  'm.editedAt',
  'm.pinnedAt',
  'm.pinnedBy',
  'm.deletedAt',
  'm.createdAt',
] as const

/** All columns of a `MessageRow`. */
export const MESSAGE = [
  ...MESSAGE_COLUMNS,
  e
    .selectFrom(byEmoji.as('r'))
    .select(sql<Reactions | null>`json_agg(json_build_object('emoji', r.emoji, 'userIds', r.users))`.as('all'))
    .as('reactions'),
] as const

export function messageView(row: MessageRow): MessageData {
  return {
    _id: row.id,
    channelId: row.channelId,
    seq: row.seq,
    author: row.authorId,
    clientId: row.clientId,
    body: row.body,
    attachments: row.attachments,
    mentions: { userIds: row.mentions, everyone: row.mentionsAll },
    replyTo: row.replyTo,
    thread: { replyCount: row.replies, lastReplySeq: row.lastReplySeq, lastReplyAt: row.lastReplyAt },
    reactions: (row.reactions ?? []).sort((a, b) => byCode(a.emoji, b.emoji)),
    edits: row.edits,
    editedAt: row.editedAt,
    pinnedAt: row.pinnedAt,
    pinnedBy: row.pinnedBy,
    deletedAt: row.deletedAt,
    createdAt: row.createdAt,
    updatedAt: row.deletedAt ?? row.editedAt ?? row.createdAt,
  }
}

/** A message as it was when it was sent, without later changes. */
export function asSent(message: MessageData): MessageData {
  return {
    ...message,
    thread: { replyCount: 0, lastReplySeq: null, lastReplyAt: null },
    reactions: [],
    edits: 0,
    editedAt: null,
    pinnedAt: null,
    pinnedBy: null,
    deletedAt: null,
    updatedAt: message.createdAt,
  }
}
