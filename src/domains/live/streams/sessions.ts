import type { Static } from 'typebox'
import type { Clock } from '../../../core/clock.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import type { StreamSessionView } from './session-schemas.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly streamSessions: StreamSessions
  }
}

type SessionData = Static<typeof StreamSessionView>

interface Row {
  id: string
  stream_id: string
  started_at: string
  ended_at: string | null
  end_reason: SessionData['endReason']
  destinations: SessionData['destinations']
  peak_viewers: number
  live_ms: number
}

const SELECT = `
  select id, stream_id, started_at, ended_at, end_reason, destinations, peak_viewers,
    (select coalesce(sum(live_ms), 0)::bigint from stream_usage where session_id = stream_sessions.id) as live_ms
  from stream_sessions where stream_id = $1`
const FIRST_PAGE = `${SELECT} order by started_at desc, id desc limit $2`
const NEXT_PAGE = `${SELECT} and (started_at, id) < ($3::timestamptz, $4::uuid) order by started_at desc, id desc limit $2`

/** Reads the recordings of sessions, oldest first, by session. */
export type RecordingsOf = (
  sql: Sql,
  sessionIds: readonly string[],
) => Promise<ReadonlyMap<string, SessionData['recordings']>>

/** The live sessions of a stream, newest first. */
export class StreamSessions {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #recordingsOf: RecordingsOf

  constructor(sql: Sql, clock: Clock, recordingsOf: RecordingsOf) {
    this.#sql = sql
    this.#clock = clock
    this.#recordingsOf = recordingsOf
  }

  async list(streamId: string, { after, limit }: PageRequest): Promise<PageResult<SessionData>> {
    const rows = after
      ? await this.#sql.rows<Row>(NEXT_PAGE, [streamId, limit + 1, after.createdAt, after.id])
      : await this.#sql.rows<Row>(FIRST_PAGE, [streamId, limit + 1])
    const recordings = await this.#recordingsOf(
      this.#sql,
      rows.map(({ id }) => id),
    )
    return pageOf(
      rows,
      limit,
      (row) => ({ createdAt: row.started_at, id: row.id }),
      (row) => this.#view(row, recordings.get(row.id) ?? []),
    )
  }

  #view(row: Row, recordings: SessionData['recordings']): SessionData {
    const end = row.ended_at === null ? this.#clock.now() : Date.parse(row.ended_at)
    return {
      _id: row.id,
      streamId: row.stream_id,
      startedAt: row.started_at,
      endedAt: row.ended_at,
      endReason: row.end_reason,
      duration: Math.max(0, Math.round((end - Date.parse(row.started_at)) / 1000)),
      liveSeconds: Math.floor(row.live_ms / 1000),
      peakViewers: row.peak_viewers,
      destinations: row.destinations,
      recordings,
      recordingAssetId: recordings.find(({ assetId }) => assetId !== null)?.assetId ?? null,
      createdAt: row.started_at,
      updatedAt: row.ended_at ?? row.started_at,
    }
  }
}
