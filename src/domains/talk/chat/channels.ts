import type { Caller } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { Conflict, ValidationFailed } from '../../../core/errors.ts'
import { sha256, uuidv7 } from '../../../tools/id.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { Static } from '../../../core/schema.ts'
import type { Turn } from '../../../core/turn.ts'
import { not, sameText } from '../../../db/condition.ts'
import type { PlanService } from '../../money/plans/index.ts'
import { requireMembers } from '../../workspace/workspaces/index.ts'
import { channelRows, channelState } from './channel-row.ts'
import type { ChannelMemberships } from './channel-memberships.ts'
import { writeChange } from './change-writer.ts'
import { ChannelArchived, ChannelNameTaken, NotOfThisKind } from './errors.ts'
import { channelCreated, channelDeleted, channelUpdated } from './events.ts'
import { loadChannel, CachedChannel, visibleChannel, CHANNEL_CACHE } from './channel-cache.ts'
import type { ChannelChange, ChannelData, NewChannel } from './schemas.ts'
import { byCode } from './state.ts'
import { channelMembers, channels } from './tables.ts'

type NewChannelInput = Static<typeof NewChannel>

export const MAX_MEMBERS = 500
const MAX_OTHERS = 8

/** Creates, changes and deletes channels and direct conversations. All methods run in turns. */
export class ChannelService {
  readonly #clock: Clock
  readonly #memberships: ChannelMemberships
  readonly #plans: PlanService

  constructor(clock: Clock, memberships: ChannelMemberships, plans: PlanService) {
    this.#clock = clock
    this.#memberships = memberships
    this.#plans = plans
  }

  /**
   * @returns the channel, and whether it is new: the same people share one direct conversation
   * @throws AppError validation_failed, channel_name_taken, plan_limit_reached, conflict
   */
  async create(turn: Turn, caller: Caller, input: NewChannelInput): Promise<{ channel: ChannelData; isNew: boolean }> {
    return input.kind === 'dm' ? this.#openDm(turn, caller, input) : this.#createChannel(turn, caller, input)
  }

  /** @throws AppError not_found, validation_failed, precondition_failed, channel_name_taken, channel_archived, wrong_channel_kind */
  async update(
    turn: Turn,
    caller: Caller,
    channelId: string,
    change: Static<typeof ChannelChange>,
    ifMatch: IfMatch,
  ): Promise<ChannelData> {
    const cached = await visibleChannel(turn, caller, channelId)
    const before = cached.channel
    requireVersion(ifMatch, before.version)
    if (before.kind === 'dm') throw NotOfThisKind()
    if (change.name === null) throw fault('name', 'required', 'is required for a channel')
    const name = change.name ?? before.name
    const topic = change.topic === undefined ? before.topic : change.topic || null
    const archived = change.archived ?? before.archivedAt !== null
    const isEdited = name !== before.name || topic !== before.topic
    if (before.archivedAt !== null && archived && isEdited) throw ChannelArchived()
    if (change.name !== undefined) await requireFree(turn, change.name, channelId)
    const at = new Date(this.#clock.now()).toISOString()
    const channel: ChannelData = {
      ...before,
      name,
      topic,
      archivedAt: archived ? (before.archivedAt ?? at) : null,
      version: before.version + 1,
      updatedAt: at,
    }
    const { archivedAt, version } = channel
    await channels.update(turn.sql, { id: channelId }, { name, topic, archivedAt, version, updatedAt: at })
    writeChange(turn, cached, { type: 'channel', actorId: caller.userId, at, data: { channel } })
    turn.settled(() => {
      cached.channel = channel
    })
    turn.audit({ kind: 'channel', id: channelId, details: { ...change } })
    turn.emit(channelUpdated, channel, audienceOf(channel))
    return channel
  }

  /** @throws AppError not_found, precondition_failed, wrong_channel_kind */
  async delete(turn: Turn, caller: Caller, channelId: string, ifMatch: IfMatch): Promise<void> {
    const { channel } = await visibleChannel(turn, caller, channelId)
    requireVersion(ifMatch, channel.version)
    if (channel.kind === 'dm')
      throw NotOfThisKind({ message: 'A direct conversation cannot be deleted. Delete your messages in it instead.' })
    await channels.delete(turn.sql, { id: channelId })
    turn.settled(() => turn.memory(CHANNEL_CACHE).remove(channelId))
    turn.audit({ kind: 'channel', id: channelId, details: { name: channel.name } })
    if (!channel.private) return turn.emit(channelDeleted, { channelId })
    // When the event is sent, the channel no longer has members, so the event names each of them.
    for (const user of channel.memberIds) turn.emit(channelDeleted, { channelId }, { user })
    this.#memberships.changed(turn)
  }

  async #createChannel(turn: Turn, caller: Caller, input: NewChannelInput) {
    const { memberIds = [], name, topic = '', userIds } = input
    if (name === undefined) throw fault('name', 'required', 'is required for a channel')
    if (userIds !== undefined) throw fault('userIds', 'not_here', 'belongs to a direct conversation; use memberIds')
    if (input.private !== true && memberIds.length > 0) {
      throw fault('memberIds', 'not_here', 'only a private channel has members; leave it out, or set `private`')
    }
    await requireFree(turn, name)
    const count = await channels.count(turn.sql, { workspaceId: turn.workspaceId, kind: 'channel' })
    await this.#plans.requireRoom(turn.workspaceId, 'channels', count)
    const isPrivate = input.private === true
    const members = isPrivate ? [...new Set([caller.userId, ...memberIds])].sort(byCode) : []
    if (members.length > MAX_MEMBERS) {
      throw Conflict({ message: `A private channel has at most ${MAX_MEMBERS} members. Name fewer in memberIds.` })
    }
    await requireMembers(turn, 'memberIds', memberIds)
    const channel = this.#insert(turn, caller, {
      kind: 'channel',
      name,
      topic: topic || null,
      private: isPrivate,
      members,
    })
    turn.audit({ kind: 'channel', id: channel._id, details: { name, private: isPrivate } })
    return { channel, isNew: true }
  }

  async #openDm(turn: Turn, caller: Caller, input: NewChannelInput) {
    for (const field of ['name', 'topic', 'private', 'memberIds'] as const) {
      if (input[field] !== undefined)
        throw fault(field, 'not_here', 'belongs to a channel, not to a direct conversation')
    }
    const others = (input.userIds ?? []).filter((id) => id !== caller.userId)
    if (others.length === 0 || others.length > MAX_OTHERS) {
      throw fault('userIds', 'count', `must name 1 to ${MAX_OTHERS} others`)
    }
    await requireMembers(turn, 'userIds', others, input.userIds)
    const members = [caller.userId, ...others].sort(byCode)
    const { sql, workspaceId } = turn
    const known = await channelRows.row(sql, { workspaceId, people: sha256(members.join()) })
    if (known === undefined) {
      const count = await channels.count(sql, { workspaceId, kind: 'dm' })
      await this.#plans.requireRoom(workspaceId, 'directConversations', count)
      const channel = this.#insert(turn, caller, { kind: 'dm', name: null, topic: null, private: true, members })
      return { channel, isNew: true }
    }
    return { channel: await this.#readmit(turn, caller, channelState(known), members), isNew: false }
  }

  /** Adds users back to their conversation after they left the workspace and returned. */
  async #readmit(turn: Turn, caller: Caller, channel: ChannelData, members: string[]): Promise<ChannelData> {
    const added = members.filter((id) => !channel.memberIds.includes(id))
    if (added.length === 0) return channel
    addMembers(turn, channel._id, added)
    const whole = { ...channel, memberIds: members }
    const cached = await loadChannel(turn, channel._id)
    const at = new Date(this.#clock.now()).toISOString()
    writeChange(turn, cached, { type: 'members', actorId: caller.userId, at, data: { added, removed: [] } })
    turn.settled(() => {
      cached.channel = whole
    })
    turn.emit(channelCreated, whole, { channel: channel._id })
    this.#memberships.changed(turn)
    return whole
  }

  #insert(
    turn: Turn,
    caller: Caller,
    made: Pick<ChannelData, 'kind' | 'name' | 'topic' | 'private'> & { members: string[] },
  ): ChannelData {
    const { members, ...fields } = made
    const at = new Date(this.#clock.now()).toISOString()
    const channel: ChannelData = {
      _id: uuidv7(this.#clock.now()),
      workspaceId: turn.workspaceId,
      ...fields,
      archivedAt: null,
      createdBy: caller.userId,
      memberIds: members,
      version: 1,
      createdAt: at,
      updatedAt: at,
    }
    turn.insert(channels, {
      id: channel._id,
      workspaceId: turn.workspaceId,
      ...fields,
      people: channel.kind === 'dm' ? sha256(members.join()) : null,
      createdBy: caller.userId,
      version: 1,
      createdAt: at,
      updatedAt: at,
    })
    addMembers(turn, channel._id, members)
    const cached = new CachedChannel(channel, 0)
    writeChange(turn, cached, { type: 'channel', actorId: caller.userId, at, data: { channel } })
    turn.settled(() => turn.memory(CHANNEL_CACHE).add(cached))
    turn.emit(channelCreated, channel, audienceOf(channel))
    if (channel.private) this.#memberships.changed(turn)
    return channel
  }
}

/** The audience of a channel's events: its members if it is private, otherwise everyone with the scope. */
export function audienceOf(channel: ChannelData): { readonly channel: string } | undefined {
  return channel.private ? { channel: channel._id } : undefined
}

export function addMembers(turn: Turn, channelId: string, userIds: readonly string[]): void {
  for (const userId of userIds) turn.insert(channelMembers, { channelId, workspaceId: turn.workspaceId, userId })
}

/** @param except the channel that is renamed */
async function requireFree({ sql, workspaceId }: Turn, name: string, except?: string): Promise<void> {
  const named = { workspaceId, name: sameText(name), ...(except !== undefined && { id: not(except) }) }
  if (await channels.exists(sql, named)) throw ChannelNameTaken()
}

function fault(field: string, code: string, message: string) {
  return ValidationFailed({ errors: [{ path: `/body/${field}`, code, message }] })
}
