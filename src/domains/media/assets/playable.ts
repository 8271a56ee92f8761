import type { Sql } from '../../../core/sql.ts'
import type { Kind } from '../../../content/types.ts'
import type { MediaState } from './schemas.ts'

/** What a live stream needs to know of assets and renditions to play them. */

/** Whether a video can be streamed as it is. */
export interface StreamingFacts {
  /** Why not, in sentences for people. Empty when it can. */
  readonly faults: readonly string[]
  readonly seconds: number
}

export interface PlayableAsset {
  readonly id: string
  readonly name: string
  readonly fileId: string
  readonly kind: Kind
  readonly seconds: number | null
  /** State of the examination of the file, and why it failed. */
  readonly state: MediaState
  readonly error: string | null
  /** Null when the examination did not say: it is not done, or was done by an older version. */
  readonly streaming: StreamingFacts | null
  readonly examined: boolean
}

export interface PlayableRendition {
  readonly id: string
  readonly assetId: string
  readonly name: string
  readonly state: MediaState
  readonly progress: number
  readonly error: string | null
  readonly type: string | null
  readonly seconds: number | null
}

/** Assets of a workspace by id, without those in the bin. */
export async function playableAssets(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, PlayableAsset>> {
  const rows = await sql.rows<PlayableAsset>(
    `select a.id, a.name, a.file_id as "fileId", f.kind, f.seconds, f.thumbnail_state as state,
       f.thumbnail_error as error, nullif(f.probe->'streaming', 'null') as streaming, f.probe is not null as examined
     from assets a join asset_files f on f.id = a.file_id
     where a.workspace_id = $1 and a.id = any($2) and a.deleted_at is null`,
    [workspaceId, ids],
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/** Renditions of a workspace by id. */
export async function playableRenditions(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, PlayableRendition>> {
  if (ids.length === 0) return new Map()
  const rows = await sql.rows<PlayableRendition>(
    `select id, asset_id as "assetId", name, state, progress, error, type, seconds
     from asset_renditions where workspace_id = $1 and id = any($2)`,
    [workspaceId, ids],
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/** The ids of an asset's renditions that are ready or being made. */
export async function usableRenditions(sql: Sql, assetId: string): Promise<ReadonlySet<string>> {
  const rows = await sql.rows<{ id: string }>(
    `select id from asset_renditions where asset_id = $1 and state <> 'failed'`,
    [assetId],
  )
  return new Set(rows.map(({ id }) => id))
}
