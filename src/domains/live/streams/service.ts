import type { Static } from 'typebox'
import type { Clock } from '../../../core/clock.ts'
import type { Member } from '../../../core/caller.ts'
import { Conflict, NotFound } from '../../../core/errors.ts'
import { DAY } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/id.ts'
import { instant, LAST_INSTANT } from '../../../core/instant.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import { pageOf, pageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { SealedBox } from '../../../core/sealed-box.ts'
import type { Sql } from '../../../core/sql.ts'
import type { MemoryKey, Turn } from '../../../core/turn.ts'
import type { PlanService } from '../../money/plans/service.ts'
import type { StreamLifecycle } from './lifecycle.ts'
import { streamCreated, streamDeleted, streamUpdated } from './events.ts'
import { newBackupKey, newIngestKey, newWhipToken } from './keys.ts'
import { chosenRendering } from './rendering.ts'
import type { Placement, StreamNotices } from '../media-nodes/index.ts'
import type { ChosenPlatform, PlatformChooser } from './platforms.ts'
import type { ArmedData, NewStreamData, PlatformInput, StreamData, StreamEditData, StreamQuery } from './schemas.ts'
import { chosenSlate, HOLD_SECONDS } from './slate.ts'
import { isOnAir, next } from './state.ts'
import { findStream, listedView, pageOfStreams, streamView, type StreamRow } from './store.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly streams: StreamService
  }
}

export interface StreamServiceOptions {
  readonly sql: Sql
  readonly clock: Clock
  readonly keys: SealedBox
  readonly chooser: PlatformChooser
  readonly plans: PlanService
  readonly lifecycle: StreamLifecycle
  readonly notices: StreamNotices
  readonly placement: Placement
  readonly publicUrl: string
}

/** How many streams the workspace has, counted once: only its turns make and delete them. */
const STREAMS: MemoryKey<{ count: number | undefined }> = { name: 'streams', make: () => ({ count: undefined }) }

async function countStreams({ sql, workspaceId }: Turn): Promise<number> {
  const row = await sql.row<{ count: number }>('select count(*) as count from streams where workspace_id = $1', [
    workspaceId,
  ])
  return row?.count ?? 0
}

/** A key that nobody uses dies this long after it was made, or after the stream was to begin. */
const KEY_LIFE_MS = 30 * DAY

/** When a key that is made now ends to work. */
export function keyExpiry(now: number, scheduledFor: number | undefined): Date {
  return new Date(Math.min(Math.max(now, scheduledFor ?? 0) + KEY_LIFE_MS, LAST_INSTANT))
}

/** Streams as things that are made, changed, shown and deleted. What happens on the air is in `StreamLifecycle`. */
export class StreamService {
  readonly #options: StreamServiceOptions

  constructor(options: StreamServiceOptions) {
    this.#options = options
  }

  /**
   * Writes without reading, unless platforms or a picture are named: creates of one moment share one statement.
   * @throws AppError validation_failed, plan_limit_reached, conflict
   */
  async create(turn: Turn, body: NewStreamData): Promise<StreamData> {
    const { clock, chooser, keys, placement } = this.#options
    const now = clock.now()
    const at = new Date(now).toISOString()
    const scheduledFor = instant(body.scheduledFor)
    const id = uuidv7(now)
    const count = await this.#requireRoom(turn)
    const platforms = await chooser.choose(turn, id, body.platforms ?? [])
    const slate = body.slate ? await chosenSlate(turn, body.slate) : null
    const key = newIngestKey()
    const backup = newBackupKey(key.path)
    const row: StreamRow = {
      id,
      workspace_id: turn.workspaceId,
      title: body.title,
      description: body.description ?? '',
      status: 'idle',
      status_reason: null,
      status_since: at,
      unconfirmed_since: null,
      path: key.path,
      key_sealed: keys.seal(key.key),
      backup_key_sealed: keys.seal(backup.key),
      key_expires_at: keyExpiry(now, scheduledFor?.getTime()).toISOString(),
      scheduled_for: scheduledFor?.toISOString() ?? null,
      live_at: null,
      session_id: null,
      ingest_id: null,
      ingest_node: null,
      media_node: placement.choose(id, null),
      record: body.record ?? false,
      record_gaps: body.recordGaps ?? 'cut',
      slate,
      hold_seconds: body.holdSeconds ?? HOLD_SECONDS,
      input_preference: body.inputPreference ?? 'primary',
      input_selected: null,
      profile: body.profile ?? 'source',
      version: 1,
      created_at: at,
      updated_at: at,
      platforms: platforms.map(({ view }) => view),
    }
    const { platforms: _platforms, ...columns } = row
    turn.insert('streams', { ...columns, key_hash: key.hash, backup_key_hash: backup.hash })
    for (const platform of platforms) turn.insert('stream_destinations', platform.row)
    turn.settled(() => (turn.memory(STREAMS).count = count + 1))
    turn.audit({ kind: 'stream', id })
    turn.emit(streamCreated, { streamId: id, title: row.title, status: row.status, endReason: null, version: 1 })
    // What was sealed above is known: nothing is opened.
    return {
      ...listedView(row, placement.urlOf(row.media_node)),
      streamKey: key.key,
      streamKeyExpiresAt: row.key_expires_at,
      backupStreamKey: backup.key,
    }
  }

  /** @throws AppError not_found */
  async get(id: string, member: Member): Promise<StreamData> {
    const row = await findStream(this.#options.sql, id)
    if (row === undefined) throw NotFound()
    return this.viewFor(row, member)
  }

  async list(query: Static<typeof StreamQuery>): Promise<PageResult<StreamData>> {
    const page = pageRequest(query)
    const filter = {
      workspaceId: query.workspaceId,
      status: query.status,
      from: instant(query.from),
      to: instant(query.to),
    }
    const rows = await pageOfStreams(this.#options.sql, filter, page)
    return pageOf(
      rows,
      page.limit,
      (row) => ({ createdAt: row.created_at, id: row.id }),
      // Lists carry no secrets, and opening one a row would cost more than the rest of the page.
      (row) => listedView(row, this.#options.placement.urlOf(row.media_node)),
    )
  }

  /** The key goes only to those who may manage streams. */
  viewFor(row: StreamRow, member: Member): StreamData {
    const mayManage = member.scopes.has('streams:manage')
    const { keys, placement } = this.#options
    return streamView(row, placement.urlOf(row.media_node), mayManage ? keys : undefined)
  }

  /**
   * Changes what is given and keeps the rest; `platforms` replaces the whole list, and only what differs is touched
   * on the air.
   * @throws AppError not_found, precondition_failed, validation_failed, plan_limit_reached, conflict
   */
  async update(turn: Turn, id: string, edit: StreamEditData, ifMatch: IfMatch): Promise<StreamData> {
    const { clock, keys, notices, placement } = this.#options
    const row = await this.#find(turn.sql, id)
    requireVersion(ifMatch, row.version)
    const scheduledFor = edit.scheduledFor === undefined ? instant(row.scheduled_for) : instant(edit.scheduledFor)
    const slate = edit.slate ? await chosenSlate(turn, edit.slate) : row.slate
    if (edit.platforms) await this.replacePlatforms(turn, row, edit.platforms)
    const now = clock.now()
    await turn.sql.run(
      `update streams set title = $2, description = $3, scheduled_for = $4, record = $5, profile = $6,
         key_expires_at = greatest(key_expires_at, $7), slate = $9, hold_seconds = $10, input_preference = $11,
         record_gaps = $12,
         version = version + 1, updated_at = $8 where id = $1`,
      [
        id,
        edit.title,
        edit.description ?? row.description,
        scheduledFor ?? null,
        edit.record ?? row.record,
        edit.profile ?? row.profile,
        keyExpiry(0, scheduledFor?.getTime()),
        new Date(now),
        slate && JSON.stringify(slate),
        edit.holdSeconds ?? row.hold_seconds,
        edit.inputPreference ?? row.input_preference,
        edit.recordGaps ?? row.record_gaps,
      ],
    )
    const changed = await this.#find(turn.sql, id)
    turn.audit({ kind: 'stream', id })
    turn.emit(streamUpdated, {
      streamId: id,
      title: changed.title,
      status: changed.status,
      endReason: changed.status_reason,
      version: changed.version,
    })
    notices.changed(turn, id)
    return streamView(changed, placement.urlOf(changed.media_node), keys)
  }

  /**
   * New keys; the publishers with the old ones are dropped.
   * @param platforms a new set of destinations, if it is to change
   * @throws AppError not_found, validation_failed, plan_limit_reached
   */
  async arm(turn: Turn, id: string, platforms: readonly PlatformInput[] | undefined): Promise<ArmedData> {
    const { lifecycle, clock, keys, placement, publicUrl } = this.#options
    const row = await this.#find(turn.sql, id)
    if (platforms) await this.replacePlatforms(turn, row, platforms)
    const version = row.version + (platforms ? 1 : 0)
    const key = newIngestKey()
    const backup = newBackupKey(key.path)
    const whip = newWhipToken()
    const expiresAt = keyExpiry(clock.now(), row.scheduled_for === null ? undefined : Date.parse(row.scheduled_for))
    const mediaNode = placement.choose(id, isOnAir(row.status) ? row.media_node : null)
    await turn.sql.run(
      `update streams set path = $2, key_hash = $3, key_sealed = $4, key_expires_at = $5,
         backup_key_hash = $6, backup_key_sealed = $7, whip_token_hash = $8, media_node = $9, ingest_id = null, ingest_node = null,
         input_selected = null, version = $10
       where id = $1`,
      [
        id,
        key.path,
        key.hash,
        keys.seal(key.key),
        expiresAt,
        backup.hash,
        keys.seal(backup.key),
        whip.hash,
        mediaNode,
        version,
      ],
    )
    await lifecycle.move(turn, { ...row, version, status_reason: null }, next(row.status, 'arm') ?? row.status)
    turn.audit({ kind: 'stream', id })
    return {
      rtmpIngestUrl: placement.urlOf(mediaNode),
      streamKey: key.key,
      backupStreamKey: backup.key,
      whipUrl: `${publicUrl}/api/streams/whip/${key.path}`,
      whipToken: whip.token,
      expiresAt: expiresAt.toISOString(),
    }
  }

  /** Makes a stream's destinations those named; the ones that stay are left as they are. */
  async replacePlatforms(turn: Turn, row: StreamRow, wanted: readonly PlatformInput[]): Promise<void> {
    const { lifecycle, chooser } = this.#options
    const present = row.platforms ?? []
    const isKept = (accountId: string) => wanted.some((platform) => platform.accountId === accountId)
    const removed = present.filter((platform) => !isKept(platform.accountId))
    const chosen = await chooser.choose(turn, row.id, wanted, present)
    if (removed.length > 0) {
      await lifecycle.noteRemoved(turn, row, removed)
      await turn.sql.run('delete from stream_destinations where id = any($1)', [
        removed.map((platform) => platform._id),
      ])
    }
    await renderAnew(turn, row.id, wanted)
    await insertPlatforms(turn, chosen)
  }

  /** @throws AppError not_found; conflict while on the air, unless forced */
  async delete(turn: Turn, id: string, force: boolean, ifMatch: IfMatch): Promise<void> {
    const row = await this.#find(turn.sql, id)
    requireVersion(ifMatch, row.version)
    if (isOnAir(row.status) && !force) {
      throw Conflict({ message: `The stream is ${row.status}: stop it first, or delete it with force=true.` })
    }
    await turn.sql.run('delete from streams where id = $1', [id])
    turn.settled(() => (turn.memory(STREAMS).count = undefined))
    turn.audit({ kind: 'stream', id, details: { title: row.title } })
    turn.emit(streamDeleted, { streamId: id })
    this.#options.notices.changed(turn, id)
  }

  /** @returns how many streams there are @throws AppError plan_limit_reached where there is no room for one more */
  async #requireRoom(turn: Turn): Promise<number> {
    const count = turn.memory(STREAMS).count ?? (await countStreams(turn))
    await this.#options.plans.requireRoom(turn.workspaceId, 'streams', count)
    return count
  }

  /** Ends whatever a workspace that is being deleted has running. */
  async endAll(turn: Turn): Promise<void> {
    const running = await turn.sql.rows<{ id: string }>(
      `select id from streams where workspace_id = $1 and status in ('receiving', 'starting', 'live', 'interrupted')`,
      [turn.workspaceId],
    )
    for (const { id } of running) await this.#options.lifecycle.end(turn, await this.#find(turn.sql, id), 'stopped')
  }

  /** Removes everything of workspaces that are gone. What was used stays on record. */
  async purge(sql: Sql, workspaceIds: readonly string[]): Promise<void> {
    await sql.run('delete from streams where workspace_id = any($1)', [workspaceIds])
    await sql.run('delete from stream_recordings where workspace_id = any($1)', [workspaceIds])
    await sql.run('delete from rtmp_destinations where workspace_id = any($1)', [workspaceIds])
  }

  async #find(sql: Sql, id: string): Promise<StreamRow> {
    const row = await findStream(sql, id)
    if (row === undefined) throw NotFound()
    return row
  }
}

/** What was said of the forms of destinations that stay; where nothing was said they keep theirs. */
async function renderAnew(turn: Turn, streamId: string, wanted: readonly PlatformInput[]): Promise<void> {
  for (const { accountId, rendering } of wanted) {
    if (rendering === undefined) continue
    const chosen = chosenRendering(rendering)
    await turn.sql.run('update stream_destinations set rendering = $3 where stream_id = $1 and account_id = $2', [
      streamId,
      accountId,
      chosen && JSON.stringify(chosen),
    ])
  }
}

/** Written one by one rather than with the batch: the stream they belong to must be there first. */
async function insertPlatforms(turn: Turn, chosen: readonly ChosenPlatform[]): Promise<void> {
  if (chosen.length === 0) return
  await turn.sql.run(
    'insert into stream_destinations select * from json_populate_recordset(null::stream_destinations, $1::json)',
    [JSON.stringify(chosen.map(({ row }) => row))],
  )
}
