import { sql as raw } from 'kysely'
import type { Static } from 'typebox'
import type { Clock } from '../../../core/clock.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import { Provided } from '../../../core/provided.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import { query } from '../../../db/query.ts'
import type { Row } from '../../../db/row.ts'
import type { SessionDestination, StreamSessionView } from './session-schemas.ts'
import { streams, streamSessions, streamUsage, type StreamSession } from './tables.ts'

type SessionData = Static<typeof StreamSessionView>

interface PageFilter {
  readonly streamId: string
  readonly after?: string | undefined
  readonly limit: number
}

const page = query({ streamSessions, streamUsage }, (db, $: PageFilter) => {
  const found = db
    .selectFrom('streamSessions as s')
    .select(['s.id', 's.streamId', 's.startedAt', 's.endedAt', 's.endReason', 's.destinations', 's.peakViewers'])
    .select((e) =>
      e
        .selectFrom('streamUsage as u')
        .select(raw<number>`coalesce(sum(u.live_ms), 0)::bigint`.as('ms'))
        .whereRef('u.sessionId', '=', 's.id')
        .as('liveMs'),
    )
    .where('s.streamId', '=', $.streamId)
    .orderBy('s.id', 'desc')
    .limit($.limit)
  return $.after === undefined ? found : found.where('s.id', '<', $.after)
})

type SessionRow = Omit<Row<typeof StreamSession>, 'workspaceId' | 'ownerId' | 'warnedMinutes'> & {
  readonly liveMs: number | null
}

/** Reads the recordings of sessions, oldest first, by session. */
type RecordingsOf = (sql: Sql, sessionIds: readonly string[]) => Promise<ReadonlyMap<string, SessionData['recordings']>>

/** The live sessions of a stream, newest first. */
export class StreamSessions {
  readonly recordingsOf = new Provided<RecordingsOf>('the recordings of sessions')
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  async list(streamId: string, { after, limit }: PageRequest): Promise<PageResult<SessionData>> {
    const rows = await page.rows(this.#sql, { streamId, after: after?.id, limit: limit + 1 })
    const recordings = await this.recordingsOf.get()(
      this.#sql,
      rows.map(({ id }) => id),
    )
    return pageOf(
      rows,
      limit,
      (row) => ({ createdAt: row.startedAt, id: row.id }),
      (row) => this.#view(row, recordings.get(row.id) ?? []),
    )
  }

  #view(row: SessionRow, recordings: SessionData['recordings']): SessionData {
    const end = row.endedAt === null ? this.#clock.now() : Date.parse(row.endedAt)
    return {
      _id: row.id,
      streamId: row.streamId,
      startedAt: row.startedAt,
      endedAt: row.endedAt,
      endReason: row.endReason,
      duration: Math.max(0, Math.round((end - Date.parse(row.startedAt)) / 1000)),
      liveSeconds: Math.floor((row.liveMs ?? 0) / 1000),
      peakViewers: row.peakViewers,
      destinations: row.destinations,
      recordings,
      recordingAssetId: recordings.find(({ assetId }) => assetId !== null)?.assetId ?? null,
      createdAt: row.startedAt,
      updatedAt: row.endedAt ?? row.startedAt,
    }
  }
}

const raisePeaks = query({ streamSessions }, (db, $: { peaks: string }) =>
  db
    .updateTable('streamSessions as s')
    .from(
      raw<{ id: string; peak: number }>`json_to_recordset(${$.peaks}::json)`.as<'r'>(raw`r (id uuid, peak integer)`),
    )
    .set({ peakViewers: raw`r.peak` })
    .whereRef('s.id', '=', 'r.id')
    .whereRef('s.peakViewers', '<', 'r.peak'),
)

/** Records how many viewers sessions had at the same time. The largest number counts. */
export async function recordPeaks(
  sql: Sql,
  peaks: readonly { readonly id: string; readonly peak: number }[],
): Promise<void> {
  await raisePeaks.run(sql, { peaks: JSON.stringify(peaks) })
}

/** A live session with the title of its stream. */
export interface SessionInSpan {
  readonly id: string
  readonly streamId: string
  readonly title: string
  readonly startedAt: string
  /** Null while it lasts. */
  readonly endedAt: string | null
  readonly peakViewers: number
  /** Milliseconds with incoming media. */
  readonly liveMs: number
  readonly destinations: readonly SessionDestination[]
}

const inSpan = query(
  { streams, streamSessions, streamUsage },
  (db, $: { workspaceId: string; from: string; to: string; limit: number }) =>
    db
      .selectFrom('streamSessions as s')
      .innerJoin('streams as t', 't.id', 's.streamId')
      .select(['s.id', 's.streamId', 't.title', 's.startedAt', 's.endedAt', 's.peakViewers', 's.destinations'])
      .select((e) =>
        e
          .selectFrom('streamUsage as u')
          .select(raw<number>`coalesce(sum(u.live_ms), 0)::bigint`.as('ms'))
          .whereRef('u.sessionId', '=', 's.id')
          .as('liveMs'),
      )
      .where('t.workspaceId', '=', $.workspaceId)
      .where('s.startedAt', '>=', $.from)
      .where('s.startedAt', '<', $.to)
      .orderBy('s.startedAt', 'desc')
      .limit($.limit),
)

/** The sessions that started between two times, newest first. */
export async function sessionsBetween(
  sql: Sql,
  span: { readonly workspaceId: string; readonly from: string; readonly to: string; readonly limit: number },
): Promise<SessionInSpan[]> {
  const rows = await inSpan.rows(sql, span)
  return rows.map((row) => ({ ...row, liveMs: row.liveMs ?? 0 }))
}

/** A session of a stream, or undefined. */
export function findSession(sql: Sql, streamId: string, id: string) {
  return streamSessions.first(sql, { id, streamId })
}

/** Which of the sessions still exist. */
export async function knownSessions(sql: Sql, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await streamSessions.find(sql, { id: anyOf(ids) }, { columns: ['id'] })
  return new Set(rows.map(({ id }) => id))
}
