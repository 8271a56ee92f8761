import type { Caller, Member } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { Conflict, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { PreludeBatch, PreludeRequest } from '../../../core/operation.ts'
import type { Static } from '../../../core/schema.ts'
import type { Turn } from '../../../core/turn.ts'
import { increment } from '../../../db/increment.ts'
import type { ChatAttachments } from './attachments.ts'
import { writeChange } from './change-writer.ts'
import { ChannelArchived, MessageDeleted, NotYourMessage } from './errors.ts'
import { insertMentions, mentionsOf } from './mentioning.ts'
import { findLiving, findMessage, findSent, insertMessage } from './message-store.ts'
import { notifyOfMessage } from './notices.ts'
import type { MessageRateLimit } from './message-rate-limit.ts'
import {
  loadChannels,
  writableChannel,
  resendKey,
  visibleChannel,
  CHANNEL_CACHE,
  type CachedChannel,
} from './channel-cache.ts'
import type { ChannelPath, MessageData, NewMessage } from './schemas.ts'
import { ERASED } from './state.ts'
import { chatAttachments, chatEdits, chatMentions, chatMessages, chatReactions } from './tables.ts'

type NewMessageInput = Static<typeof NewMessage>
type SendRequest = PreludeRequest<Static<typeof ChannelPath>, unknown, NewMessageInput>

const MAX_EDITS = 100

/** Sends, edits and deletes messages. All methods run in turns. */
export class Messages {
  readonly #clock: Clock
  readonly #rateLimit: MessageRateLimit
  readonly #attachments: ChatAttachments

  constructor(clock: Clock, rateLimit: MessageRateLimit, attachments: ChatAttachments) {
    this.#clock = clock
    this.#rateLimit = rateLimit
    this.#attachments = attachments
  }

  /** Reads, once per batch, the channels that are not in memory, and the messages that were sent before. */
  async prepare(requests: readonly SendRequest[], batch: PreludeBatch): Promise<void> {
    const { sql, workspaceId } = batch
    const cache = batch.memory(CHANNEL_CACHE)
    cache.trim()
    cache.unsent.clear()
    await loadChannels(cache, sql, workspaceId, [...new Set(requests.map(({ path }) => path.channelId))])
    const asked = requests.flatMap(({ body: { clientId }, caller, path: { channelId } }) => {
      const cached = clientId === undefined ? undefined : cache.get(channelId)
      if (cached === undefined || clientId === undefined) return []
      const isKnown = cached.recent(resendKey(caller.userId, clientId)) !== undefined
      return isKnown ? [] : [{ channelId, authorId: caller.userId, clientId }]
    })
    if (asked.length === 0) return
    for (const one of asked) cache.unsent.add(unsentKey(one.channelId, one.authorId, one.clientId))
    for (const found of await findSent(sql, asked)) {
      cache.unsent.delete(unsentKey(found.channelId, found.author, found.clientId ?? ''))
      cache.get(found.channelId)?.remember(resendKey(found.author, found.clientId ?? ''), found)
    }
  }

  /**
   * @returns the message, and whether it is new: the same `clientId` always stands for the same message
   * @throws AppError not_found, channel_archived, rate_limited, validation_failed, message_deleted, …
   */
  async send(
    turn: Turn,
    caller: Caller,
    member: Member,
    channelId: string,
    input: NewMessageInput,
  ): Promise<{ message: MessageData; isNew: boolean }> {
    const cached = await visibleChannel(turn, caller, channelId)
    const { attachments = [], body = '', clientId, replyTo } = input
    const sent = clientId === undefined ? undefined : await this.#sentBefore(turn, cached, caller, clientId)
    if (sent !== undefined) return { message: sent, isNew: false }
    if (cached.channel.archivedAt !== null) throw ChannelArchived()
    if (body === '' && attachments.length === 0) throw fault('body', 'required', 'is required without attachments')
    this.#rateLimit.take(turn, cached, caller.userId)
    const at = new Date(this.#clock.now()).toISOString()
    const seq = cached.seq + 1
    const root = replyTo === undefined ? null : await findRoot(turn, channelId, replyTo)
    const message: MessageData = {
      _id: uuidv7(this.#clock.now()),
      channelId,
      seq,
      author: caller.userId,
      clientId: clientId ?? null,
      body,
      attachments: await this.#attachments.ofMessage(turn, caller, attachments),
      mentions: await mentionsOf(turn, member, cached.channel, body),
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
      const changes = { replies: increment(), lastReplySeq: seq, lastReplyAt: at }
      await chatMessages.update(turn.sql, { id: root }, changes)
    }
    insertMessage(turn, message)
    insertMentions(turn, message, message.mentions.userIds)
    await this.#attachments.bind(turn, message._id, attachments)
    writeChange(turn, cached, {
      type: 'message',
      actorId: caller.userId,
      at,
      messageId: message._id,
      data: { message },
    })
    await notifyOfMessage(turn, this.#clock, cached.channel, message)
    if (clientId !== undefined) turn.settled(() => cached.remember(resendKey(caller.userId, clientId), message))
    return { message, isNew: true }
  }

  /** Changes the text of the caller's own message. @throws AppError not_found, not_your_message, message_deleted, … */
  async edit(
    turn: Turn,
    caller: Caller,
    member: Member,
    place: { readonly channelId: string; readonly messageId: string },
    body: string,
  ): Promise<MessageData> {
    const { channelId, messageId } = place
    const cached = await writableChannel(turn, caller, channelId)
    const before = await findLiving(turn, channelId, messageId)
    if (before.author !== caller.userId) throw NotYourMessage()
    if (before.body === body) return before
    if (before.edits >= MAX_EDITS)
      throw Conflict({ message: `A message can be edited at most ${MAX_EDITS} times. Send another one instead.` })
    const mentions = await mentionsOf(turn, member, cached.channel, body)
    const at = new Date(this.#clock.now()).toISOString()
    const edits = before.edits + 1
    await chatMessages.update(
      turn.sql,
      { id: messageId },
      { body, mentions: mentions.userIds, mentionsAll: mentions.everyone, edits, editedAt: at },
    )
    await chatMentions.delete(turn.sql, { channelId, seq: before.seq })
    insertMentions(turn, before, mentions.userIds)
    turn.insert(chatEdits, { messageId, edit: edits, body: before.body, at: before.updatedAt })
    writeChange(turn, cached, {
      type: 'edit',
      actorId: caller.userId,
      at,
      messageId,
      data: { messageId, body, mentions, edits },
    })
    turn.settled(() => cached.forgetRecent())
    return { ...before, body, mentions, edits, editedAt: at, updatedAt: at }
  }

  /**
   * Erases the text, files, history and reactions of a message. Its row stays. Deleting it again changes nothing.
   * @throws AppError not_found, channel_archived, not_your_message
   */
  async delete(turn: Turn, caller: Caller, member: Member, channelId: string, messageId: string): Promise<void> {
    const cached = await writableChannel(turn, caller, channelId)
    const message = await findMessage(turn, channelId, messageId)
    const isOwn = message.author === caller.userId
    if (!isOwn && !member.scopes.has('team:manage')) {
      throw NotYourMessage({ message: 'Deleting the messages of others requires the scope team:manage.' })
    }
    if (message.deletedAt !== null) return
    const at = new Date(this.#clock.now()).toISOString()
    const erased = { attachments: [], mentions: [], mentionsAll: false, pinnedAt: null, pinnedBy: null }
    await chatMessages.update(turn.sql, { id: messageId }, { ...erased, body: ERASED.body, deletedAt: at })
    await chatAttachments.delete(turn.sql, { messageId })
    await chatEdits.delete(turn.sql, { messageId })
    await chatReactions.delete(turn.sql, { messageId })
    await chatMentions.delete(turn.sql, { channelId, seq: message.seq })
    if (message.replyTo !== null) {
      await chatMessages.update(turn.sql, { id: message.replyTo }, { replies: increment(-1) })
    }
    writeChange(turn, cached, {
      type: 'delete',
      actorId: caller.userId,
      at,
      messageId,
      data: { messageId, replyTo: message.replyTo },
    })
    turn.settled(() => cached.forgetRecent())
    if (!isOwn) turn.audit({ kind: 'message', id: messageId, details: { channelId, author: message.author } })
  }

  async #sentBefore(
    turn: Turn,
    cached: CachedChannel,
    caller: Caller,
    clientId: string,
  ): Promise<MessageData | undefined> {
    const known = cached.recent(resendKey(caller.userId, clientId))
    const channelId = cached.channel._id
    if (known !== undefined || turn.memory(CHANNEL_CACHE).unsent.has(unsentKey(channelId, caller.userId, clientId))) {
      return known
    }
    return (await findSent(turn.sql, [{ channelId, authorId: caller.userId, clientId }]))[0]
  }
}

const unsentKey = (channelId: string, userId: string, clientId: string) => `${channelId}/${userId}/${clientId}`

/** The root of a message's thread: the message itself unless it is a reply. */
async function findRoot(turn: Turn, channelId: string, replyTo: string): Promise<string> {
  const answered = await chatMessages.first(
    turn.sql,
    { channelId, id: replyTo },
    { columns: ['id', 'replyTo', 'deletedAt'] },
  )
  if (answered === undefined) throw fault('replyTo', 'unknown', 'must be a message of the channel')
  if (answered.deletedAt !== null) throw MessageDeleted()
  return answered.replyTo ?? answered.id
}

function fault(field: string, code: string, message: string) {
  return ValidationFailed({ errors: [{ path: `/body/${field}`, code, message }] })
}
