import { sql as raw } from 'kysely'
import type { Clock } from '../../../core/clock.ts'
import { Conflict, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { not } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import { query } from '../../../db/query.ts'
import { planLabel, type PlanService } from '../../money/plans/index.ts'
import { streamUpdated } from './events.ts'
import type { InputSource } from './inputs.ts'
import type { MediaDirectory, Placement, StreamNotices } from '../media-nodes/index.ts'
import { notifyStatus } from './notices.ts'
import { ownerOf } from './platforms.ts'
import type { EndReason, StreamPlatformData } from './schemas.ts'
import { isActive, next, type StreamStatus } from './state.ts'
import { findStream, type StreamRow } from './store.ts'
import type { SessionDestination } from './session-schemas.ts'
import { streamDestinations, streams, streamSessions } from './tables.ts'
import { countActive, minutesOf, monthOf, usedMs } from './usage.ts'

interface Dependencies {
  readonly clock: Clock
  readonly plans: PlanService
  readonly media: MediaDirectory
  readonly notices: StreamNotices
  readonly placement: Placement
  /** Ids of the workspaces that a user owns. */
  readonly workspacesOwnedBy: (sql: Sql, userId: string) => Promise<readonly string[]>
}

const WHY_NOT_LIVE: Partial<Record<StreamStatus, string>> = {
  idle: 'The stream has no publisher. Start the encoder first, or send waitForIngest to go live with its first frame.',
  ended: 'The stream has ended: arm it to get a new key.',
}

/** Adds destinations to the summary of a session, and ends it if a reason is given. */
const addToSession = query(
  { streamSessions },
  (db, $: { id: string; destinations: string; endedAt?: Date; endReason?: EndReason }) => {
    const update = db
      .updateTable('streamSessions')
      .set({ destinations: raw`destinations || ${$.destinations}::jsonb` })
      .where('id', '=', $.id)
    return $.endedAt === undefined || $.endReason === undefined
      ? update
      : update.set({ endedAt: $.endedAt, endReason: $.endReason })
  },
)

/** Enables all destinations, or only those named. `since` resets their state for a new session. */
const enableDestinations = query(
  { streamDestinations },
  (db, $: { streamId: string; named?: readonly string[] | undefined; since?: Date | undefined }) => {
    const update = db
      .updateTable('streamDestinations')
      .set({ enabled: $.named === undefined ? true : raw<boolean>`id = any(${$.named})` })
      .where('streamId', '=', $.streamId)
    return $.since === undefined ? update : update.set({ status: 'idle', since: $.since, lastError: null })
  },
)

/** Ends what else belongs to a stream that ends. */
type EndHook = (turn: Turn, streamId: string) => Promise<void>

/** Starts, stops and switches streams. Turns change the database, and media nodes follow it. */
export class StreamLifecycle {
  readonly #dependencies: Dependencies
  readonly #endHooks: EndHook[] = []

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** Runs a hook in the turn that ends a stream. */
  onEnd(hook: EndHook): void {
    this.#endHooks.push(hook)
  }

  /**
   * Starts relaying, or lets it start with the first frame. A repeated call only changes which destinations are enabled.
   * @throws AppError not_found, conflict, validation_failed, plan_limit_reached, media_unavailable
   */
  async goLive(
    turn: Turn,
    id: string,
    { destinationIds, waitForIngest }: { destinationIds?: readonly string[]; waitForIngest?: boolean },
  ): Promise<StreamRow> {
    const row = await this.find(turn, id)
    const status = next(row.status, waitForIngest ? 'go_live_and_wait' : 'go_live')
    if (status === undefined) throw Conflict({ message: WHY_NOT_LIVE[row.status] ?? 'The stream cannot go live now.' })
    const wasActive = isActive(row.status)
    if (wasActive && destinationIds === undefined) return row
    checkNamed(row, destinationIds)
    this.#dependencies.media.require()
    if (!wasActive) await this.#checkPlan(turn)
    await this.#choose(turn, id, destinationIds, !wasActive)
    await this.place(turn, row)
    await this.move(turn, { ...row, statusReason: null }, status)
    turn.audit({ kind: 'stream', id })
    return this.find(turn, id)
  }

  /** @throws AppError not_found; conflict when there is nothing to stop */
  async stop(turn: Turn, id: string): Promise<StreamRow> {
    const row = await this.find(turn, id)
    const status = next(row.status, 'stop')
    if (status === undefined) throw Conflict({ message: 'There is nothing to stop: the stream is idle.' })
    turn.audit({ kind: 'stream', id })
    if (row.status === 'ended') return row
    await this.end(turn, row, 'stopped')
    return this.find(turn, id)
  }

  /** Ends a stream and its session. Media nodes disconnect the publisher after the commit. */
  async end(turn: Turn, row: StreamRow, reason: EndReason): Promise<void> {
    const now = new Date(this.#dependencies.clock.now())
    if (row.sessionId !== null) {
      await addToSession.run(turn.sql, {
        id: row.sessionId,
        destinations: summaries(row.platforms),
        endedAt: now,
        endReason: reason,
      })
    }
    await streamDestinations.update(
      turn.sql,
      { streamId: row.id, enabled: true, status: not('stopped') },
      { status: 'stopped', since: now },
    )
    const none = { ingestId: null, ingestNode: null, sessionId: null, inputSelected: null }
    await streams.update(turn.sql, { id: row.id }, none)
    for (const hook of this.#endHooks) await hook(turn, row.id)
    await this.move(turn, { ...row, statusReason: reason }, 'ended')
  }

  /**
   * Writes a status, announces it, and notifies the media nodes. Going live opens a session. The version stays the
   * same, because it counts edits.
   */
  async move(turn: Turn, row: StreamRow, status: StreamStatus): Promise<void> {
    const now = new Date(this.#dependencies.clock.now())
    const changed = status !== row.status
    const opens = status === 'live' && row.sessionId === null
    const sessionId = opens ? await this.#openSession(turn, row.id, now) : undefined
    await streams.update(
      turn.sql,
      { id: row.id },
      {
        status,
        statusReason: row.statusReason,
        statusSince: changed ? now : undefined,
        sessionId,
        liveAt: opens ? now : undefined,
        updatedAt: now,
      },
    )
    turn.emit(streamUpdated, {
      streamId: row.id,
      title: row.title,
      status,
      endReason: row.statusReason,
      version: row.version,
    })
    this.#dependencies.notices.changed(turn, row.id)
    await notifyStatus(turn, row, status)
  }

  /** Assigns a stream to another media node if its own is gone. */
  async place(turn: Turn, { id, mediaNode: before }: Pick<StreamRow, 'id' | 'mediaNode'>): Promise<void> {
    const node = this.#dependencies.placement.choose(id, before)
    if (node !== before) await streams.update(turn.sql, { id }, { mediaNode: node })
  }

  /** The publisher of a stream has connected. */
  arrived(streamId: string): void {
    this.#dependencies.placement.arrived(streamId)
  }

  /** Connects one waiting or failed destination now. @throws AppError not_found, conflict, media_unavailable */
  async retry(turn: Turn, id: string, destinationId: string): Promise<StreamPlatformData> {
    const row = await this.find(turn, id)
    const destination = row.platforms.find((platform) => platform._id === destinationId)
    if (destination === undefined) throw NotFound()
    if (!isActive(row.status)) throw Conflict({ message: `The stream is ${row.status}: there is nothing to connect.` })
    if (!destination.enabled) {
      throw Conflict({ message: 'The destination is disabled in this session: name it when going live.' })
    }
    this.#dependencies.media.require()
    turn.audit({ kind: 'stream_destination', id: destinationId })
    this.#dependencies.notices.retry(turn, id, destinationId)
    return destination
  }

  /**
   * Makes one of two connected encoders live, and prefers it until another is selected or the stream ends.
   * @throws AppError not_found, conflict, media_unavailable
   */
  async switchInput(turn: Turn, id: string, source: InputSource): Promise<StreamRow> {
    const row = await this.find(turn, id)
    const { media, notices } = this.#dependencies
    media.require()
    const { ingest = null, standby = null } = media.statusOf(id)?.status ?? {}
    if (ingest?.source === 'file') {
      throw Conflict({ message: 'Files are being played: cancel their broadcast to switch to an encoder.' })
    }
    if (![ingest, standby].some((one) => one?.source === source)) {
      throw Conflict({ message: `The ${source} encoder is not connected: start it first.` })
    }
    const [changed] = await streams.updateReturning(
      turn.sql,
      { id },
      { inputSelected: source, version: increment(), updatedAt: new Date(this.#dependencies.clock.now()) },
    )
    turn.audit({ kind: 'stream', id, details: { source } })
    const { status, statusReason: endReason, title } = row
    turn.emit(streamUpdated, { streamId: id, title, status, endReason, version: changed?.version ?? row.version })
    notices.changed(turn, id)
    return this.find(turn, id)
  }

  /** Adds destinations that are removed before the end of a session to its summary. */
  async noteRemoved(turn: Turn, row: StreamRow, removed: readonly StreamPlatformData[]): Promise<void> {
    if (row.sessionId === null) return
    await addToSession.run(turn.sql, { id: row.sessionId, destinations: summaries(removed) })
  }

  /** @throws AppError not_found */
  async find(turn: Turn, id: string): Promise<StreamRow> {
    const row = await findStream(turn.sql, id)
    if (row === undefined) throw NotFound()
    return row
  }

  /** Locks the subscription until the commit, so that two requests of one owner cannot both use the last slot. */
  async #checkPlan(turn: Turn): Promise<void> {
    const { clock, plans } = this.#dependencies
    const owner = await ownerOf(turn)
    const allowance = await plans.lockLimitsOf(turn.sql, owner)
    const minutes = minutesOf(await usedMs(turn.sql, owner, monthOf(clock.now())))
    const minutesLimit = allowance.streamingMinutesPerMonth
    if (minutes >= minutesLimit) {
      const message = `The ${minutesLimit} streaming minutes of the ${planLabel(allowance)} are used up for this month.`
      throw plans.limitError(allowance, 'streamingMinutesPerMonth', minutes, message)
    }
    const count = await countActive(turn.sql, await this.#dependencies.workspacesOwnedBy(turn.sql, owner))
    if (count < allowance.concurrentStreams) return
    const message = `The ${planLabel(allowance)} allows ${allowance.concurrentStreams} streams at the same time.`
    throw plans.limitError(allowance, 'concurrentStreams', count, message)
  }

  /** Enables and disables destinations. A new session resets their states. */
  async #choose(turn: Turn, id: string, named: readonly string[] | undefined, fresh: boolean): Promise<void> {
    const since = fresh ? new Date(this.#dependencies.clock.now()) : undefined
    await enableDestinations.run(turn.sql, { streamId: id, named, since })
  }

  async #openSession(turn: Turn, streamId: string, now: Date): Promise<string> {
    const id = uuidv7(now.getTime())
    await streamSessions.insert(turn.sql, {
      id,
      streamId,
      workspaceId: turn.workspaceId,
      ownerId: await ownerOf(turn),
      startedAt: now,
      destinations: [],
    })
    return id
  }
}

function checkNamed(row: StreamRow, named: readonly string[] | undefined): void {
  const { platforms } = row
  const unknown = (named ?? []).findIndex((id) => !platforms.some((platform) => platform._id === id))
  if (unknown >= 0) {
    const message = 'is not a destination of this stream'
    throw ValidationFailed({ errors: [{ path: `/body/destinationIds/${unknown}`, code: 'unknown', message }] })
  }
  if (platforms.length === 0) throw Conflict({ message: 'The stream has no destination: add one first.' })
}

/** How destinations did in a session, as JSON. Disabled ones are left out. */
function summaries(platforms: readonly StreamPlatformData[]): string {
  const enabled = platforms.filter((platform) => platform.enabled)
  return JSON.stringify(
    enabled.map(({ _id, accountId, lastError, name, platform, status }) => {
      return { destinationId: _id, platform, accountId, name, status, lastError } satisfies SessionDestination
    }),
  )
}
