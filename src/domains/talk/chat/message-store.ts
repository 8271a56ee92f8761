import { sql } from 'kysely'
import { NotFound } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { query } from '../../../db/query.ts'
import { MessageDeleted } from './errors.ts'
import { MESSAGE, MESSAGE_COLUMNS, messageView } from './message-row.ts'
import type { MessageData } from './schemas.ts'
import { chatMessages, chatTables } from './tables.ts'

/** The key under which a message was sent. */
export interface SentUnder {
  readonly channelId: string
  readonly authorId: string
  readonly clientId: string
}

const byId = query(chatTables, (db, $: { ids: readonly string[]; channelId?: string }) => {
  const found = db
    .selectFrom('chatMessages as m')
    .select(MESSAGE)
    .where('m.id', '=', sql<string>`any(${$.ids})`)
  return $.channelId === undefined ? found : found.where('m.channelId', '=', $.channelId)
})

// One index lookup per message. The channel is compared as text so that no other index is chosen: before PostgreSQL has
// statistics of a table, it may read all messages of the channel instead.
const bySentUnder = query(chatTables, (db, $: { asked: string }) =>
  db
    .selectFrom(
      sql<SentUnder>`json_to_recordset(${$.asked}::json)`.as<'q'>(
        sql`q (channel_id text, author_id uuid, client_id text)`,
      ),
    )
    .innerJoinLateral(
      (from) =>
        from
          .selectFrom('chatMessages as m')
          .select(MESSAGE)
          .whereRef('m.authorId', '=', 'q.authorId')
          .whereRef('m.clientId', '=', 'q.clientId')
          .where((e) => e(e.cast<string>('m.channelId', 'text'), '=', e.ref('q.channelId')))
          .limit((e) => e.lit(1))
          .as('m'),
      (join) => join.onTrue(),
    )
    .select([...MESSAGE_COLUMNS, 'm.reactions']),
)

export async function findMessages(database: Sql, ids: readonly string[]): Promise<MessageData[]> {
  return ids.length === 0 ? [] : (await byId.rows(database, { ids })).map(messageView)
}

/** The messages that were sent under the clients' own ids. Missing ones are left out. */
export async function findSent(database: Sql, asked: readonly SentUnder[]): Promise<MessageData[]> {
  const rows = asked.map((one) => ({ channel_id: one.channelId, author_id: one.authorId, client_id: one.clientId }))
  return (await bySentUnder.rows(database, { asked: JSON.stringify(rows) })).map(messageView)
}

/** A message of a channel, deleted or not. @throws AppError not_found */
export async function findMessage(turn: Turn, channelId: string, messageId: string): Promise<MessageData> {
  const row = await byId.row(turn.sql, { ids: [messageId], channelId })
  if (row === undefined) throw NotFound()
  return messageView(row)
}

/** @throws AppError not_found, message_deleted */
export async function findLiving(turn: Turn, channelId: string, messageId: string): Promise<MessageData> {
  const message = await findMessage(turn, channelId, messageId)
  if (message.deletedAt !== null) throw MessageDeleted()
  return message
}

/** Inserts a message that was just sent. */
export function insertMessage(turn: Turn, message: MessageData): void {
  const { mentions } = message
  turn.insert(chatMessages, {
    id: message._id,
    channelId: message.channelId,
    workspaceId: turn.workspaceId,
    seq: message.seq,
    authorId: message.author,
    clientId: message.clientId,
    body: message.body,
    attachments: message.attachments,
    mentions: mentions.userIds,
    mentionsAll: mentions.everyone,
    replyTo: message.replyTo,
    replies: 0,
    edits: 0,
    createdAt: message.createdAt,
  })
}
