import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import { streams } from './tables.ts'

/** What the domains above streams read and write of a stream. */

/** The titles of streams by id. */
export async function streamTitles(sql: Sql, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await streams.find(sql, { id: anyOf(ids) }, { columns: ['id', 'title'] })
  return new Map(rows.map(({ id, title }) => [id, title]))
}

/** The media nodes of a stream. */
export interface StreamPlace {
  readonly id: string
  readonly workspaceId: string
  readonly path: string
  /** The node that has its publisher. */
  readonly ingestNode: string | null
  /** The node that publishers are sent to. */
  readonly mediaNode: string | null
}

export function streamPlaces(sql: Sql, ids: readonly string[]): Promise<StreamPlace[]> {
  return streams.find(sql, { id: anyOf(ids) }, { columns: ['id', 'workspaceId', 'path', 'ingestNode', 'mediaNode'] })
}

/** Sets the time at which a stream is planned to start. */
export async function setScheduledTime(sql: Sql, id: string, at: Date): Promise<void> {
  await streams.update(sql, { id }, { scheduledFor: at })
}
