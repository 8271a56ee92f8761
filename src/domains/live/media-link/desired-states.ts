import { timingSafeEqual } from 'node:crypto'
import type { DesiredStream, PublishDecision, PublishRequest } from '../../../../media/types.ts'
import { MINUTE, SECOND, type Clock } from '../../../core/clock.ts'
import type { Switches } from '../../../core/ports.ts'
import type { SealedBox } from '../../../core/sealed-box.ts'
import type { Sql } from '../../../core/sql.ts'
import type { PlanService } from '../../money/plans/index.ts'
import { fileKey } from '../../media/assets/index.ts'
import {
  backupPath,
  type InputPreference,
  type InputSource,
  isOnAir,
  monthOf,
  primaryPath,
  type RecordGaps,
  type RenderingData,
  renderingOf,
  type StreamStatus,
  usedMs,
} from '../streams/index.ts'
import type { DesiredPlayout, DesiredStateWithPlayout } from '../playout/index.ts'
import { type LivePlatformName, rulesOf } from '../destinations/index.ts'

/** What a media node has to do with a stream, file playout included. */
export type DesiredState = DesiredStateWithPlayout

interface Row {
  id: string
  workspace_id: string
  owner_id: string
  path: string
  key_hash: string
  backup_key_hash: string | null
  whip_token_hash: string | null
  key_expires_at: string
  status: StreamStatus
  session_id: string | null
  ingest_node: string | null
  media_node: string | null
  workspace_deleted: boolean
  record: boolean
  record_gaps: RecordGaps
  destinations:
    | {
        id: string
        url: string
        key: string
        platform: LivePlatformName | null
        rendering: RenderingData | null
        has_worked: boolean
      }[]
    | null
  playout: DesiredPlayout | null
  hold_seconds: number
  input_preference: InputPreference
  input_selected: InputSource | null
  has_slate: boolean
  /** Of the picture that the slate shows, as long as there is one. */
  slate_file: string | null
}

const SELECT = `
  select s.id, s.workspace_id, w.owner_id, s.path, s.key_hash, s.backup_key_hash, s.whip_token_hash, s.key_expires_at, s.status, s.session_id, s.ingest_node, s.media_node,
    s.record, s.record_gaps, s.hold_seconds, s.input_preference, s.input_selected, s.slate is not null as has_slate,
    (select a.file_id from assets a join asset_files f on f.id = a.file_id
      where a.id = (s.slate->>'assetId')::uuid and a.workspace_id = s.workspace_id and a.deleted_at is null
        and f.kind = 'image') as slate_file,
    w.deleted_at is not null as workspace_deleted,
    (select json_agg(json_build_object('id', d.id, 'url', r.url, 'platform', r.platform, 'key', r.key_sealed,
        'rendering', d.rendering, 'has_worked', r.worked_at is not null) order by d.id)
      from stream_destinations d join rtmp_destinations r on r.id = d.account_id
      where d.stream_id = s.id and d.enabled) as destinations,
    (select json_build_object('id', b.id, 'items', b.items, 'loop', b.loop, 'paused', b.status = 'paused', 'item', b.item,
        'ms', b.position_ms, 'cue', b.cue, 'nodeId', b.node_id)
      from stream_broadcasts b where b.stream_id = s.id and b.status in ('playing', 'paused')) as playout
  from streams s join workspaces w on w.id = s.workspace_id`
const BY_PATH = `${SELECT} where s.path = $1`
const BY_ID = `${SELECT} where s.id = $1`

/** Why a publisher is refused that shows no key of any stream. */
export const UNKNOWN_KEY = 'unknown key'

export interface DesiredStatesOptions {
  readonly sql: Sql
  readonly clock: Clock
  readonly switches: Switches
  readonly plans: PlanService
  /** Opens the keys of destinations. */
  readonly keys: SealedBox
}

/** Reads from the database, at the moment of asking, what a media node is to do. */
export class DesiredStates {
  readonly #options: DesiredStatesOptions

  constructor(options: DesiredStatesOptions) {
    this.#options = options
  }

  /** Undefined when the node should have nothing to do with the stream: it has ended or is gone. */
  async of(streamId: string): Promise<DesiredState | undefined> {
    const row = await this.#options.sql.row<Row>(BY_ID, [streamId])
    return row === undefined || row.status === 'ended' || row.workspace_deleted ? undefined : this.#state(row)
  }

  /** Whether a publisher may send, asked before it is told so. The reason of a refusal is for logs and the publisher. */
  async authorize(request: PublishRequest): Promise<PublishDecision & { readonly state?: DesiredState }> {
    const row = await this.#options.sql.row<Row>(BY_PATH, [primaryPath(request.path)])
    const hash = row && hashFor(row, request)
    if (row === undefined || hash == null || !sameHash(hash, request.keyHash) || row.workspace_deleted) {
      return { allowed: false, reason: UNKNOWN_KEY }
    }
    if (row.status === 'ended') return { allowed: false, reason: 'the stream has ended; arm it for a new key' }
    const { clock, plans, sql, switches } = this.#options
    if (Date.parse(row.key_expires_at) <= clock.now()) {
      return { allowed: false, reason: 'the key has expired; arm the stream for a new one' }
    }
    if (!switches.isOn('streams')) {
      return { allowed: false, later: true, reason: 'streams are switched off at the moment' }
    }
    const allowance = await plans.limitsOf(row.owner_id)
    const used = await usedMs(sql, row.owner_id, monthOf(clock.now()))
    if (used >= allowance.streamingMinutesPerMonth * MINUTE) {
      return { allowed: false, later: true, reason: 'the streaming minutes of this month are used up' }
    }
    const state = this.#state(row)
    return { allowed: true, stream: state.stream, state }
  }

  /** Whether a token (by its hash) is the one for WHIP of the stream with this path, until the stream ends. */
  async isWhipToken(path: string, hash: string): Promise<boolean> {
    const row = await this.#options.sql.row<Row>(BY_PATH, [path])
    if (row === undefined || row.whip_token_hash === null || row.status === 'ended' || row.workspace_deleted)
      return false
    return sameHash(row.whip_token_hash, hash)
  }

  #state(row: Row): DesiredState {
    return {
      stream: {
        streamId: row.id,
        path: row.path,
        keyHash: row.key_hash,
        ...(row.backup_key_hash === null
          ? {}
          : { backup: { path: backupPath(row.path), keyHash: row.backup_key_hash } }),
        ...(row.whip_token_hash === null ? {} : { whipHash: row.whip_token_hash }),
        live: isOnAir(row.status),
        holdMs: row.hold_seconds * SECOND,
        ...preferredInput(row),
        destinations: (row.destinations ?? []).map(({ id, url, key, platform, rendering, has_worked: hasWorked }) => ({
          id,
          url,
          streamKey: this.#options.keys.open(key),
          ...(platform === null ? {} : { rules: rulesOf(platform) }),
          ...(rendering === null ? {} : { rendering: renderingOf(rendering) }),
          ...(hasWorked && { hasWorked }),
        })),
      },
      workspaceId: row.workspace_id,
      ownerId: row.owner_id,
      status: row.status,
      sessionId: row.session_id,
      ingestNode: row.ingest_node,
      mediaNode: row.media_node,
      recordSession: row.record && (row.status === 'live' || row.status === 'interrupted') ? row.session_id : null,
      recordGaps: row.record_gaps,
      ...(row.playout === null ? {} : { playout: row.playout }),
      ...(row.has_slate && {
        slate: { key: row.slate_file === null ? null : fileKey(row.workspace_id, row.slate_file) },
      }),
    }
  }
}

/** Which encoder is to be on the air: the one that was selected, or the primary unless the stream wants none moved. */
function preferredInput({
  input_preference: preference,
  input_selected: selected,
}: Row): Pick<DesiredStream, 'preferredInput'> {
  if (selected !== null) return { preferredInput: { source: selected, selected: true } }
  return preference === 'primary' ? { preferredInput: { source: 'primary', selected: false } } : {}
}

/** Of the credential that the publisher claims to have: what is good for one way in is not for another. */
function hashFor(row: Row, { path, via }: PublishRequest): string | null {
  if (via === 'whip') return row.path === path ? row.whip_token_hash : null
  return row.path === path ? row.key_hash : row.backup_key_hash
}

function sameHash(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}
