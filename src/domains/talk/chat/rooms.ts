import { NotFound } from '../../../core/errors.ts'
import type { Caller } from '../../../core/caller.ts'
import type { Sql } from '../../../core/sql.ts'
import type { TokenBucket } from '../../../core/token-bucket.ts'
import type { MemoryKey, Turn } from '../../../core/turn.ts'
import { channelRows, channelState, isVisibleTo } from './channel-row.ts'
import { ChannelArchived } from './errors.ts'
import type { ChannelData, MessageData } from './schemas.ts'

/** Channels that the actor of one workspace holds in memory. */
const MOST_ROOMS = 500
/** Messages with a `clientId` that are held per channel, so that a resend needs no lookup. */
const MOST_RECENT = 200

/** A channel in memory. It is always current, because only turns of its workspace change the channel. */
export class Room {
  channel: ChannelData
  /** Number of the newest change. */
  seq: number
  /** What each user may write, by user. */
  readonly buckets = new Map<string, TokenBucket>()
  readonly #recent = new Map<string, MessageData>()

  constructor(channel: ChannelData, seq: number) {
    this.channel = channel
    this.seq = seq
  }

  /** The message that was sent under a resend key, if it was recent. */
  recent(key: string): MessageData | undefined {
    return this.#recent.get(key)
  }

  remember(key: string, message: MessageData): void {
    this.#recent.set(key, message)
    if (this.#recent.size <= MOST_RECENT) return
    const [oldest] = this.#recent.keys()
    if (oldest !== undefined) this.#recent.delete(oldest)
  }

  forgetRecent(): void {
    this.#recent.clear()
  }
}

export const resendKey = (userId: string, clientId: string): string => `${userId}/${clientId}`

/** The channels of a workspace in memory. */
export class Rooms {
  readonly #rooms = new Map<string, Room>()
  /** Resend keys, with their channel, for which the prelude of this batch found no message. */
  readonly unsent = new Set<string>()

  get(channelId: string): Room | undefined {
    return this.#rooms.get(channelId)
  }

  add(room: Room): void {
    this.#rooms.set(room.channel._id, room)
  }

  remove(channelId: string): void {
    this.#rooms.delete(channelId)
  }

  /** Drops the oldest channels. Called between batches, when none has unwritten changes. */
  trim(): void {
    for (const id of this.#rooms.keys()) {
      if (this.#rooms.size <= MOST_ROOMS) return
      this.#rooms.delete(id)
    }
  }
}

export const ROOMS: MemoryKey<Rooms> = { name: 'chat', make: () => new Rooms() }

/** Loads channels that are not in memory. */
export async function loadRooms(
  rooms: Rooms,
  sql: Sql,
  workspaceId: string,
  channelIds: readonly string[],
): Promise<void> {
  const missing = channelIds.filter((id) => rooms.get(id) === undefined)
  if (missing.length === 0) return
  const rows = await channelRows.rows(sql, { workspaceId, ids: missing })
  for (const row of rows) rooms.add(new Room(channelState(row), row.seq))
}

/** A channel as of this turn, without a check of visibility. @throws AppError not_found */
export async function anyRoomOf(turn: Turn, channelId: string): Promise<Room> {
  const rooms = turn.memory(ROOMS)
  if (rooms.get(channelId) === undefined) await loadRooms(rooms, turn.sql, turn.workspaceId, [channelId])
  const room = rooms.get(channelId)
  if (room === undefined) throw NotFound()
  return room
}

/** A channel as of this turn. @throws AppError not_found, also when the caller may not see it */
export async function roomOf(turn: Turn, caller: Caller, channelId: string): Promise<Room> {
  const room = await anyRoomOf(turn, channelId)
  if (!isVisibleTo(room.channel, caller.userId)) throw NotFound()
  return room
}

/** A channel that can be written to. @throws AppError not_found, channel_archived */
export async function openRoomOf(turn: Turn, caller: Caller, channelId: string): Promise<Room> {
  const room = await roomOf(turn, caller, channelId)
  if (room.channel.archivedAt !== null) throw ChannelArchived()
  return room
}
