import { sql as raw } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import { streams } from './tables.ts'

/** Streams that need a turn because time has passed or a media node is gone. */

export interface OverdueStream {
  readonly id: string
  readonly workspaceId: string
}

const expired = query({ streams }, (db, $: { now: Date; limit: number }) =>
  db
    .selectFrom('streams')
    .select(['id', 'workspaceId'])
    // A literal, so that PostgreSQL uses the partial index.
    .where(raw<boolean>`status = 'interrupted'`)
    .where(raw<boolean>`status_since + hold_seconds * interval '1 second' <= ${$.now}`)
    .orderBy('statusSince')
    .limit($.limit),
)

/** Streams whose publisher did not come back within the hold, the oldest first. */
export function expiredStreams(sql: Sql, now: Date, limit: number): Promise<OverdueStream[]> {
  return expired.rows(sql, { now, limit })
}

interface LostStream extends OverdueStream {
  readonly nodeId: string | null
}

const lost = query({ streams }, (db, $: { present: readonly string[]; limit: number }) =>
  db
    .selectFrom('streams')
    .select(['id', 'workspaceId', 'ingestNode as nodeId'])
    .where(raw<boolean>`ingest_node is not null and ingest_node <> all(${$.present})`)
    .unionAll(
      db
        .selectFrom('streams')
        .select(['id', 'workspaceId', 'mediaNode as nodeId'])
        .where(raw<boolean>`status = 'interrupted' and ingest_node is null and media_node <> all(${$.present})`)
        .where(
          raw<boolean>`exists (select from stream_destinations d
            where d.stream_id = streams.id and d.status in ('live', 'congested'))`,
        ),
    )
    .limit($.limit),
)

/** Streams whose publisher or connected destinations are on a media node that is not present. */
export function lostStreams(sql: Sql, present: readonly string[], limit: number): Promise<LostStream[]> {
  return lost.rows(sql, { present, limit })
}
