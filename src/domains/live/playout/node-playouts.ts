import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { DesiredStream, MediaEvent } from '../../../../media/types.ts'
import { SECOND } from '../../../core/clock.ts'
import type { Foundation } from '../../../foundation.ts'
import type { DesiredStateWithPlayout as DesiredState } from './desired-playout.ts'
import type { PlayoutEvent } from './service.ts'
import { noteBroadcast } from './turns.ts'
import type { MediaDirectory, Placement } from '../media-nodes/index.ts'
import { streamPlaces, type StreamPlace } from '../streams/index.ts'
import { claimBroadcasts, freeBroadcasts, releaseBroadcasts, renewLeases } from './leases.ts'

type Dependencies = Pick<Foundation, 'database' | 'log' | 'scratch' | 'storage' | 'turns'> & {
  readonly nodeId: string
  readonly directory: MediaDirectory
  readonly placement: Placement
  /** Applies the desired state of a stream to the media process. */
  readonly refresh: (streamId: string) => void
}

/** A broadcast that this node plays. */
interface Taken {
  readonly workspaceId: string
  readonly broadcastId: string
  /** Paths of files that were fetched for it, by key. */
  readonly fetched: Map<string, string>
  item: number
  position: { readonly item: number; readonly ms: number; readonly cue: number } | undefined
}

/** Broadcasts of a lost node become free when their lease expires. They are searched for this many times. */
const EAGER_ROUNDS = 4
/** Maximum number of broadcasts that are claimed at once. */
const MAX = 50

/** Decides which broadcasts this node plays, fetches their files, and stores their positions. */
export class NodePlayouts {
  readonly #dependencies: Dependencies
  readonly #taken = new Map<string, Taken>()
  #present: ReadonlySet<string> = new Set()
  #eager = 0

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Claims broadcasts that no node plays: new ones, and those of lost nodes. The node of the stream's publisher claims them
   * first, then the node that the stream is assigned to, then the least loaded one. The others wait.
   * @param which `streamId`: only the broadcast of this stream. `late`: the preferred node had time to claim it
   * @returns the streams to refresh
   */
  async take(which: {
    readonly streamId?: string | undefined
    readonly late?: boolean
  }): Promise<{ streamId: string; workspaceId: string; path: string }[]> {
    const { directory, nodeId, placement, database: sql } = this.#dependencies
    const isNext = which.late === true || placement.best()?.nodeId === nodeId
    const otherNodes = directory.present().filter((id) => id !== nodeId)
    const free = await freeBroadcasts.rows(sql, {
      present: [...otherNodes, nodeId],
      ...(which.streamId !== undefined && { streamId: which.streamId }),
    })
    if (free.length === 0) return []
    const places = await streamPlaces(
      sql,
      free.map(({ streamId }) => streamId),
    )
    const mine = new Map(
      places
        .filter((place) => takesHere(place, { nodeId, otherNodes, isNext, isLate: which.late === true }))
        .slice(0, MAX)
        .map((place) => [place.id, place]),
    )
    const ids = free.flatMap(({ id, streamId }) => (mine.has(streamId) ? [id] : []))
    if (ids.length === 0) return []
    const taken = await claimBroadcasts.rows(sql, { ids, present: [...otherNodes, nodeId], nodeId })
    return taken.flatMap(({ streamId }) => {
      const place = mine.get(streamId)
      return place === undefined ? [] : [{ streamId, workspaceId: place.workspaceId, path: place.path }]
    })
  }

  /** Whether a media node was lost recently and may have left broadcasts. To be called once a second. */
  isDue(): boolean {
    const before = this.#present
    this.#present = new Set(this.#dependencies.directory.present())
    if (!before.isSubsetOf(this.#present)) this.#eager = EAGER_ROUNDS
    return this.#eager-- > 0
  }

  /** Whether this node plays files over the stream. */
  isMine({ playout }: DesiredState): boolean {
    return playout?.nodeId === this.#dependencies.nodeId
  }

  /** Fetches the files of a broadcast. To be called before {@link complete}. */
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
      if (this.#dependencies.storage.localPath(key) !== undefined || fetched.has(key)) continue
      fetched.set(key, await this.#fetch(key, playout.id))
    }
  }

  /** Adds playout to the desired state of a stream. */
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
        // This node was paused for a while. The database knows whether it still has the broadcast.
        this.#dependencies.refresh(event.streamId)
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

  /** Stores the positions of all broadcasts and finds those that another node has taken. Called about once a second. */
  async checkpoint(): Promise<void> {
    const taken = [...this.#taken]
    if (taken.length === 0) return
    const positions = taken.map(([, { broadcastId: id, position }]) => ({ id, ...position }))
    const mine = await renewLeases(this.#dependencies.database, this.#dependencies.nodeId, positions)
    for (const [streamId, { broadcastId }] of taken) {
      if (!mine.has(broadcastId)) this.#dependencies.refresh(streamId)
    }
  }

  /** Releases a broadcast for the node that the stream's publisher has connected to. */
  async yield({ playout }: DesiredState): Promise<void> {
    if (playout !== undefined)
      await releaseBroadcasts(this.#dependencies.database, this.#dependencies.nodeId, playout.id)
  }

  async forget(streamId: string): Promise<void> {
    const taken = this.#taken.get(streamId)
    this.#taken.delete(streamId)
    for (const path of taken?.fetched.values() ?? []) await rm(path, { force: true })
  }

  /** Releases all broadcasts for other nodes. */
  async close(): Promise<void> {
    await this.checkpoint()
    await releaseBroadcasts(this.#dependencies.database, this.#dependencies.nodeId)
    for (const streamId of this.#taken.keys()) await this.forget(streamId)
  }

  #pathOf(key: string, { broadcastId, fetched }: Taken): string {
    return this.#dependencies.storage.localPath(key) ?? fetched.get(key) ?? this.#copyPath(key, broadcastId)
  }

  /** A missing file is left to the media process, which reports it. */
  async #fetch(key: string, broadcastId: string): Promise<string> {
    const path = this.#copyPath(key, broadcastId)
    await mkdir(this.#dependencies.scratch, { recursive: true })
    const content = await this.#dependencies.storage.get(key)
    if (content !== undefined) await pipeline(content, createWriteStream(path))
    return path
  }

  #copyPath(key: string, broadcastId: string): string {
    return join(this.#dependencies.scratch, `broadcast-${broadcastId}-${key.split('/').at(-1)}`)
  }

  /** Retried while the database is unavailable, because the result of a broadcast must not be lost. */
  #note(
    { broadcastId, workspaceId }: Pick<Taken, 'broadcastId' | 'workspaceId'>,
    event: PlayoutEvent,
    tries = 30,
  ): void {
    const { log, nodeId, turns } = this.#dependencies
    turns.system(workspaceId, noteBroadcast, { broadcastId, nodeId, event }).catch((error: unknown) => {
      log.warn({ error, broadcastId }, 'the progress of a broadcast could not be stored; trying again')
      if (tries > 0) setTimeout(() => this.#note({ broadcastId, workspaceId }, event, tries - 1), SECOND).unref()
    })
  }
}

interface Here {
  readonly nodeId: string
  /** The other nodes that can be reached. */
  readonly otherNodes: readonly string[]
  /** Whether this node is the least loaded one. */
  readonly isNext: boolean
  /** Whether the preferred node had time to claim the broadcast. */
  readonly isLate: boolean
}

/** The publisher's node comes first, then the node that the stream is assigned to, then the least loaded one. */
function takesHere({ ingestNode, mediaNode }: StreamPlace, { isLate, isNext, nodeId, otherNodes }: Here): boolean {
  if (ingestNode === nodeId) return true
  if (ingestNode !== null && otherNodes.includes(ingestNode)) return false
  if (mediaNode === nodeId) return true
  return mediaNode !== null && otherNodes.includes(mediaNode) ? isLate : isNext
}
