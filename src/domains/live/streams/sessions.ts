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
  recordings: SessionData['recordings'] | null
}

const SELECT = `
  select id, stream_id, started_at, ended_at, end_reason, destinations, peak_viewers,
    (select coalesce(sum(live_ms), 0)::bigint from stream_usage where session_id = stream_sessions.id) as live_ms,
    (select json_agg(json_build_object('assetId', r.asset_id, 'status', r.status, 'error', r.error, 'size', r.bytes,
        'duration', r.seconds, 'startedAt', to_char(r.started_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
        order by r.started_at)
      from stream_recordings r where r.session_id = stream_sessions.id) as recordings
  from stream_sessions where stream_id = $1`
const FIRST_PAGE = `${SELECT} order by started_at desc, id desc limit $2`
const NEXT_PAGE = `${SELECT} and (started_at, id) < ($3::timestamptz, $4::uuid) order by started_at desc, id desc limit $2`

/** The broadcasts of a stream, the one under way first. */
export class StreamSessions {
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  async list(streamId: string, { after, limit }: PageRequest): Promise<PageResult<SessionData>> {
    const rows = after
      ? await this.#sql.rows<Row>(NEXT_PAGE, [streamId, limit + 1, after.createdAt, after.id])
      : await this.#sql.rows<Row>(FIRST_PAGE, [streamId, limit + 1])
    return pageOf(
      rows,
      limit,
      (row) => ({ createdAt: row.started_at, id: row.id }),
      (row) => this.#view(row),
    )
  }

  #view(row: Row): SessionData {
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
      recordings: row.recordings ?? [],
      recordingAssetId: row.recordings?.find(({ assetId }) => assetId !== null)?.assetId ?? null,
      createdAt: row.started_at,
      updatedAt: row.ended_at ?? row.started_at,
    }
  }
}
