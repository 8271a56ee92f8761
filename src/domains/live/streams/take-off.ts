import { Conflict } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import { query } from '../../../db/query.ts'
import type { ChangedDestination } from '../destinations/index.ts'
import type { StreamNotices } from '../media-nodes/index.ts'
import { streamUpdated } from './events.ts'
import { CUSTOM } from './platforms.ts'
import { isActive } from './state.ts'
import { streamDestinations, streams } from './tables.ts'

const usedBy = query({ streams, streamDestinations }, (db, $: { destinationId: string }) =>
  db
    .selectFrom('streamDestinations as d')
    .innerJoin('streams as s', 's.id', 'd.streamId')
    .select(['s.id', 's.title', 's.status'])
    .where('d.accountId', '=', $.destinationId)
    .orderBy('s.id'),
)

/**
 * Removes an RTMP destination from all streams that use it.
 * @throws AppError conflict while a live stream uses it
 */
export async function takeOffStreams(turn: Turn, destinationId: string, now: Date): Promise<void> {
  const using = await usedBy.rows(turn.sql, { destinationId })
  const busy = using.find((stream) => isActive(stream.status))
  if (busy) {
    throw Conflict({ message: `The stream “${busy.title}” is live with this destination: remove it there first.` })
  }
  await streamDestinations.delete(turn.sql, { accountId: destinationId })
  const ids = using.map(({ id }) => id)
  const changed = await streams.updateReturning(turn.sql, { id: anyOf(ids) }, { version: increment(), updatedAt: now })
  for (const { id: streamId, title, status, version } of changed) {
    turn.emit(streamUpdated, { streamId, title, status, endReason: null, version })
  }
}

/**
 * Applies a change of an RTMP destination to the streams that use it, so that their media nodes connect to the new
 * server. @returns the titles of those that are live, if they reconnect
 */
export async function followDestination(
  turn: Turn,
  { id, name, platform, accessChanged }: ChangedDestination,
  { notices, now }: { readonly notices: StreamNotices; readonly now: Date },
): Promise<readonly string[]> {
  const using = await usedBy.rows(turn.sql, { destinationId: id })
  if (using.length === 0) return []
  await streamDestinations.update(turn.sql, { accountId: id }, { name, platform: platform ?? CUSTOM })
  const ids = using.map((stream) => stream.id)
  const changed = await streams.updateReturning(turn.sql, { id: anyOf(ids) }, { version: increment(), updatedAt: now })
  for (const { id: streamId, status, statusReason: endReason, title, version } of changed) {
    turn.emit(streamUpdated, { streamId, title, status, endReason, version })
    notices.changed(turn, streamId)
  }
  return accessChanged ? using.filter(({ status }) => isActive(status)).map(({ title }) => title) : []
}

/** The title of a live stream that uses an RTMP destination. */
export async function liveStreamWith(sql: Sql, destinationId: string): Promise<string | undefined> {
  const using = await usedBy.rows(sql, { destinationId })
  return using.find(({ status }) => isActive(status))?.title
}
