import type { Static } from 'typebox'
import type { Member } from '../../../core/caller.ts'
import { Conflict, NotFound } from '../../../core/errors.ts'
import { DAY } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { instant, LAST_INSTANT } from '../../../core/instant.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import { pageOf, pageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { SealedBox } from '../../../tools/sealed-box.ts'
import type { Sql } from '../../../core/sql.ts'
import type { MemoryKey, Turn } from '../../../core/turn.ts'
import { anyOf } from '../../../db/condition.ts'
import { values } from '../../../db/query.ts'
import { increment } from '../../../db/increment.ts'
import type { Foundation } from '../../../foundation.ts'
import type { PlanService } from '../../money/plans/index.ts'
import type { StreamLifecycle } from './lifecycle.ts'
import { streamCreated, streamDeleted, streamUpdated } from './events.ts'
import { newBackupKey, newIngestKey, newWhipToken } from './keys.ts'
import { chosenRendering } from './rendering.ts'
import type { Placement, StreamNotices } from '../media-nodes/index.ts'
import type { PlatformChooser } from './platforms.ts'
import type { ArmedData, NewStreamData, PlatformInput, StreamData, StreamEditData, StreamQuery } from './schemas.ts'
import { chosenSlate, HOLD_SECONDS } from './slate.ts'
import { isActive, next, type StreamStatus } from './state.ts'
import { findStream, listedView, pageOfStreams, platformView, streamView, type StreamRow } from './store.ts'
import { streamDestinations, streams } from './tables.ts'

type Dependencies = Pick<Foundation, 'clock' | 'database'> & {
  readonly keys: SealedBox
  readonly chooser: PlatformChooser
  readonly plans: PlanService
  readonly lifecycle: StreamLifecycle
  readonly notices: StreamNotices
  readonly placement: Placement
  readonly publicUrl: string
}

/** Number of streams of the workspace. It is counted once, because only turns of the workspace create and delete streams. */
const STREAMS: MemoryKey<{ count: number | undefined }> = { name: 'streams', make: () => ({ count: undefined }) }

/** The states in which a stream has a publisher, or waits for one. */
const RUNNING: readonly StreamStatus[] = ['receiving', 'starting', 'live', 'interrupted']

/** An unused key expires this long after it was created, or after the planned start of the stream. */
const KEY_LIFE_MS = 30 * DAY

/** When a key that is created now expires. */
export function keyExpiry(now: number, scheduledFor: number | undefined): Date {
  return new Date(Math.min(Math.max(now, scheduledFor ?? 0) + KEY_LIFE_MS, LAST_INSTANT))
}

/** Creates, shows, changes, arms and deletes streams. `StreamLifecycle` starts and stops them. */
export class StreamService {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Writes without reading, unless platforms or a picture are named, so that concurrent creates share one statement.
   * @throws AppError validation_failed, plan_limit_reached, conflict
   */
  async create(turn: Turn, body: NewStreamData): Promise<StreamData> {
    const { clock, chooser, keys, placement } = this.#dependencies
    const now = clock.now()
    const at = new Date(now).toISOString()
    const scheduledFor = instant(body.scheduledFor)
    const id = uuidv7(now)
    const count = await this.#requireRoom(turn)
    const platforms = await chooser.choose(turn, id, body.platforms ?? [])
    const slate = body.slate ? await chosenSlate(turn, body.slate) : null
    const key = newIngestKey()
    const backup = newBackupKey(key.path)
    const row = {
      id,
      workspaceId: turn.workspaceId,
      title: body.title,
      description: body.description ?? '',
      status: 'idle',
      statusReason: null,
      statusSince: at,
      unconfirmedSince: null,
      path: key.path,
      keySealed: keys.seal(key.key),
      backupKeySealed: keys.seal(backup.key),
      keyExpiresAt: keyExpiry(now, scheduledFor?.getTime()).toISOString(),
      scheduledFor: scheduledFor?.toISOString() ?? null,
      liveAt: null,
      sessionId: null,
      ingestId: null,
      ingestNode: null,
      mediaNode: placement.choose(id, null),
      record: body.record ?? false,
      recordGaps: body.recordGaps ?? 'cut',
      slate,
      holdSeconds: body.holdSeconds ?? HOLD_SECONDS,
      inputPreference: body.inputPreference ?? 'primary',
      inputSelected: null,
      profile: body.profile ?? 'source',
      version: 1,
      createdAt: at,
      updatedAt: at,
      keyHash: key.hash,
      backupKeyHash: backup.hash,
    } as const
    turn.insert(streams, row)
    for (const platform of platforms) turn.insert(streamDestinations, platform)
    turn.settled(() => (turn.memory(STREAMS).count = count + 1))
    turn.audit({ kind: 'stream', id })
    turn.emit(streamCreated, { streamId: id, title: row.title, status: row.status, endReason: null, version: 1 })
    // The keys are known here, so nothing has to be decrypted.
    return {
      ...listedView({ ...row, platforms: platforms.map(platformView) }, placement.urlOf(row.mediaNode)),
      streamKey: key.key,
      streamKeyExpiresAt: row.keyExpiresAt,
      backupStreamKey: backup.key,
    }
  }

  /** @throws AppError not_found */
  async get(id: string, member: Member): Promise<StreamData> {
    const row = await findStream(this.#dependencies.database, id)
    if (row === undefined) throw NotFound()
    return this.viewFor(row, member)
  }

  async list(query: Static<typeof StreamQuery>): Promise<PageResult<StreamData>> {
    const page = pageRequest(query)
    const filter = {
      workspaceId: query.workspaceId,
      status: values(query.status),
      from: instant(query.from)?.toISOString(),
      to: instant(query.to)?.toISOString(),
    }
    const rows = await pageOfStreams(this.#dependencies.database, filter, page)
    return pageOf(
      rows,
      page.limit,
      (row) => ({ createdAt: row.createdAt, id: row.id }),
      // Lists have no secrets: decrypting one per row would cost more than the rest of the page.
      (row) => listedView(row, this.#dependencies.placement.urlOf(row.mediaNode)),
    )
  }

  /** Only members who can manage streams see the key. */
  viewFor(row: StreamRow, member: Member): StreamData {
    const mayManage = member.scopes.has('streams:manage')
    const { keys, placement } = this.#dependencies
    return streamView(row, placement.urlOf(row.mediaNode), mayManage ? keys : undefined)
  }

  /**
   * Changes the given fields and keeps the others. `platforms` replaces the whole list. Destinations that stay are not
   * affected.
   * @throws AppError not_found, precondition_failed, validation_failed, plan_limit_reached, conflict
   */
  async update(turn: Turn, id: string, edit: StreamEditData, ifMatch: IfMatch): Promise<StreamData> {
    const { clock, keys, notices, placement } = this.#dependencies
    const row = await this.#find(turn.sql, id)
    requireVersion(ifMatch, row.version)
    const scheduledFor = edit.scheduledFor === undefined ? instant(row.scheduledFor) : instant(edit.scheduledFor)
    const slate = edit.slate ? await chosenSlate(turn, edit.slate) : row.slate
    if (edit.platforms) await this.replacePlatforms(turn, row, edit.platforms)
    const expiresAt = keyExpiry(0, scheduledFor?.getTime())
    await streams.update(
      turn.sql,
      { id },
      {
        title: edit.title,
        description: edit.description,
        scheduledFor: scheduledFor ?? null,
        record: edit.record,
        profile: edit.profile,
        keyExpiresAt: expiresAt > new Date(row.keyExpiresAt) ? expiresAt : undefined,
        slate,
        holdSeconds: edit.holdSeconds,
        inputPreference: edit.inputPreference,
        recordGaps: edit.recordGaps,
        version: increment(),
        updatedAt: new Date(clock.now()),
      },
    )
    const changed = await this.#find(turn.sql, id)
    turn.audit({ kind: 'stream', id })
    turn.emit(streamUpdated, {
      streamId: id,
      title: changed.title,
      status: changed.status,
      endReason: changed.statusReason,
      version: changed.version,
    })
    notices.changed(turn, id)
    return streamView(changed, placement.urlOf(changed.mediaNode), keys)
  }

  /**
   * Creates new keys. Publishers with the old keys are disconnected.
   * @param platforms the new destinations, if they change
   * @throws AppError not_found, validation_failed, plan_limit_reached
   */
  async arm(turn: Turn, id: string, platforms: readonly PlatformInput[] | undefined): Promise<ArmedData> {
    const { lifecycle, clock, keys, placement, publicUrl } = this.#dependencies
    const row = await this.#find(turn.sql, id)
    if (platforms) await this.replacePlatforms(turn, row, platforms)
    const version = row.version + (platforms ? 1 : 0)
    const key = newIngestKey()
    const backup = newBackupKey(key.path)
    const whip = newWhipToken()
    const expiresAt = keyExpiry(clock.now(), row.scheduledFor === null ? undefined : Date.parse(row.scheduledFor))
    const mediaNode = placement.choose(id, isActive(row.status) ? row.mediaNode : null)
    await streams.update(
      turn.sql,
      { id },
      {
        path: key.path,
        keyHash: key.hash,
        keySealed: keys.seal(key.key),
        keyExpiresAt: expiresAt,
        backupKeyHash: backup.hash,
        backupKeySealed: keys.seal(backup.key),
        whipTokenHash: whip.hash,
        whipTokenSealed: keys.seal(whip.token),
        mediaNode,
        ingestId: null,
        ingestNode: null,
        inputSelected: null,
        version,
      },
    )
    await lifecycle.move(turn, { ...row, version, statusReason: null }, next(row.status, 'arm') ?? row.status)
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

  /**
   * Shows the keys of a stream without changing them, so that no publisher is disconnected. A stream that was never armed
   * gets its first WHIP token.
   * @throws AppError not_found; conflict for keys that no longer work
   */
  async showKeys(turn: Turn, id: string): Promise<ArmedData> {
    const { clock, keys, notices, placement, publicUrl } = this.#dependencies
    const row = await this.#find(turn.sql, id)
    if (row.status === 'ended' || row.backupKeySealed === null || Date.parse(row.keyExpiresAt) <= clock.now()) {
      const what = row.status === 'ended' ? 'The stream has ended' : 'The keys have expired'
      throw Conflict({ message: `${what}. Arm the stream for new ones: POST /api/streams/{id}/arm.` })
    }
    const sealed = await streams.first(turn.sql, { id }, { columns: ['whipTokenSealed'] })
    let whipToken = sealed?.whipTokenSealed ? keys.open(sealed.whipTokenSealed) : undefined
    if (whipToken === undefined) {
      const whip = newWhipToken()
      whipToken = whip.token
      await streams.update(turn.sql, { id }, { whipTokenHash: whip.hash, whipTokenSealed: keys.seal(whip.token) })
      notices.changed(turn, id)
    }
    turn.audit({ kind: 'stream', id })
    return {
      rtmpIngestUrl: placement.urlOf(row.mediaNode),
      streamKey: keys.open(row.keySealed),
      backupStreamKey: keys.open(row.backupKeySealed),
      whipUrl: `${publicUrl}/api/streams/whip/${row.path}`,
      whipToken,
      expiresAt: row.keyExpiresAt,
    }
  }

  /** Replaces the destinations of a stream. Those that stay are not changed. */
  async replacePlatforms(turn: Turn, row: StreamRow, wanted: readonly PlatformInput[]): Promise<void> {
    const { lifecycle, chooser } = this.#dependencies
    const present = row.platforms
    const isKept = (accountId: string) => wanted.some((platform) => platform.accountId === accountId)
    const removed = present.filter((platform) => !isKept(platform.accountId))
    const chosen = await chooser.choose(turn, row.id, wanted, present)
    if (removed.length > 0) {
      await lifecycle.noteRemoved(turn, row, removed)
      await streamDestinations.delete(turn.sql, { id: anyOf(removed.map(({ _id }) => _id)) })
    }
    await changeRenderings(turn, row.id, wanted)
    // Not with the batch: rows of the batch are written after the stream's own statements.
    await streamDestinations.insertAll(turn.sql, chosen)
  }

  /** @throws AppError not_found; conflict while it is live, unless forced */
  async delete(turn: Turn, id: string, force: boolean, ifMatch: IfMatch): Promise<void> {
    const row = await this.#find(turn.sql, id)
    requireVersion(ifMatch, row.version)
    if (isActive(row.status) && !force) {
      throw Conflict({ message: `The stream is ${row.status}: stop it first, or delete it with force=true.` })
    }
    await streams.delete(turn.sql, { id })
    turn.settled(() => (turn.memory(STREAMS).count = undefined))
    turn.audit({ kind: 'stream', id, details: { title: row.title } })
    turn.emit(streamDeleted, { streamId: id })
    this.#dependencies.notices.changed(turn, id)
  }

  /** @returns the number of streams @throws AppError plan_limit_reached when the plan allows no more */
  async #requireRoom(turn: Turn): Promise<number> {
    const count = turn.memory(STREAMS).count ?? (await streams.count(turn.sql, { workspaceId: turn.workspaceId }))
    await this.#dependencies.plans.requireRoom(turn.workspaceId, 'streams', count)
    return count
  }

  /** Ends the streams of a workspace that is being deleted. */
  async endAll(turn: Turn): Promise<void> {
    const running = await streams.find(
      turn.sql,
      { workspaceId: turn.workspaceId, status: anyOf(RUNNING) },
      { columns: ['id'] },
    )
    for (const { id } of running)
      await this.#dependencies.lifecycle.end(turn, await this.#find(turn.sql, id), 'stopped')
  }

  async #find(sql: Sql, id: string): Promise<StreamRow> {
    const row = await findStream(sql, id)
    if (row === undefined) throw NotFound()
    return row
  }
}

/** Changes the renderings of destinations that the request names. Others keep theirs. */
async function changeRenderings(turn: Turn, streamId: string, wanted: readonly PlatformInput[]): Promise<void> {
  for (const { accountId, rendering } of wanted) {
    if (rendering === undefined) continue
    await streamDestinations.update(turn.sql, { streamId, accountId }, { rendering: chosenRendering(rendering) })
  }
}
