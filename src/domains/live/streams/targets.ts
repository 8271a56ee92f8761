import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import { query } from '../../../db/query.ts'
import { COLUMNS, DESTINATIONS, platformsOfRow, type StreamRow } from './store.ts'
import { streams } from './tables.ts'

/** A stream with the hashes that publishers are checked against. */
export interface StreamTarget extends StreamRow {
  readonly keyHash: string
  readonly backupKeyHash: string | null
  readonly whipTokenHash: string | null
}

/** Names a stream by its id, or by the public part of its ingest key. */
type StreamName = { readonly id: string; readonly path?: never } | { readonly path: string; readonly id?: never }

const target = query({ streams }, (db, $: { id?: string; path?: string }) => {
  const found = db
    .selectFrom('streams')
    .select([...COLUMNS, 'keyHash', 'backupKeyHash', 'whipTokenHash'])
    .select(DESTINATIONS)
  return $.id === undefined ? found.where('path', '=', $.path ?? '') : found.where('id', '=', $.id)
})

/** The part of a stream that media nodes need. */
export async function findTarget(sql: Sql, name: StreamName): Promise<StreamTarget | undefined> {
  const row = await target.row(sql, name)
  return row && { ...row, platforms: platformsOfRow(row.platforms) }
}

export interface NamedStream {
  readonly id: string
  readonly workspaceId: string
  readonly title: string
}

/** The streams that are in one of the workspaces, by id. */
export function streamsIn(
  sql: Sql,
  workspaceIds: readonly string[],
  ids: readonly string[],
): Promise<readonly NamedStream[]> {
  return streams.find(
    sql,
    { id: anyOf(ids), workspaceId: anyOf(workspaceIds) },
    { columns: ['id', 'workspaceId', 'title'], orderBy: ['id asc'] },
  )
}
