import { Conflict } from '../../../core/errors.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import { query } from '../../../db/query.ts'
import { streamUpdated } from './events.ts'
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
