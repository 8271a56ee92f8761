import type { Sql } from '../../../core/sql.ts'
import type { BroadcastData, BroadcastStatus } from './schemas.ts'

/** A file of a broadcast, as it is kept with it. */
export interface BroadcastItem {
  readonly assetId: string
  readonly renditionId: string | null
  readonly name: string
  readonly seconds: number | null
  /** Where the file lies in the storage. */
  readonly key: string
  /** The rendition was not named but is made for broadcasts: ordered by this one, or found. */
  readonly prepared?: 'ordered' | 'found'
  /** Where it began when the broadcast began with it or was last sent to it, and by which cue. */
  readonly began?: { readonly cue: number; readonly ms: number }
  /** Why it was left out. */
  readonly error?: string
}

export interface BroadcastRow {
  readonly id: string
  readonly stream_id: string
  readonly workspace_id: string
  readonly status: BroadcastStatus
  readonly items: readonly BroadcastItem[]
  readonly loop: boolean
  readonly go_live: boolean
  readonly item: number
  readonly position_ms: number
  readonly cue: number
  readonly node_id: string | null
  readonly scheduled_for: string | null
  readonly started_at: string | null
  readonly ended_at: string | null
  readonly error: string | null
  /** How far the files are that are made for it, until it begins; null where none is. */
  readonly preparation: { readonly fileCount: number; readonly readyCount: number; readonly progress: number } | null
  readonly created_at: string
  readonly updated_at: string
}

const SELECT = `select id, stream_id, workspace_id, status, items, loop, go_live, item, position_ms, cue, node_id,
    scheduled_for, started_at, ended_at, error, created_at, updated_at,
    (select json_build_object('fileCount', count(*), 'readyCount', count(*) filter (where r.state = 'ready'),
        'progress', floor(avg(r.progress))::int)
      from asset_renditions r
      where stream_broadcasts.status in ('scheduled', 'preparing') and r.id in (
        select (i->>'renditionId')::uuid from jsonb_array_elements(items) i where i ? 'prepared' and not i ? 'error')
      having count(*) > 0) as preparation
  from stream_broadcasts`
const BY_ID = `${SELECT} where id = $1`
const NEWEST = `${SELECT} where stream_id = $1 order by created_at desc, id desc limit 1`
const OPEN = `${SELECT} where stream_id = $1 and status in ('scheduled', 'preparing', 'playing', 'paused')`
const AWAITING = `${SELECT} where workspace_id = $1 and status in ('scheduled', 'preparing')
    and items @> jsonb_build_array(jsonb_build_object('renditionId', $2::text))`

export function findBroadcast(sql: Sql, id: string): Promise<BroadcastRow | undefined> {
  return sql.row<BroadcastRow>(BY_ID, [id])
}

/** Those that have not begun and have a rendition among their files. */
export function broadcastsAwaiting(sql: Sql, workspaceId: string, renditionId: string): Promise<BroadcastRow[]> {
  return sql.rows<BroadcastRow>(AWAITING, [workspaceId, renditionId])
}

/** The one that is scheduled, being prepared or under way. */
export function openBroadcast(sql: Sql, streamId: string): Promise<BroadcastRow | undefined> {
  return sql.row<BroadcastRow>(OPEN, [streamId])
}

export function newestBroadcast(sql: Sql, streamId: string): Promise<BroadcastRow | undefined> {
  return sql.row<BroadcastRow>(NEWEST, [streamId])
}

/** Stops the broadcast of a stream that has ended. */
export async function stopBroadcast(sql: Sql, streamId: string, now: Date): Promise<void> {
  await sql.run(
    `update stream_broadcasts set status = 'stopped', ended_at = $2, updated_at = $2, node_id = null
     where stream_id = $1 and status in ('scheduled', 'preparing', 'playing', 'paused')`,
    [streamId, now],
  )
}

export function broadcastView(row: BroadcastRow): BroadcastData {
  return {
    _id: row.id,
    streamId: row.stream_id,
    status: row.status,
    items: row.items.map(({ assetId, began, error, name, renditionId, seconds }) => ({
      assetId,
      renditionId,
      name,
      duration: seconds,
      startSeconds: began === undefined ? null : began.ms / 1_000,
      error: error ?? null,
    })),
    loop: row.loop,
    item: row.item,
    position: row.position_ms / 1_000,
    preparation: row.preparation,
    scheduledFor: row.scheduled_for,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    error: row.error,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** Assets that broadcasts still need. */
export async function assetsInBroadcasts(sql: Sql, workspaceId: string, assetIds: readonly string[]) {
  const rows = await sql.rows<{ id: string; title: string; asset_id: string }>(
    `select s.id, s.title, i->>'assetId' as asset_id
     from stream_broadcasts b join streams s on s.id = b.stream_id cross join jsonb_array_elements(b.items) i
     where b.workspace_id = $1 and b.status in ('scheduled', 'preparing', 'playing', 'paused') and (i->>'assetId')::uuid = any($2)`,
    [workspaceId, assetIds],
  )
  return rows.map(({ asset_id: assetId, id, title }) => ({ assetId, id, title, kind: 'stream', scheduled: true }))
}
