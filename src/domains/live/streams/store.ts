import { sql as raw } from 'kysely'
import type { PageRequest } from '../../../core/page.ts'
import type { SealedBox } from '../../../tools/sealed-box.ts'
import type { Sql } from '../../../core/sql.ts'
import { isOneOf, query, type Values } from '../../../db/query.ts'
import type { Row } from '../../../db/row.ts'
import type { StreamData, StreamPlatformData } from './schemas.ts'
import { NO_SLATE } from './slate.ts'
import type { StreamStatus } from './state.ts'
import { streamDestinations, streams, type Stream, type StreamDestination } from './tables.ts'

/** The columns of a stream for lists, and its media nodes. */
const LISTED = [
  'id',
  'workspaceId',
  'title',
  'description',
  'status',
  'statusReason',
  'statusSince',
  'unconfirmedSince',
  'scheduledFor',
  'liveAt',
  'record',
  'recordGaps',
  'slate',
  'holdSeconds',
  'inputPreference',
  'inputSelected',
  'profile',
  'version',
  'createdAt',
  'updatedAt',
  'ingestNode',
  'mediaNode',
] as const
/** The columns of a single stream. */
export const COLUMNS = [
  ...LISTED,
  'path',
  'keySealed',
  'backupKeySealed',
  'keyExpiresAt',
  'sessionId',
  'ingestId',
] as const

interface WithPlatforms {
  readonly platforms: readonly StreamPlatformData[]
}
/** A stream as lists show it, with its destinations. */
export type ListedStreamRow = Readonly<Pick<Row<typeof Stream>, (typeof LISTED)[number]>> & WithPlatforms
/** A stream with its destinations and sealed keys. */
export type StreamRow = Readonly<Pick<Row<typeof Stream>, (typeof COLUMNS)[number]>> & WithPlatforms

type DestinationJson = Readonly<Record<string, unknown>>

/** The destinations of a stream as JSON, in one statement with the stream. */
export const DESTINATIONS = raw<DestinationJson[] | null>`(select json_agg(d order by d.id)
  from stream_destinations d where d.stream_id = streams.id)`.as('platforms')

const byId = query({ streams }, (db, $: { id: string }) =>
  db
    .selectFrom('streams')
    .select([...COLUMNS])
    .select(DESTINATIONS)
    .where('id', '=', $.id),
)

interface PageFilter {
  readonly workspaceId: string
  readonly status?: Values<StreamStatus> | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly after?: string | undefined
  readonly limit: number
}

const page = query({ streams }, (db, $: PageFilter) => {
  let found = db
    .selectFrom('streams')
    .select([...LISTED])
    .select(DESTINATIONS)
    .where('workspaceId', '=', $.workspaceId)
    .orderBy('id', 'desc')
    .limit($.limit)
  if ($.status !== undefined) found = found.where(isOneOf('status', $.status))
  if ($.from !== undefined) found = found.where('createdAt', '>=', $.from)
  if ($.to !== undefined) found = found.where('createdAt', '<', $.to)
  if ($.after !== undefined) found = found.where('id', '<', $.after)
  return found
})

export async function findStream(sql: Sql, id: string): Promise<StreamRow | undefined> {
  const row = await byId.row(sql, { id })
  return row && { ...row, platforms: platformsOfRow(row.platforms) }
}

/** A page of streams, newest first. It has one row more than the page holds. */
export async function pageOfStreams(
  sql: Sql,
  filter: Omit<PageFilter, 'after' | 'limit'>,
  { after, limit }: PageRequest,
): Promise<ListedStreamRow[]> {
  const rows = await page.rows(sql, { ...filter, after: after?.id, limit: limit + 1 })
  return rows.map((row) => ({ ...row, platforms: platformsOfRow(row.platforms) }))
}

export function platformsOfRow(destinations: readonly DestinationJson[] | null): StreamPlatformData[] {
  return (destinations ?? []).map((json) => platformView(streamDestinations.fromColumns(json)))
}

/** The API's view of a destination of a stream. */
export function platformView(row: Omit<Row<typeof StreamDestination>, 'createdAt'>): StreamPlatformData {
  const { id, streamId: _stream, workspaceId: _workspace, ...rest } = row
  const { accountId, enabled, lastError, name, platform, rendering, since, status } = rest
  return { _id: id, platform, accountId, name, enabled, status, since, lastError, rendering }
}

/** The API's view of a row, without its secrets. */
export function listedView(row: ListedStreamRow, rtmpIngestUrl: string): StreamData {
  return {
    _id: row.id,
    workspaceId: row.workspaceId,
    title: row.title,
    description: row.description,
    status: row.status,
    endReason: row.statusReason,
    statusSince: row.statusSince,
    unconfirmedSince: row.ingestNode === null ? null : row.unconfirmedSince,
    rtmpIngestUrl,
    platforms: [...row.platforms],
    scheduledFor: row.scheduledFor,
    liveAt: row.liveAt,
    record: row.record,
    recordGaps: row.recordGaps,
    slate: row.slate ?? NO_SLATE,
    holdSeconds: row.holdSeconds,
    inputPreference: row.inputPreference,
    inputSelected: row.inputSelected,
    profile: row.profile,
    version: row.version,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

/**
 * The API's view of a row.
 * @param keys opens the ingest keys, for callers who may see them
 */
export function streamView(row: StreamRow, rtmpIngestUrl: string, keys: SealedBox | undefined): StreamData {
  const view = listedView(row, rtmpIngestUrl)
  if (keys === undefined) return view
  return {
    ...view,
    streamKey: keys.open(row.keySealed),
    streamKeyExpiresAt: row.keyExpiresAt,
    ...(row.backupKeySealed === null ? {} : { backupStreamKey: keys.open(row.backupKeySealed) }),
  }
}
