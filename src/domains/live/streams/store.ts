import type { SealedBox } from '../../../core/sealed-box.ts'
import type { Sql } from '../../../core/sql.ts'
import type { PageRequest } from '../../../core/page.ts'
import type { InputPreference, InputSource } from './inputs.ts'
import type { RecordGaps } from './record-gaps.ts'
import type { EndReason, StreamData, StreamPlatformData } from './schemas.ts'
import { NO_SLATE, type SlateData } from './slate.ts'
import type { StreamStatus } from './state.ts'

/** A stream as lists show it, its destinations with it. Times are ISO 8601 text already. */
export interface ListedStreamRow {
  readonly id: string
  readonly workspace_id: string
  readonly title: string
  readonly description: string
  readonly status: StreamStatus
  readonly status_reason: EndReason | null
  readonly status_since: string
  /** Null too when no publisher is connected. */
  readonly unconfirmed_since: string | null
  readonly scheduled_for: string | null
  readonly live_at: string | null
  readonly record: boolean
  readonly record_gaps: RecordGaps
  readonly slate: SlateData | null
  readonly hold_seconds: number
  readonly input_preference: InputPreference
  readonly input_selected: InputSource | null
  readonly profile: string
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
  /** Where its publisher is pointed to. */
  readonly media_node: string | null
  readonly platforms: StreamPlatformData[] | null
}

/** A stream as the database has it. */
export interface StreamRow extends ListedStreamRow {
  readonly path: string
  readonly key_sealed: string
  readonly backup_key_sealed: string | null
  readonly key_expires_at: string
  readonly session_id: string | null
  readonly ingest_id: string | null
  readonly ingest_node: string | null
}

const ISO = (column: string) => `to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** Lists leave out what only the stream itself shows: a third of what a page of rows takes to read. */
const LISTED = `s.id, s.workspace_id, s.title, s.description, s.status, s.status_reason, s.status_since,
    case when s.ingest_node is null then null else s.unconfirmed_since end as unconfirmed_since, s.scheduled_for,
    s.live_at, s.record, s.record_gaps, s.slate, s.hold_seconds, s.input_preference, s.input_selected, s.profile, s.version, s.created_at, s.updated_at, s.media_node,
    (select json_agg(json_build_object('_id', d.id, 'platform', d.platform, 'accountId', d.account_id, 'name', d.name,
        'enabled', d.enabled, 'status', d.status, 'since', ${ISO('d.since')}, 'lastError', d.last_error,
        'rendering', d.rendering) order by d.id)
      from stream_destinations d where d.stream_id = s.id) as platforms`

const BY_ID = `select ${LISTED}, s.path, s.key_sealed, s.backup_key_sealed, s.key_expires_at, s.session_id, s.ingest_id,
    s.ingest_node
  from streams s where s.id = $1`

const PAGE_FROM = `select ${LISTED} from streams s
  where s.workspace_id = $1 and s.created_at >= $2 and s.created_at < $3`
const PAGE_END = 'order by s.created_at desc, s.id desc limit $4'
/** One text each, so that each gets a plan that follows its index. */
const PAGES = {
  first: `${PAGE_FROM} ${PAGE_END}`,
  firstOfStatus: `${PAGE_FROM} and s.status = $5 ${PAGE_END}`,
  next: `${PAGE_FROM} and (s.created_at, s.id) < ($5::timestamptz, $6::uuid) ${PAGE_END}`,
  nextOfStatus: `${PAGE_FROM} and s.status = $7 and (s.created_at, s.id) < ($5::timestamptz, $6::uuid) ${PAGE_END}`,
}

export interface StreamFilter {
  readonly workspaceId: string
  readonly status: StreamStatus | undefined
  readonly from: Date | undefined
  readonly to: Date | undefined
}

export function findStream(sql: Sql, id: string): Promise<StreamRow | undefined> {
  return sql.row<StreamRow>(BY_ID, [id])
}

/** One row more than the page holds. */
export function pageOfStreams(sql: Sql, filter: StreamFilter, page: PageRequest): Promise<ListedStreamRow[]> {
  const { status, workspaceId, from, to } = filter
  const common = [workspaceId, from ?? '-infinity', to ?? 'infinity', page.limit + 1]
  if (page.after === undefined) {
    return status === undefined
      ? sql.rows<ListedStreamRow>(PAGES.first, common)
      : sql.rows<ListedStreamRow>(PAGES.firstOfStatus, [...common, status])
  }
  const after = [page.after.createdAt, page.after.id]
  return status === undefined
    ? sql.rows<ListedStreamRow>(PAGES.next, [...common, ...after])
    : sql.rows<ListedStreamRow>(PAGES.nextOfStatus, [...common, ...after, status])
}

/** The API's view of a row, without its secrets. */
export function listedView(row: ListedStreamRow, rtmpIngestUrl: string): StreamData {
  return {
    _id: row.id,
    workspaceId: row.workspace_id,
    title: row.title,
    description: row.description,
    status: row.status,
    endReason: row.status_reason,
    statusSince: row.status_since,
    unconfirmedSince: row.unconfirmed_since,
    rtmpIngestUrl,
    platforms: row.platforms ?? [],
    scheduledFor: row.scheduled_for,
    liveAt: row.live_at,
    record: row.record,
    recordGaps: row.record_gaps,
    slate: row.slate ?? NO_SLATE,
    holdSeconds: row.hold_seconds,
    inputPreference: row.input_preference,
    inputSelected: row.input_selected,
    profile: row.profile,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/**
 * The API's view of a row.
 * @param keys opens the ingest keys, for those who may see it
 */
export function streamView(row: StreamRow, rtmpIngestUrl: string, keys: SealedBox | undefined): StreamData {
  const view = listedView(row, rtmpIngestUrl)
  if (keys === undefined) return view
  return {
    ...view,
    streamKey: keys.open(row.key_sealed),
    streamKeyExpiresAt: row.key_expires_at,
    ...(row.backup_key_sealed === null ? {} : { backupStreamKey: keys.open(row.backup_key_sealed) }),
  }
}
