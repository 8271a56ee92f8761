import type { Sql } from '../../../core/sql.ts'
import { anyOf, not } from '../../../db/condition.ts'
import type { LivePlatformName } from './live-platforms.ts'
import { rtmpDestinations } from './tables.ts'

/** What other domains read and write of RTMP destinations. */

interface NamedDestination {
  readonly id: string
  readonly name: string
  readonly platform: LivePlatformName | null
}

/** The named destinations that belong to the workspace. */
export function findDestinations(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<readonly NamedDestination[]> {
  return rtmpDestinations.find(sql, { workspaceId, id: anyOf(ids) }, { columns: ['id', 'name', 'platform'] })
}

/** The platforms of destinations by id. Destinations without a platform are left out. */
export async function platformsOf(sql: Sql, ids: readonly string[]): Promise<ReadonlyMap<string, LivePlatformName>> {
  if (ids.length === 0) return new Map()
  const rows = await rtmpDestinations.find(
    sql,
    { id: anyOf(ids), platform: not(null) },
    { columns: ['id', 'platform'] },
  )
  return new Map(rows.flatMap(({ id, platform }) => (platform === null ? [] : [[id, platform] as const])))
}

/** What a media node needs to connect to a destination. */
export interface DestinationAccess {
  readonly url: string
  readonly platform: LivePlatformName | null
  readonly keySealed: string
  /** When the server first accepted media with this key. */
  readonly workedAt: string | null
}

/** Servers and sealed keys of destinations, by id. */
export async function destinationAccess(
  sql: Sql,
  ids: readonly string[],
): Promise<ReadonlyMap<string, DestinationAccess>> {
  if (ids.length === 0) return new Map()
  const columns = ['id', 'url', 'platform', 'keySealed', 'workedAt'] as const
  const rows = await rtmpDestinations.find(sql, { id: anyOf(ids) }, { columns })
  return new Map(rows.map((row) => [row.id, row]))
}

/** Records that the servers of these destinations accept their keys. The first time counts. */
export async function markWorked(sql: Sql, ids: readonly string[], at: string): Promise<void> {
  if (ids.length > 0) await rtmpDestinations.update(sql, { id: anyOf(ids), workedAt: null }, { workedAt: at })
}
