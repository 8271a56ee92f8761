import { HOUR, MINUTE, type Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/error.ts'
import { Conflict, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { instant } from '../../../core/instant.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Changes } from '../../../db/table.ts'
import type { RenditionRequests } from '../../media/assets/index.ts'
import { isActive, setScheduledTime, type StreamLifecycle, type StreamRow } from '../streams/index.ts'
import { streamBroadcast } from './events.ts'
import type { MediaDirectory, StreamNotices } from '../media-nodes/index.ts'
import { chooseItems, namedItems } from './choice.ts'
import { beginBroadcast } from './jobs.ts'
import { Preparation } from './preparation.ts'
import type { BroadcastData, BroadcastEditData, BroadcastStatus, NewBroadcastData } from './schemas.ts'
import { broadcastsAwaiting, broadcastView, findBroadcast, newestBroadcast, openBroadcast } from './store.ts'
import { streamBroadcasts, type BroadcastItem, type BroadcastRow, type StreamBroadcast } from './tables.ts'

/** What playout uses of other domains. */
export interface PlayoutUses {
  readonly lifecycle: StreamLifecycle
  readonly mediaNodes: MediaDirectory
  readonly notices: StreamNotices
  readonly renditions: RenditionRequests
}

/** A scheduled broadcast that could not start within this time fails. */
const MAX_LATE_MS = HOUR
const MAX_ITEMS = 1_000
/** How often broadcasts check their renditions. Ready renditions are announced, but those deleted with their asset are not. */
const CHECK_AGAIN_MS = MINUTE

/** What a media node reports about a broadcast that it plays. */
export type PlayoutEvent =
  | { readonly type: 'item'; readonly item: number; readonly ms: number }
  | { readonly type: 'began'; readonly item: number; readonly ms: number; readonly cue: number }
  | { readonly type: 'skipped'; readonly item: number; readonly message: string }
  | {
      readonly type: 'ended'
      readonly reason: 'finished' | 'failed'
      readonly message: string | null
      readonly relieved: boolean
    }

/**
 * Playout of files over a stream, as if a publisher sent them. The database holds the list and the position. One
 * media node plays it and stores the position about once a second. If that node is lost, another one continues.
 */
export class PlayoutService {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #uses: PlayoutUses
  readonly #preparation: Preparation

  constructor(sql: Sql, clock: Clock, uses: PlayoutUses) {
    this.#sql = sql
    this.#clock = clock
    this.#uses = uses
    this.#preparation = new Preparation(uses.renditions)
    uses.renditions.onSettled((turn, id) => this.#rendered(turn, id))
  }

  /**
   * Schedules or starts a broadcast of files. Conversions are ordered at once.
   * @throws AppError not_found, conflict, unfit_file, validation_failed, plan_limit_reached, media_unavailable,
   * rendition_not_possible, storage_limit_reached
   */
  async create(turn: Turn, streamId: string, body: NewBroadcastData): Promise<BroadcastData> {
    const { lifecycle } = this.#uses
    const stream = await lifecycle.find(turn, streamId)
    const wanted = namedItems(body)
    await this.#requireFree(turn, stream)
    const prepare = body.transcode === 'never' ? undefined : this.#preparation.orderFor(turn)
    const items = await chooseItems(turn, wanted, '/body/items', prepare)
    const startMs = Math.round((body.startAt ?? 0) * 1_000)
    checkStart(items[0], body.startAt)
    const now = this.#clock.now()
    const scheduledFor = timeOf(body.scheduledFor, now)
    const isLater = scheduledFor !== undefined && scheduledFor.getTime() > now
    const id = uuidv7(now)
    await streamBroadcasts.insert(turn.sql, {
      id,
      streamId,
      workspaceId: turn.workspaceId,
      status: 'scheduled',
      items,
      loop: body.loop ?? false,
      goLive: body.goLive ?? true,
      item: 0,
      positionMs: startMs,
      cue: 0,
      scheduledFor: scheduledFor ?? null,
      createdAt: new Date(now),
      updatedAt: new Date(now),
    })
    turn.audit({ kind: 'stream_broadcast', id })
    const row = await this.#row(turn, id)
    if (isLater) await this.#schedule(turn, row, scheduledFor)
    else await this.#startWhenReady(turn, row, stream)
    return broadcastView(turn.sql, await this.#row(turn, id))
  }

  /** The newest broadcast of a stream. @throws AppError not_found if it has never had one */
  async get(streamId: string): Promise<BroadcastData> {
    const row = await newestBroadcast(this.#sql, streamId)
    if (row === undefined) throw NotFound({ message: 'This stream has had no file broadcast.' })
    return broadcastView(this.#sql, row)
  }

  /** Starts a broadcast that is due or whose files are ready. Has no effect if it has started or was cancelled. */
  async beginDue(turn: Turn, id: string): Promise<void> {
    const row = await findBroadcast(turn.sql, id)
    if (row?.status !== 'scheduled' && row?.status !== 'preparing') return
    const stream = await this.#uses.lifecycle.find(turn, row.streamId)
    try {
      const late = this.#clock.now() - Date.parse(row.scheduledFor ?? row.createdAt)
      if (row.status === 'scheduled' && late > MAX_LATE_MS) {
        throw Conflict({ message: 'Crier was not running at the scheduled time.' })
      }
      await this.#requireFree(turn, stream, id)
      await this.#startWhenReady(turn, row, stream)
    } catch (error) {
      // A dependency that is unavailable comes back, and the job is retried.
      if (!(error instanceof AppError) || error.status >= 500) throw error
      await this.#fail(turn, row, error.message)
    }
  }

  /** @throws AppError not_found, conflict, unfit_file */
  async update(turn: Turn, streamId: string, edit: BroadcastEditData): Promise<BroadcastData> {
    const row = await this.#open(turn, streamId)
    const items = edit.add ? [...row.items, ...(await chooseItems(turn, edit.add, '/body/add'))] : row.items
    if (items.length > MAX_ITEMS) throw Conflict({ message: `A broadcast has at most ${MAX_ITEMS} files.` })
    const place = placeOf(row, items, edit)
    const status = statusOf(row, edit.paused)
    turn.audit({ kind: 'stream_broadcast', id: row.id })
    const changes = { items, loop: edit.loop ?? row.loop, ...place, status, updatedAt: this.#now() }
    const changed = await this.#update(turn, row.id, changes)
    this.#announce(turn, changed)
    return broadcastView(turn.sql, changed)
  }

  /** Ends the broadcast. The stream stays live and waits for a publisher. @throws AppError not_found, conflict */
  async cancel(turn: Turn, streamId: string): Promise<void> {
    const row = await this.#open(turn, streamId)
    turn.audit({ kind: 'stream_broadcast', id: row.id })
    await this.#end(turn, row, 'stopped', null)
    await this.#preparation.cancel(turn, row)
    this.#uses.notices.changed(turn, streamId)
  }

  /** Stores what a media node reports. Reports of a node that does not play the broadcast any more are ignored. */
  async note(turn: Turn, id: string, nodeId: string, event: PlayoutEvent): Promise<void> {
    const row = await findBroadcast(turn.sql, id)
    if (row === undefined || row.nodeId !== nodeId || (row.status !== 'playing' && row.status !== 'paused')) return
    if (event.type === 'ended') return this.#finish(turn, row, event)
    if (event.type === 'began') return this.#noteBeginning(turn, row, event)
    if (event.type === 'skipped') {
      // A file that could not be converted already has its reason, which says more.
      const items = row.items.map((one, index) => (index === event.item ? { error: event.message, ...one } : one))
      this.#emit(turn, await this.#update(turn, id, { items }))
    } else {
      this.#emit(turn, await this.#update(turn, id, { item: event.item, positionMs: event.ms }))
    }
  }

  /** Stores the first report for each cue. A node that continues the broadcast of a lost node reports again. */
  async #noteBeginning(
    turn: Turn,
    row: BroadcastRow,
    { cue, item, ms }: Extract<PlayoutEvent, { type: 'began' }>,
  ): Promise<void> {
    if (cue !== row.cue || row.items.some(({ began }) => began?.cue === cue)) return
    const items = row.items.map((one, index) => (index === item ? { ...one, began: { cue, ms } } : one))
    await this.#update(turn, row.id, { items })
  }

  async #finish(
    turn: Turn,
    row: BroadcastRow,
    { message, reason, relieved }: Extract<PlayoutEvent, { type: 'ended' }>,
  ): Promise<void> {
    const { lifecycle } = this.#uses
    await this.#end(turn, row, reason, message)
    const stream = await lifecycle.find(turn, row.streamId)
    // A publisher on standby continues the stream.
    if (!relieved && isActive(stream.status)) await lifecycle.end(turn, stream, reason)
  }

  async #schedule(turn: Turn, row: BroadcastRow, at: Date): Promise<void> {
    turn.job(beginBroadcast, { broadcastId: row.id }, { runAt: at })
    await setScheduledTime(turn.sql, row.streamId, at)
    this.#announce(turn, row)
  }

  /** To be called when a rendition is ready or has failed. */
  async #rendered(turn: Turn, renditionId: string): Promise<void> {
    for (const row of await broadcastsAwaiting(turn.sql, turn.workspaceId, renditionId)) {
      if (await this.#updateFiles(turn, row)) {
        // In a separate turn, because a broadcast that cannot start must not fail the rendition.
        if (row.status === 'preparing') turn.job(beginBroadcast, { broadcastId: row.id })
      }
    }
  }

  async #startWhenReady(turn: Turn, row: BroadcastRow, stream: StreamRow): Promise<void> {
    if (await this.#updateFiles(turn, row)) return this.#start(turn, row, stream)
    const isOver = (await this.#row(turn, row.id)).endedAt !== null
    if (isOver) return
    turn.job(beginBroadcast, { broadcastId: row.id }, { runAt: new Date(this.#clock.now() + CHECK_AGAIN_MS) })
    if (row.status === 'preparing') return
    this.#emit(turn, await this.#update(turn, row.id, { status: 'preparing', updatedAt: this.#now() }))
  }

  /** Stores conversions that failed. If no file is left, the broadcast fails. @returns whether all other files are ready */
  async #updateFiles(turn: Turn, row: BroadcastRow): Promise<boolean> {
    const { isReady, items } = await this.#preparation.look(turn, row.items)
    await this.#update(turn, row.id, { items })
    const reason = items.every(({ error }) => error !== undefined) ? items[0]?.error : undefined
    if (reason === undefined) return isReady
    await this.#fail(turn, row, reason)
    return false
  }

  async #fail(turn: Turn, row: BroadcastRow, reason: string): Promise<void> {
    await this.#end(turn, row, 'failed', reason)
    await this.#preparation.cancel(turn, row)
  }

  async #start(turn: Turn, row: BroadcastRow, stream: StreamRow): Promise<void> {
    const { lifecycle, mediaNodes } = this.#uses
    mediaNodes.require()
    if (row.goLive && (stream.platforms?.length ?? 0) > 0 && !isActive(stream.status)) {
      await lifecycle.goLive(turn, stream.id, { waitForIngest: true })
    }
    const now = this.#now()
    this.#announce(turn, await this.#update(turn, row.id, { status: 'playing', startedAt: now, updatedAt: now }))
  }

  async #end(turn: Turn, row: BroadcastRow, status: BroadcastStatus, error: string | null): Promise<void> {
    const now = this.#now()
    this.#emit(turn, await this.#update(turn, row.id, { status, error, endedAt: now, updatedAt: now, nodeId: null }))
  }

  async #update(turn: Turn, id: string, changes: Changes<typeof StreamBroadcast>): Promise<BroadcastRow> {
    const [row] = await streamBroadcasts.updateReturning(turn.sql, { id }, changes)
    if (row === undefined) throw NotFound()
    return row
  }

  #now(): Date {
    return new Date(this.#clock.now())
  }

  /** Emits the event and notifies the media nodes. */
  #announce(turn: Turn, row: BroadcastRow): void {
    this.#emit(turn, row)
    this.#uses.notices.broadcast(turn, row.streamId)
  }

  #emit(turn: Turn, row: BroadcastRow): void {
    const playing = row.items[row.item]
    turn.emit(streamBroadcast, {
      streamId: row.streamId,
      broadcastId: row.id,
      status: row.status,
      item: row.item,
      itemCount: row.items.length,
      assetId: playing?.assetId ?? null,
      name: playing?.name ?? null,
      scheduledFor: row.scheduledFor,
      error: row.error,
    })
  }

  async #requireFree(turn: Turn, stream: StreamRow, except?: string): Promise<void> {
    if (stream.status === 'ended') {
      throw Conflict({ message: 'The stream has ended. Arm it first.' })
    }
    const open = await openBroadcast(turn.sql, stream.id)
    if (open !== undefined && open.id !== except) {
      const what = WHAT_IS_OPEN[open.status] ?? 'is already running on this stream'
      throw Conflict({ message: `A broadcast ${what}. Cancel it first, or add files to it.` })
    }
    if (stream.ingestId !== null) {
      throw Conflict({ message: 'A publisher is sending. Stop the encoder first.' })
    }
  }

  async #open(turn: Turn, streamId: string): Promise<BroadcastRow> {
    const row = await openBroadcast(turn.sql, streamId)
    if (row === undefined) throw Conflict({ message: 'This stream has no open file broadcast.' })
    return row
  }

  async #row(turn: Turn, id: string): Promise<BroadcastRow> {
    const row = await findBroadcast(turn.sql, id)
    if (row === undefined) throw NotFound()
    return row
  }
}

const WHAT_IS_OPEN: Partial<Record<BroadcastStatus, string>> = {
  scheduled: 'is already scheduled for this stream',
  preparing: 'is already being prepared for this stream',
}

/** The position after an update. An update that does not seek keeps it. */
function placeOf(row: BroadcastRow, items: readonly BroadcastItem[], edit: BroadcastEditData) {
  const { item, next, position } = edit
  if (item === undefined && next === undefined && position === undefined) {
    return { item: row.item, positionMs: row.positionMs, cue: row.cue }
  }
  const wrapped = (row.item + 1) % items.length
  if (next && wrapped === 0 && !(edit.loop ?? row.loop)) {
    throw Conflict({ message: 'This is the last file. Add one, or stop the broadcast.' })
  }
  const to = item ?? (next ? wrapped : row.item)
  const there = items[to]
  if (there === undefined) throw Conflict({ message: `There is no file ${to}. The list ends at ${items.length - 1}.` })
  checkStart(there, position)
  return { item: to, positionMs: Math.round((position ?? 0) * 1_000), cue: row.cue + 1 }
}

function statusOf({ status }: BroadcastRow, paused: boolean | undefined): BroadcastStatus {
  if (paused === undefined) return status
  if (status === 'scheduled' || status === 'preparing')
    throw Conflict({ message: 'The broadcast has not started, so it cannot be paused.' })
  return paused ? 'paused' : 'playing'
}

function checkStart(item: BroadcastItem | undefined, seconds: number | undefined): void {
  if (seconds === undefined || item?.seconds == null || seconds < item.seconds) return
  throw ValidationFailed({
    message: `“${item.name}” is ${item.seconds.toFixed(1)} s long and cannot start at ${seconds} s.`,
  })
}

/** Allowance for differing clocks and slow requests. */
const LATE_MS = MINUTE

/** @throws AppError validation_failed for a time in the past, which would start the broadcast at once by mistake */
function timeOf(text: string | null | undefined, now: number): Date | undefined {
  const date = instant(text)
  if (date === undefined || date.getTime() >= now - LATE_MS) return date
  const message = 'must not be in the past. Omit it to start at once'
  throw ValidationFailed({ errors: [{ path: '/body/scheduledFor', code: 'past', message }] })
}
