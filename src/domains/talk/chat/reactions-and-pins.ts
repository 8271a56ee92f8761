import type { Caller } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { Conflict, ValidationFailed } from '../../../core/errors.ts'
import type { Turn } from '../../../core/turn.ts'
import { not } from '../../../db/condition.ts'
import { writeChange } from './change-writer.ts'
import { isEmoji } from './emoji.ts'
import { findLiving } from './message-store.ts'
import { writableChannel } from './channel-cache.ts'
import type { MessageData } from './schemas.ts'
import { withoutReaction, withReaction } from './state.ts'
import { chatMessages, chatReactions } from './tables.ts'

const MAX_EMOJI = 20
const MAX_REACTIONS = 500
const MAX_PINS = 50

interface MessagePlace {
  readonly channelId: string
  readonly messageId: string
}

/** Reactions and pins of messages. A request that matches the current state changes nothing. */
export class ReactionsAndPins {
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @throws AppError not_found, channel_archived, message_deleted, validation_failed, conflict */
  async react(turn: Turn, caller: Caller, { channelId, messageId }: MessagePlace, emoji: string): Promise<MessageData> {
    const { actorId, message, cached } = await this.#open(turn, caller, channelId, messageId)
    if (!isEmoji(emoji)) {
      throw ValidationFailed({ errors: [{ path: '/path/emoji', code: 'emoji', message: 'must be one emoji' }] })
    }
    const reactions = withReaction(message.reactions, emoji, actorId)
    if (reactions === message.reactions) return message
    if (reactions.length > MAX_EMOJI || count(reactions) > MAX_REACTIONS) {
      throw Conflict({
        message: `A message has at most ${MAX_EMOJI} different emoji and ${MAX_REACTIONS} reactions.`,
      })
    }
    const at = this.#now()
    const seq = writeChange(turn, cached, { type: 'react', actorId, at, messageId, data: { messageId, emoji } })
    turn.insert(chatReactions, { messageId, emoji, userId: actorId, seq })
    return { ...message, reactions }
  }

  /** @throws AppError not_found, channel_archived, message_deleted */
  async unreact(
    turn: Turn,
    caller: Caller,
    { channelId, messageId }: MessagePlace,
    emoji: string,
  ): Promise<MessageData> {
    const { actorId, message, cached } = await this.#open(turn, caller, channelId, messageId)
    const reactions = withoutReaction(message.reactions, emoji, actorId)
    if (count(reactions) === count(message.reactions)) return message
    await chatReactions.delete(turn.sql, { messageId, emoji, userId: actorId })
    writeChange(turn, cached, { type: 'unreact', actorId, at: this.#now(), messageId, data: { messageId, emoji } })
    return { ...message, reactions }
  }

  /** @throws AppError not_found, channel_archived, message_deleted, conflict */
  async pin(turn: Turn, caller: Caller, { channelId, messageId }: MessagePlace, pinned: boolean): Promise<MessageData> {
    const { actorId, message, cached } = await this.#open(turn, caller, channelId, messageId)
    if ((message.pinnedAt !== null) === pinned) return message
    if (pinned) await requireRoomForPin(turn, channelId)
    const at = this.#now()
    const pin = pinned ? { pinnedAt: at, pinnedBy: actorId } : { pinnedAt: null, pinnedBy: null }
    await chatMessages.update(turn.sql, { id: messageId }, pin)
    writeChange(turn, cached, { type: pinned ? 'pin' : 'unpin', actorId, at, messageId, data: { messageId } })
    return { ...message, ...pin }
  }

  async #open(turn: Turn, caller: Caller, channelId: string, messageId: string) {
    const cached = await writableChannel(turn, caller, channelId)
    return { actorId: caller.userId, cached, message: await findLiving(turn, channelId, messageId) }
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString()
  }
}

function count(reactions: MessageData['reactions']): number {
  return reactions.reduce((sum, { userIds }) => sum + userIds.length, 0)
}

async function requireRoomForPin(turn: Turn, channelId: string): Promise<void> {
  const count = await chatMessages.count(turn.sql, { channelId, pinnedAt: not(null) })
  if (count >= MAX_PINS)
    throw Conflict({ message: `A channel has at most ${MAX_PINS} pinned messages. Unpin one first.` })
}
