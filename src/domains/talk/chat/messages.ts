import type { Caller, Member } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { Conflict, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../core/id.ts'
import type { PreludeBatch, PreludeRequest } from '../../../core/operation.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { ChatAttachments } from './attachments.ts'
import { writeChange } from './change-writer.ts'
import { ChannelArchived, MessageDeleted, NotYourMessage } from './errors.ts'
import { insertMentions, mentionsOf } from './mentioning.ts'
import { MESSAGE_COLUMNS, messageView, type MessageRow } from './message-row.ts'
import { findLiving, findMessage, insertMessage } from './message-store.ts'
import type { Pace } from './pace.ts'
import { loadRooms, openRoomOf, resendKey, roomOf, ROOMS, type Room } from './rooms.ts'
import type { ChannelPath, MessageData, NewMessage } from './schemas.ts'
import { ERASED } from './state.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly messages: Messages
  }
}

type NewMessageInput = Static<typeof NewMessage>
type SendRequest = PreludeRequest<Static<typeof ChannelPath>, unknown, NewMessageInput>

const MOST_EDITS = 100

// A row by its key for each: what is asked for is few, however many messages there are. The channel is compared as text,
// because no other index may be taken: one of the channel's messages, before PostgreSQL has counted them, reads them all.
const RESENT = `
  select m.* from json_to_recordset($1::json) as q (channel_id text, author_id uuid, client_id text)
  cross join lateral (
    select ${MESSAGE_COLUMNS} from chat_messages m
    where m.author_id = q.author_id and m.client_id = q.client_id and m.channel_id::text = q.channel_id limit 1
  ) m`

/** Saying something, changing it, taking it back. Everything here runs in turns. */
export class Messages {
  readonly #clock: Clock
  readonly #pace: Pace
  readonly #attachments: ChatAttachments

  constructor(clock: Clock, pace: Pace, attachments: ChatAttachments) {
    this.#clock = clock
    this.#pace = pace
    this.#attachments = attachments
  }

  /** Reads, once a batch, the channels that are not in mind, and which messages were sent before. */
  async prepare(requests: readonly SendRequest[], batch: PreludeBatch): Promise<void> {
    const { sql, workspaceId } = batch
    const rooms = batch.memory(ROOMS)
    rooms.trim()
    rooms.unsent.clear()
    await loadRooms(rooms, sql, workspaceId, [...new Set(requests.map(({ path }) => path.channelId))])
    const asked = requests.flatMap(({ body: { clientId }, caller, path: { channelId } }) => {
      const room = clientId === undefined ? undefined : rooms.get(channelId)
      if (room === undefined || clientId === undefined) return []
      const isKnown = room.recent(resendKey(caller.userId, clientId)) !== undefined
      return isKnown ? [] : [{ channel_id: channelId, author_id: caller.userId, client_id: clientId }]
    })
    if (asked.length === 0) return
    for (const one of asked) rooms.unsent.add(unsentKey(one.channel_id, one.author_id, one.client_id))
    for (const found of await findResent(sql, asked)) {
      rooms.unsent.delete(unsentKey(found.channelId, found.author, found.clientId ?? ''))
      rooms.get(found.channelId)?.remember(resendKey(found.author, found.clientId ?? ''), found)
    }
  }

  /**
   * @returns the message, and whether it was sent now: a client's own id stands for one message
   * @throws AppError not_found, channel_archived, rate_limited, validation_failed, message_deleted, …
   */
  async send(
    turn: Turn,
    caller: Caller,
    member: Member,
    channelId: string,
    input: NewMessageInput,
  ): Promise<{ message: MessageData; isNew: boolean }> {
    const room = await roomOf(turn, caller, channelId)
    const { attachments = [], body = '', clientId, replyTo } = input
    const sent = clientId === undefined ? undefined : await this.#sentBefore(turn, room, caller, clientId)
    if (sent !== undefined) return { message: sent, isNew: false }
    if (room.channel.archivedAt !== null) throw ChannelArchived()
    if (body === '' && attachments.length === 0) throw fault('body', 'required', 'must say something')
    this.#pace.take(turn, room, caller.userId)
    const at = new Date(this.#clock.now()).toISOString()
    const seq = room.seq + 1
    const root = replyTo === undefined ? null : await findRoot(turn, channelId, replyTo)
    const message: MessageData = {
      _id: uuidv7(this.#clock.now()),
      channelId,
      seq,
      author: caller.userId,
      clientId: clientId ?? null,
      body,
      attachments: await this.#attachments.ofMessage(turn, caller, attachments),
      mentions: await mentionsOf(turn, member, room.channel, body),
      replyTo: root,
      thread: { replyCount: 0, lastReplySeq: null, lastReplyAt: null },
      reactions: [],
      edits: 0,
      editedAt: null,
      pinnedAt: null,
      pinnedBy: null,
      deletedAt: null,
      createdAt: at,
      updatedAt: at,
    }
    if (root !== null) {
      await turn.sql.run(
        'update chat_messages set replies = replies + 1, last_reply_seq = $2, last_reply_at = $3 where id = $1',
        [root, seq, at],
      )
    }
    insertMessage(turn, message)
    insertMentions(turn, message, message.mentions.userIds)
    await this.#attachments.bind(turn, message._id, attachments)
    writeChange(turn, room, { type: 'message', actorId: caller.userId, at, messageId: message._id, data: { message } })
    if (clientId !== undefined) turn.settled(() => room.remember(resendKey(caller.userId, clientId), message))
    return { message, isNew: true }
  }

  /** Changes the text of one's own message. @throws AppError not_found, not_your_message, message_deleted, … */
  async edit(
    turn: Turn,
    caller: Caller,
    member: Member,
    place: { readonly channelId: string; readonly messageId: string },
    body: string,
  ): Promise<MessageData> {
    const { channelId, messageId } = place
    const room = await openRoomOf(turn, caller, channelId)
    const before = await findLiving(turn, channelId, messageId)
    if (before.author !== caller.userId) throw NotYourMessage()
    if (before.body === body) return before
    if (before.edits >= MOST_EDITS) throw Conflict({ message: `A message is edited ${MOST_EDITS} times at most.` })
    const mentions = await mentionsOf(turn, member, room.channel, body)
    const at = new Date(this.#clock.now()).toISOString()
    const edits = before.edits + 1
    await turn.sql.run(
      `update chat_messages set body = $2, mentions = $3::uuid[], mentions_all = $4, edits = $5, edited_at = $6
       where id = $1`,
      [messageId, body, mentions.userIds, mentions.everyone, edits, at],
    )
    await turn.sql.run('delete from chat_mentions where channel_id = $1 and seq = $2', [channelId, before.seq])
    insertMentions(turn, before, mentions.userIds)
    turn.insert('chat_edits', { message_id: messageId, edit: edits, body: before.body, at: before.updatedAt })
    writeChange(turn, room, {
      type: 'edit',
      actorId: caller.userId,
      at,
      messageId,
      data: { messageId, body, mentions, edits },
    })
    turn.settled(() => room.forgetRecent())
    return { ...before, body, mentions, edits, editedAt: at, updatedAt: at }
  }

  /**
   * Its text, files, history and reactions go; its place stays. Once is enough.
   * @throws AppError not_found, channel_archived, not_your_message
   */
  async delete(turn: Turn, caller: Caller, member: Member, channelId: string, messageId: string): Promise<void> {
    const room = await openRoomOf(turn, caller, channelId)
    const message = await findMessage(turn, channelId, messageId)
    const isOwn = message.author === caller.userId
    if (!isOwn && !member.scopes.has('team:manage')) {
      throw NotYourMessage({ message: 'The messages of others are deleted with the scope team:manage.' })
    }
    if (message.deletedAt !== null) return
    const at = new Date(this.#clock.now()).toISOString()
    await turn.sql.run(
      `update chat_messages set body = $2, attachments = '[]', mentions = '{}', mentions_all = false,
         pinned_at = null, pinned_by = null, deleted_at = $3 where id = $1`,
      [messageId, ERASED.body, at],
    )
    await turn.sql.run('delete from chat_attachments where message_id = $1', [messageId])
    await turn.sql.run('delete from chat_edits where message_id = $1', [messageId])
    await turn.sql.run('delete from chat_reactions where message_id = $1', [messageId])
    await turn.sql.run('delete from chat_mentions where channel_id = $1 and seq = $2', [channelId, message.seq])
    if (message.replyTo !== null) {
      await turn.sql.run('update chat_messages set replies = replies - 1 where id = $1', [message.replyTo])
    }
    writeChange(turn, room, {
      type: 'delete',
      actorId: caller.userId,
      at,
      messageId,
      data: { messageId, replyTo: message.replyTo },
    })
    turn.settled(() => room.forgetRecent())
    if (!isOwn) turn.audit({ kind: 'message', id: messageId, details: { channelId, author: message.author } })
  }

  async #sentBefore(turn: Turn, room: Room, caller: Caller, clientId: string): Promise<MessageData | undefined> {
    const known = room.recent(resendKey(caller.userId, clientId))
    const channelId = room.channel._id
    if (known !== undefined || turn.memory(ROOMS).unsent.has(unsentKey(channelId, caller.userId, clientId))) {
      return known
    }
    const asked = [{ channel_id: channelId, author_id: caller.userId, client_id: clientId }]
    return (await findResent(turn.sql, asked))[0]
  }
}

const unsentKey = (channelId: string, userId: string, clientId: string) => `${channelId}/${userId}/${clientId}`

async function findResent(sql: Sql, asked: readonly object[]): Promise<MessageData[]> {
  const rows = await sql.rows<MessageRow>(RESENT, [JSON.stringify(asked)])
  return rows.map(messageView)
}

/** The root of the thread in which a message is answered: itself, unless it is an answer. */
async function findRoot(turn: Turn, channelId: string, replyTo: string): Promise<string> {
  const row = await turn.sql.row<{ root: string; deleted: boolean }>(
    `select coalesce(reply_to, id) as root, deleted_at is not null as deleted from chat_messages
     where channel_id = $1 and id = $2`,
    [channelId, replyTo],
  )
  if (row === undefined) throw fault('replyTo', 'unknown', 'must be a message of the channel')
  if (row.deleted) throw MessageDeleted()
  return row.root
}

function fault(field: string, code: string, message: string) {
  return ValidationFailed({ errors: [{ path: `/body/${field}`, code, message }] })
}
