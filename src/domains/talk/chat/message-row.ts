import type { AttachmentData, MessageData } from './schemas.ts'
import { byCode } from './state.ts'

export interface MessageRow {
  id: string
  channel_id: string
  seq: number
  author_id: string
  client_id: string | null
  body: string
  attachments: AttachmentData[]
  mentions: string[]
  mentions_all: boolean
  reply_to: string | null
  replies: number
  last_reply_seq: number | null
  last_reply_at: string | null
  edits: number
  edited_at: string | null
  pinned_at: string | null
  pinned_by: string | null
  deleted_at: string | null
  created_at: string
  reactions: { emoji: string; userIds: string[] }[] | null
}

/** Columns of a `MessageRow`, for `m` a row of chat_messages. */
export const MESSAGE_COLUMNS = `
  m.id, m.channel_id, m.seq, m.author_id, m.client_id, m.body, m.attachments, m.mentions::text[] as mentions,
  m.mentions_all, m.reply_to, m.replies, m.last_reply_seq, m.last_reply_at, m.edits, m.edited_at, m.pinned_at,
  m.pinned_by, m.deleted_at, m.created_at,
  (select json_agg(json_build_object('emoji', r.emoji, 'userIds', r.users)) from (
    select emoji, json_agg(user_id order by seq) as users from chat_reactions where message_id = m.id group by emoji
  ) r) as reactions`

export function messageView(row: MessageRow): MessageData {
  return {
    _id: row.id,
    channelId: row.channel_id,
    seq: row.seq,
    author: row.author_id,
    clientId: row.client_id,
    body: row.body,
    attachments: row.attachments,
    mentions: { userIds: row.mentions, everyone: row.mentions_all },
    replyTo: row.reply_to,
    thread: { replyCount: row.replies, lastReplySeq: row.last_reply_seq, lastReplyAt: row.last_reply_at },
    reactions: (row.reactions ?? []).sort((a, b) => byCode(a.emoji, b.emoji)),
    edits: row.edits,
    editedAt: row.edited_at,
    pinnedAt: row.pinned_at,
    pinnedBy: row.pinned_by,
    deletedAt: row.deleted_at,
    createdAt: row.created_at,
    updatedAt: row.deleted_at ?? row.edited_at ?? row.created_at,
  }
}

/** A message as it was when it was sent, whatever has happened since. */
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
