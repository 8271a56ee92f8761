import { Conflict } from '../../../core/errors.ts'
import type { Turn } from '../../../core/turn.ts'
import { streamUpdated } from './events.ts'
import { isOnAir, type StreamStatus } from './state.ts'

/**
 * Removes an RTMP destination from all streams that use it.
 * @throws AppError conflict while a live stream uses it
 */
export async function takeOffStreams(turn: Turn, destinationId: string, now: Date): Promise<void> {
  const using = await turn.sql.rows<{ id: string; title: string; status: StreamStatus }>(
    `select s.id, s.title, s.status from stream_destinations d join streams s on s.id = d.stream_id
     where d.account_id = $1 order by s.id`,
    [destinationId],
  )
  const busy = using.find((stream) => isOnAir(stream.status))
  if (busy) {
    throw Conflict({ message: `The stream “${busy.title}” is live with this destination: remove it there first.` })
  }
  await turn.sql.run('delete from stream_destinations where account_id = $1', [destinationId])
  const changed = await turn.sql.rows<{ id: string; title: string; status: StreamStatus; version: number }>(
    'update streams set version = version + 1, updated_at = $2 where id = any($1) returning id, title, status, version',
    [using.map((stream) => stream.id), now],
  )
  for (const { id: streamId, title, status, version } of changed) {
    turn.emit(streamUpdated, { streamId, title, status, endReason: null, version })
  }
}
