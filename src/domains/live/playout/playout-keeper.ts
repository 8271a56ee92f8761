import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { DesiredStream, MediaEvent } from '../../../../media/types.ts'
import { SECOND } from '../../../core/clock.ts'
import type { Logger } from '../../../core/log.ts'
import type { Sql } from '../../../core/sql.ts'
import type { TurnRunner } from '../../../core/system-turn.ts'
import type { Storage } from '../../../storage/storage.ts'
import type { DesiredStateWithPlayout as DesiredState } from './desired-playout.ts'
import type { BroadcastNews } from './service.ts'
import { noteBroadcast } from './turns.ts'
import { type MediaDirectory, type Placement, SILENCE_MS } from '../media-nodes/index.ts'

export interface PlayoutKeeperOptions {
  readonly nodeId: string
  readonly sql: Sql
  readonly turns: TurnRunner
  readonly storage: Storage
  readonly directory: MediaDirectory
  readonly placement: Placement
  readonly log: Logger
  /** Folder for files that the storage keeps elsewhere; empty when the node started. */
  readonly scratch: string
  /** Makes the media process hold what a stream ought to be now. */
  readonly refresh: (streamId: string) => void
}

/** A broadcast that this node has taken. */
interface Taken {
  readonly workspaceId: string
  readonly broadcastId: string
  /** Files fetched for it. */
  readonly fetched: Map<string, string>
  item: number
  position: { readonly item: number; readonly ms: number; readonly cue: number } | undefined
}

/** What a node played is free a moment after it fell silent: it is looked for this many times. */
const EAGER_ROUNDS = 4
/** Broadcasts taken up in one round. */
const MOST = 50
/**
 * A broadcast whose node has written nothing for this long is free, if that node is not heard either. By the clock of
 * the database, which is one for all; longer than a media process plays on without its host.
 */
const LEASE = `interval '${SILENCE_MS} milliseconds'`

/** Decides which broadcasts of files this node plays, brings it the files, and keeps their places. */
export class PlayoutKeeper {
  readonly #options: PlayoutKeeperOptions
  readonly #taken = new Map<string, Taken>()
  #present: ReadonlySet<string> = new Set()
  #eager = 0

  constructor(options: PlayoutKeeperOptions) {
    this.#options = options
  }

  /**
   * Takes broadcasts that nobody plays: new ones, and those whose node is gone. One belongs where the stream's publisher
   * is, else where the stream is placed, else to the node with the most room; that node takes it at once, the others
   * after it had its chance.
   * @param which `streamId`: only that of this stream; `late`: the chance was had
   * @returns streams to look at
   */
  async take(which: {
    readonly streamId?: string | undefined
    readonly late?: boolean
  }): Promise<{ streamId: string; workspaceId: string; path: string }[]> {
    const { directory, nodeId, placement, sql } = this.#options
    const isNext = which.late === true || placement.best()?.nodeId === nodeId
    const rows = await sql.rows<{ id: string; workspace_id: string; path: string }>(
      `with free as (
         select b.id, s.id as stream_id, s.workspace_id, s.path from stream_broadcasts b join streams s on s.id = b.stream_id
         where b.status in ('playing', 'paused') and ($1::uuid is null or s.id = $1)
           and (b.node_id is null
             or (b.node_id <> all($2) and coalesce(b.seen_at, '-infinity') < now() - ${LEASE}))
           and case
             when s.ingest_node = $3 then true
             when s.ingest_node = any($2) then false
             when s.media_node = $3 then true
             when s.media_node = any($2) then $5
             else $4 end
         limit ${MOST} for update of b skip locked)
       update stream_broadcasts t set node_id = $3, seen_at = now() from free where t.id = free.id
       returning free.stream_id as id, free.workspace_id, free.path`,
      [which.streamId ?? null, [...directory.present(), nodeId], nodeId, isNext, which.late === true],
    )
    return rows.map(({ id, path, workspace_id: workspaceId }) => ({ streamId: id, workspaceId, path }))
  }

  /** Whether a media node has gone just now, and left broadcasts perhaps. To be asked once a second. */
  isDue(): boolean {
    const before = this.#present
    this.#present = new Set(this.#options.directory.present())
    if (!before.isSubsetOf(this.#present)) this.#eager = EAGER_ROUNDS
    return this.#eager-- > 0
  }

  /** Whether this node is to play files over the stream. */
  isMine({ playout }: DesiredState): boolean {
    return playout?.nodeId === this.#options.nodeId
  }

  /** Makes the files of a broadcast be on this machine; to be called before {@link complete}. */
  async prepare(state: DesiredState): Promise<void> {
    const { playout, stream, workspaceId } = state
    const { streamId } = stream
    const taken = this.#taken.get(streamId)
    if (playout === undefined || !this.isMine(state)) return this.forget(streamId)
    if (taken?.broadcastId !== playout.id) {
      await this.forget(streamId)
      const { id: broadcastId, item } = playout
      this.#taken.set(streamId, { workspaceId, broadcastId, item, fetched: new Map(), position: undefined })
    }
    const { fetched } = this.#taken.get(streamId) as Taken
    for (const { key } of playout.items) {
      if (this.#options.storage.localPath(key) !== undefined || fetched.has(key)) continue
      fetched.set(key, await this.#fetch(key, playout.id))
    }
  }

  /** The state of a stream as the media process is to hold it. */
  complete(state: DesiredState): DesiredStream {
    const taken = this.#taken.get(state.stream.streamId)
    const { playout, stream } = state
    if (playout === undefined || taken?.broadcastId !== playout.id || !this.isMine(state)) return stream
    const { cue, id, item, loop, ms, paused } = playout
    const known = taken.position?.cue === cue ? taken.position : { item, ms }
    const items = playout.items.map(({ key }) => ({ path: this.#pathOf(key, taken) }))
    return { ...stream, playout: { id, items, loop, paused, item: known.item, ms: known.ms, cue } }
  }

  onEvent(event: MediaEvent): void {
    const taken = this.#taken.get(event.streamId)
    if (!('playoutId' in event) || taken?.broadcastId !== event.playoutId) return
    switch (event.type) {
      case 'playout.moved': {
        const { cue, item, ms } = event
        taken.position = { item, ms, cue }
        if (item !== taken.item) this.#note(taken, { type: 'item', item, ms })
        taken.item = item
        break
      }
      case 'playout.began': {
        const { cue, item, ms } = event
        this.#note(taken, { type: 'began', item, ms, cue })
        break
      }
      case 'playout.lapsed':
        // This node stood still: whether the broadcast is still its own is for the database to say.
        this.#options.refresh(event.streamId)
        break
      case 'playout.skipped':
        this.#note(taken, { type: 'skipped', item: event.item, message: event.message })
        break
      case 'playout.ended': {
        const { message, reason, relieved } = event
        this.#note(taken, { type: 'ended', message, reason, relieved })
        break
      }
    }
  }

  /** Writes the places of all broadcasts, about once a second, and finds those that are another node's by now. */
  async checkpoint(): Promise<void> {
    const taken = [...this.#taken]
    if (taken.length === 0) return
    const rows = taken.map(([, { broadcastId: id, position }]) => ({ id, ...position }))
    const mine = await this.#options.sql.rows<{ id: string }>(
      `update stream_broadcasts b set seen_at = now(), item = case when b.cue = r.cue then r.item else b.item end,
         position_ms = case when b.cue = r.cue then r.ms else b.position_ms end
       from json_to_recordset($1::json) as r(id uuid, item integer, ms bigint, cue integer)
       where b.id = r.id and b.node_id = $2 and b.status in ('playing', 'paused') returning b.id`,
      [JSON.stringify(rows), this.#options.nodeId],
    )
    for (const [streamId, { broadcastId }] of taken) {
      if (mine.every(({ id }) => id !== broadcastId)) this.#options.refresh(streamId)
    }
  }

  /** Leaves a broadcast to the node that the stream's publisher has come to. */
  async yield({ playout }: DesiredState): Promise<void> {
    await this.#options.sql.run('update stream_broadcasts set node_id = null where id = $1 and node_id = $2', [
      playout?.id ?? null,
      this.#options.nodeId,
    ])
  }

  async forget(streamId: string): Promise<void> {
    const taken = this.#taken.get(streamId)
    this.#taken.delete(streamId)
    for (const path of taken?.fetched.values() ?? []) await rm(path, { force: true })
  }

  /** Lets others go on with what this node played. */
  async close(): Promise<void> {
    await this.checkpoint()
    await this.#options.sql.run(`update stream_broadcasts set node_id = null where node_id = $1 and ended_at is null`, [
      this.#options.nodeId,
    ])
    for (const streamId of this.#taken.keys()) await this.forget(streamId)
  }

  #pathOf(key: string, { broadcastId, fetched }: Taken): string {
    return this.#options.storage.localPath(key) ?? fetched.get(key) ?? this.#copyPath(key, broadcastId)
  }

  /** A file that is not there is left to the media process to find out: it says so of the file. */
  async #fetch(key: string, broadcastId: string): Promise<string> {
    const path = this.#copyPath(key, broadcastId)
    await mkdir(this.#options.scratch, { recursive: true })
    const content = await this.#options.storage.get(key)
    if (content !== undefined) await pipeline(content, createWriteStream(path))
    return path
  }

  #copyPath(key: string, broadcastId: string): string {
    return join(this.#options.scratch, `broadcast-${broadcastId}-${key.split('/').at(-1)}`)
  }

  /** Tried again while the database is away: what a broadcast came to must not be lost. */
  #note(
    { broadcastId, workspaceId }: Pick<Taken, 'broadcastId' | 'workspaceId'>,
    news: BroadcastNews,
    tries = 30,
  ): void {
    const { log, nodeId, turns } = this.#options
    turns.system(workspaceId, noteBroadcast, { broadcastId, nodeId, news }).catch((error: unknown) => {
      log.warn({ error, broadcastId }, 'what became of a broadcast could not be written; trying again')
      if (tries > 0) setTimeout(() => this.#note({ broadcastId, workspaceId }, news, tries - 1), SECOND).unref()
    })
  }
}
