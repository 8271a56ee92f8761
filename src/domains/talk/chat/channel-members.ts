import type { Caller, Member } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { Conflict, Forbidden, NotFound } from '../../../core/errors.ts'
import type { Turn } from '../../../core/turn.ts'
import { requireMembers } from '../../workspace/workspaces/index.ts'
import type { ChannelMemberships } from './channel-memberships.ts'
import { addMembers, MAX_MEMBERS } from './channels.ts'
import { writeChange } from './change-writer.ts'
import { NotOfThisKind } from './errors.ts'
import { channelCreated, channelLeft, channelUpdated } from './events.ts'
import { loadChannel, writableChannel, visibleChannel, type CachedChannel } from './channel-cache.ts'
import type { ChannelData } from './schemas.ts'
import { byCode } from './state.ts'
import { channelMembers } from './tables.ts'

/** Adds and removes members of private channels. All methods run in turns. */
export class ChannelMembers {
  readonly #clock: Clock
  readonly #memberships: ChannelMemberships

  constructor(clock: Clock, memberships: ChannelMemberships) {
    this.#clock = clock
    this.#memberships = memberships
  }

  /** Users who are members already are skipped. @throws AppError not_found, wrong_channel_kind, channel_archived, … */
  async add(turn: Turn, caller: Caller, channelId: string, userIds: readonly string[]): Promise<ChannelData> {
    const cached = await writableChannel(turn, caller, channelId)
    requireList(cached.channel)
    await requireMembers(turn, 'userIds', userIds)
    const added = userIds.filter((id) => !cached.channel.memberIds.includes(id))
    if (added.length === 0) return cached.channel
    if (cached.channel.memberIds.length + added.length > MAX_MEMBERS) {
      throw Conflict({ message: `A private channel has at most ${MAX_MEMBERS} members. Remove others first.` })
    }
    addMembers(turn, channelId, added)
    const channel = this.#write(turn, cached, caller.userId, added, [])
    turn.audit({ kind: 'channel', id: channelId, details: { added } })
    turn.emit(channelUpdated, channel, { channel: channelId })
    for (const user of added) turn.emit(channelCreated, channel, { user })
    return channel
  }

  /**
   * Members may remove themselves. The creator of the channel and members with team:manage may remove others.
   * @throws AppError not_found, wrong_channel_kind, forbidden, conflict for the last member
   */
  async remove(turn: Turn, caller: Caller, member: Member, channelId: string, userId: string): Promise<void> {
    const cached = await visibleChannel(turn, caller, channelId)
    const { channel } = cached
    requireList(channel)
    if (!channel.memberIds.includes(userId)) throw NotFound()
    if (userId !== caller.userId && channel.createdBy !== caller.userId && !member.scopes.has('team:manage')) {
      throw Forbidden({
        message: 'Only the creator of the channel, or a member with the scope team:manage, can remove others.',
      })
    }
    if (channel.memberIds.length === 1) {
      throw Conflict({ message: 'The last member cannot be removed. Archive or delete the channel instead.' })
    }
    await channelMembers.delete(turn.sql, { channelId, userId })
    const left = this.#write(turn, cached, caller.userId, [], [userId])
    turn.audit({ kind: 'channel', id: channelId, details: { removed: userId } })
    turn.emit(channelLeft, { channelId }, { user: userId })
    turn.emit(channelUpdated, left, { channel: channelId })
  }

  /** Removes a user from all channels. Called in the turn that ends their membership, before it is deleted. */
  async leaveAll(turn: Turn, by: string, userId: string): Promise<void> {
    const rows = await channelMembers.deleteReturning(turn.sql, { workspaceId: turn.workspaceId, userId })
    for (const { channelId } of rows) {
      const cached = await loadChannel(turn, channelId)
      const left = this.#write(turn, cached, by, [], [userId])
      turn.emit(channelUpdated, left, { channel: channelId })
    }
  }

  #write(
    turn: Turn,
    cached: CachedChannel,
    actorId: string,
    added: readonly string[],
    removed: readonly string[],
  ): ChannelData {
    const kept = cached.channel.memberIds.filter((id) => !removed.includes(id) && !added.includes(id))
    const channel = { ...cached.channel, memberIds: [...kept, ...added].sort(byCode) }
    const at = new Date(this.#clock.now()).toISOString()
    writeChange(turn, cached, { type: 'members', actorId, at, data: { added: [...added], removed: [...removed] } })
    turn.settled(() => {
      cached.channel = channel
    })
    this.#memberships.changed(turn)
    return channel
  }
}

function requireList(channel: ChannelData): void {
  if (channel.kind === 'dm' || !channel.private) throw NotOfThisKind()
}
