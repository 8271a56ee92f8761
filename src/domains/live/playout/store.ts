import { sql as raw } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import { query } from '../../../db/query.ts'
import { playableRenditions } from '../../media/assets/index.ts'
import { streamTitles } from '../streams/index.ts'
import type { BroadcastData } from './schemas.ts'
import { streamBroadcasts, type BroadcastItem, type BroadcastRow } from './tables.ts'

const OPEN = anyOf(['scheduled', 'preparing', 'playing', 'paused'] as const)

// States are literals, so that PostgreSQL uses the partial index of open broadcasts.
const waitingFor = query({ streamBroadcasts }, (db, $: { workspaceId: string; renditionId: string }) =>
  db
    .selectFrom('streamBroadcasts')
    .select('id')
    .where('workspaceId', '=', $.workspaceId)
    .where(raw<boolean>`status in ('scheduled', 'preparing')`)
    .where(raw<boolean>`items @> jsonb_build_array(jsonb_build_object('renditionId', ${$.renditionId}::text))`),
)
const openWithAssets = query({ streamBroadcasts }, (db, $: { workspaceId: string; assetIds: readonly string[] }) =>
  db
    .selectFrom('streamBroadcasts')
    .select(['streamId', 'items'])
    .where('workspaceId', '=', $.workspaceId)
    .where(raw<boolean>`status in ('scheduled', 'preparing', 'playing', 'paused')`)
    .where(
      raw<boolean>`exists (select from jsonb_array_elements(items) i where (i->>'assetId')::uuid = any(${$.assetIds}))`,
    ),
)

export function findBroadcast(sql: Sql, id: string): Promise<BroadcastRow | undefined> {
  return streamBroadcasts.first(sql, { id })
}

/** The broadcasts that have not started and have a rendition among their files. */
export async function broadcastsAwaiting(sql: Sql, workspaceId: string, renditionId: string): Promise<BroadcastRow[]> {
  const rows = await waitingFor.rows(sql, { workspaceId, renditionId })
  return rows.length === 0 ? [] : streamBroadcasts.find(sql, { id: anyOf(rows.map(({ id }) => id)) })
}

/** The broadcast of a stream that is scheduled, being prepared, playing or paused. A stream has at most one. */
export function openBroadcast(sql: Sql, streamId: string): Promise<BroadcastRow | undefined> {
  return streamBroadcasts.first(sql, { streamId, status: OPEN })
}

export function newestBroadcast(sql: Sql, streamId: string): Promise<BroadcastRow | undefined> {
  return streamBroadcasts.first(sql, { streamId }, { orderBy: ['id desc'] })
}

/** Stops the open broadcast of a stream that has ended. */
export async function stopBroadcast(sql: Sql, streamId: string, now: Date): Promise<void> {
  await streamBroadcasts.update(
    sql,
    { streamId, status: OPEN },
    { status: 'stopped', endedAt: now, updatedAt: now, nodeId: null },
  )
}

/** A broadcast as the API shows it. Reads renditions while files are converted for it. */
export async function broadcastView(sql: Sql, row: BroadcastRow): Promise<BroadcastData> {
  return {
    _id: row.id,
    streamId: row.streamId,
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
    position: row.positionMs / 1_000,
    preparation: await preparationOf(sql, row),
    scheduledFor: row.scheduledFor,
    startedAt: row.startedAt,
    endedAt: row.endedAt,
    error: row.error,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

/** How far the conversion of its files is, until the broadcast starts. Null when nothing is converted for it. */
async function preparationOf(
  sql: Sql,
  { items, status, workspaceId }: BroadcastRow,
): Promise<BroadcastData['preparation']> {
  if (status !== 'scheduled' && status !== 'preparing') return null
  const found = await playableRenditions(sql, workspaceId, preparedRenditions(items.filter(({ error }) => !error)))
  if (found.size === 0) return null
  const renditions = [...found.values()]
  const progress = renditions.reduce((sum, one) => sum + one.progress, 0) / renditions.length
  return {
    fileCount: renditions.length,
    readyCount: renditions.filter(({ state }) => state === 'ready').length,
    progress: Math.floor(progress),
  }
}

/** The renditions that are converted for a broadcast. */
export function preparedRenditions(items: readonly BroadcastItem[]): string[] {
  return items.flatMap(({ prepared, renditionId }) => (prepared && renditionId ? [renditionId] : []))
}

/** The streams whose open broadcasts need some assets. */
export async function assetsInBroadcasts(sql: Sql, workspaceId: string, assetIds: readonly string[]) {
  const rows = await openWithAssets.rows(sql, { workspaceId, assetIds })
  const titles = await streamTitles(
    sql,
    rows.map(({ streamId }) => streamId),
  )
  const wanted = new Set(assetIds)
  return rows.flatMap(({ items, streamId: id }) => {
    const used = items.filter(({ assetId }) => wanted.has(assetId))
    return used.map(({ assetId }) => ({
      assetId,
      id,
      title: titles.get(id) ?? '',
      kind: 'stream',
      scheduled: true,
    }))
  })
}
