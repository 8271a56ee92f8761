import { sql } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import type { Kind } from '../../../content/types.ts'
import { anyOf, not } from '../../../db/condition.ts'
import { query } from '../../../db/query.ts'
import type { MediaState } from './schemas.ts'
import { assetRenditions, mediaTables } from './tables.ts'

/** Assets and renditions as playout and live streams need them. */

/** Whether a video can be streamed without transcoding. */
export interface StreamingFacts {
  /** Why it cannot, as messages for users. Empty if it can. */
  readonly faults: readonly string[]
  readonly seconds: number
}

export interface PlayableAsset {
  readonly id: string
  readonly name: string
  readonly fileId: string
  readonly kind: Kind
  readonly seconds: number | null
  /** The state of the file's examination, and why it failed. */
  readonly state: MediaState
  readonly error: string | null
  /** Null if the file has not been examined, or was examined by a version that did not record it. */
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

const findPlayable = query(mediaTables, (db, $: { workspaceId: string; ids: readonly string[] }) =>
  db
    .selectFrom('assets as a')
    .innerJoin('assetFiles as f', 'f.id', 'a.fileId')
    .select([
      'a.id',
      'a.name',
      'a.fileId',
      'f.kind',
      'f.seconds',
      'f.thumbnailState as state',
      'f.thumbnailError as error',
      sql<StreamingFacts | null>`nullif(f.probe->'streaming', 'null')`.as('streaming'),
      sql<boolean>`f.probe is not null`.as('examined'),
    ])
    .where('a.workspaceId', '=', $.workspaceId)
    .where(sql<boolean>`a.id = any(${$.ids})`)
    .where('a.deletedAt', 'is', null),
)

/** Assets of a workspace by id, except those in the bin. */
export async function playableAssets(
  on: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, PlayableAsset>> {
  const rows = await findPlayable.rows(on, { workspaceId, ids })
  return new Map(rows.map((row) => [row.id, row]))
}

/** Renditions of a workspace by id. */
export async function playableRenditions(
  on: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, PlayableRendition>> {
  if (ids.length === 0) return new Map()
  const rows = await assetRenditions.find(
    on,
    { workspaceId, id: anyOf(ids) },
    { columns: ['id', 'assetId', 'name', 'state', 'progress', 'error', 'type', 'seconds'] },
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/** The ids of an asset's renditions that are ready or pending. */
export async function usableRenditions(on: Sql, assetId: string): Promise<ReadonlySet<string>> {
  const rows = await assetRenditions.find(on, { assetId, state: not<MediaState>('failed') }, { columns: ['id'] })
  return new Set(rows.map(({ id }) => id))
}
