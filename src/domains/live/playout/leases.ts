import { sql as raw, type RawBuilder } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import { SILENCE_MS } from '../media-nodes/index.ts'
import { streamBroadcasts } from './tables.ts'

/**
 * Leases decide which media node plays a broadcast. A node renews its lease about once a second, by the database clock,
 * which is the same for all nodes. A media process that has lost its host stops playing before the lease expires.
 */

const LEASE = raw.lit(`${SILENCE_MS} milliseconds`)

/** True if no node has the broadcast, or its node is not reachable and the lease has expired. */
function isFree(present: readonly string[]): RawBuilder<boolean> {
  return raw<boolean>`(node_id is null
    or (node_id <> all(${present}) and coalesce(seen_at, '-infinity') < now() - interval ${LEASE}))`
}

const isUnderWay = raw<boolean>`status in ('playing', 'paused')`

interface Search {
  /** Nodes that can be reached. Their broadcasts are not free. */
  readonly present: readonly string[]
  readonly streamId?: string
}

/** Broadcasts that should be played and have no node. */
export const freeBroadcasts = query({ streamBroadcasts }, (db, $: Search) => {
  const found = db.selectFrom('streamBroadcasts').select(['id', 'streamId']).where(isUnderWay).where(isFree($.present))
  return $.streamId === undefined ? found : found.where('streamId', '=', $.streamId)
})

/** Gives free broadcasts to a node. Of two nodes that try at once, the second finds the condition false. */
export const claimBroadcasts = query(
  { streamBroadcasts },
  (db, $: { ids: readonly string[]; present: readonly string[]; nodeId: string }) =>
    db
      .updateTable('streamBroadcasts')
      .set({ nodeId: $.nodeId, seenAt: raw`now()` })
      .where(raw<boolean>`id = any(${$.ids})`)
      .where(isUnderWay)
      .where(isFree($.present))
      .returning('streamId'),
)

/** The position of a broadcast. If it is missing, only the lease is renewed. */
interface Position {
  readonly id: string
  readonly item?: number
  readonly ms?: number
  readonly cue?: number
}

const renew = query({ streamBroadcasts }, (db, $: { positions: string; nodeId: string }) =>
  db
    .updateTable('streamBroadcasts as b')
    .from(
      raw<{ id: string }>`json_to_recordset(${$.positions}::json)`.as<'r'>(
        raw`r (id uuid, item integer, ms bigint, cue integer)`,
      ),
    )
    .set({
      seenAt: raw`now()`,
      item: raw`case when b.cue = r.cue then r.item else b.item end`,
      positionMs: raw`case when b.cue = r.cue then r.ms else b.position_ms end`,
    })
    .whereRef('b.id', '=', 'r.id')
    .where('b.nodeId', '=', $.nodeId)
    .where(raw<boolean>`b.status in ('playing', 'paused')`)
    .returning('b.id'),
)

/**
 * Renews the leases of a node and stores positions. Positions from before the last seek are ignored.
 * @returns the ids of broadcasts that the node still has
 */
export async function renewLeases(
  sql: Sql,
  nodeId: string,
  positions: readonly Position[],
): Promise<ReadonlySet<string>> {
  const rows = await renew.rows(sql, { nodeId, positions: JSON.stringify(positions) })
  return new Set(rows.map(({ id }) => id))
}

/** Releases one broadcast of a node, or all of them. */
export async function releaseBroadcasts(sql: Sql, nodeId: string, id?: string): Promise<void> {
  await streamBroadcasts.update(sql, { nodeId, endedAt: null, ...(id !== undefined && { id }) }, { nodeId: null })
}
