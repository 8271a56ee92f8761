import type { Caller } from '../../../core/caller.ts'
import { dropOldest } from '../../../tools/drop-oldest.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import type { TokenBucket } from '../../../tools/token-bucket.ts'
import type { MemoryKey, Turn } from '../../../core/turn.ts'
import { channelRows, channelState, isVisibleTo } from './channel-row.ts'
import { ChannelArchived } from './errors.ts'
import type { ChannelData, MessageData } from './schemas.ts'

/** Channels that the actor of one workspace holds in memory. */
const MAX_CHANNELS = 500
/** Messages with a `clientId` that are held per channel, so that a resend needs no lookup. */
const MAX_RECENT = 200

/** A channel in memory. It is always current, because only turns of its workspace change it. */
export class CachedChannel {
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
    dropOldest(this.#recent, MAX_RECENT)
  }

  forgetRecent(): void {
    this.#recent.clear()
  }
}

export const resendKey = (userId: string, clientId: string): string => `${userId}/${clientId}`

/** The channels of a workspace in memory. */
export class ChannelCache {
  readonly #channels = new Map<string, CachedChannel>()
  /** Resend keys, with their channel, for which the prelude of this batch found no message. */
  readonly unsent = new Set<string>()

  get(channelId: string): CachedChannel | undefined {
    return this.#channels.get(channelId)
  }

  add(cached: CachedChannel): void {
    this.#channels.set(cached.channel._id, cached)
  }

  remove(channelId: string): void {
    this.#channels.delete(channelId)
  }

  /** Drops the oldest channels. Called between batches, when none has unwritten changes. */
  trim(): void {
    dropOldest(this.#channels, MAX_CHANNELS)
  }
}

export const CHANNEL_CACHE: MemoryKey<ChannelCache> = { name: 'chat', make: () => new ChannelCache() }

/** Loads channels that are not in memory. */
export async function loadChannels(
  cache: ChannelCache,
  sql: Sql,
  workspaceId: string,
  channelIds: readonly string[],
): Promise<void> {
  const missing = channelIds.filter((id) => cache.get(id) === undefined)
  if (missing.length === 0) return
  const rows = await channelRows.rows(sql, { workspaceId, ids: missing })
  for (const row of rows) cache.add(new CachedChannel(channelState(row), row.seq))
}

/** A channel as of this turn, without a check of visibility. @throws AppError not_found */
export async function loadChannel(turn: Turn, channelId: string): Promise<CachedChannel> {
  const cache = turn.memory(CHANNEL_CACHE)
  if (cache.get(channelId) === undefined) await loadChannels(cache, turn.sql, turn.workspaceId, [channelId])
  const cached = cache.get(channelId)
  if (cached === undefined) throw NotFound()
  return cached
}

/** A channel as of this turn. @throws AppError not_found, also when the caller may not see it */
export async function visibleChannel(
  turn: Turn,
  caller: Pick<Caller, 'userId'>,
  channelId: string,
): Promise<CachedChannel> {
  const cached = await loadChannel(turn, channelId)
  if (!isVisibleTo(cached.channel, caller.userId)) throw NotFound()
  return cached
}

/** A channel that can be written to. @throws AppError not_found, channel_archived */
export async function writableChannel(
  turn: Turn,
  caller: Pick<Caller, 'userId'>,
  channelId: string,
): Promise<CachedChannel> {
  const cached = await visibleChannel(turn, caller, channelId)
  if (cached.channel.archivedAt !== null) throw ChannelArchived()
  return cached
}
