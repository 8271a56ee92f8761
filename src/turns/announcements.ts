import { sql } from 'kysely'
import { SECOND, type Clock } from '../core/clock.ts'
import { isAway } from '../core/errors.ts'
import type { WorkspaceEvent } from '../core/event.ts'
import type { Logger } from '../core/log.ts'
import type { Sql } from '../core/sql.ts'
import { lessThan, not } from '../db/condition.ts'
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import type { Row } from '../db/row.ts'
import { workspaceOf } from './actor-name.ts'
import { actorFence, workspaceEvents } from './tables.ts'

/** The row of an actor whose last batch is not known to have been announced. */
export interface Unannounced {
  readonly key: string
  readonly batch: string
  /** The newest event. */
  readonly seq: number
  /** Events after this number are of that batch. */
  readonly unannouncedAfter: number
}

export interface AnnouncementsOptions {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  /** Whether there are other nodes, which would have to say what this one left unsaid. */
  readonly shared: boolean
  /** Hands events to whoever listens, on every node. */
  readonly publish: (workspaceId: string, events: readonly WorkspaceEvent[]) => void
  /** Tells the sockets of a workspace, on every node, that they may have missed something. */
  readonly missed: (workspaceId: string) => void
}

/** An actor's row, whose last batch may or may not have been announced. */
type FenceRow = Pick<Row<typeof actorFence.entity>, 'key' | 'batch' | 'seq' | 'unannouncedAfter'>

export function isUnannounced(row: FenceRow): row is FenceRow & Unannounced {
  return row.batch !== null && row.unannouncedAfter !== null
}

/** A batch that this node has announced, to be noted in its actor's row. */
interface Told {
  readonly batch: string
  readonly at: number
  tries: number
}

/** How long after its last batch an actor's row says that all was announced: busy actors never need a write of its own. */
const NOTE_AFTER_MS = SECOND
/** A row that another batch holds is tried again; one that belongs to another owner by now is let go. */
const MOST_TRIES = 3
/** Batches that are younger are still being announced by whoever made them. */
const SURELY_OVER_MS = 3 * SECOND
/** Further back nothing is sent again one by one: clients ask for it when they hear that they have missed something. */
const MOST_EVENTS = 1_000
const MOST_ACTORS = 10_000
const RECOVERY_LOCK = 0x63_72_61_6e

// Written by hand: it passes over rows that a batch holds (`skip locked`).
const NOTE = `with told as (
    select f.key from actor_fence f
    join unnest($1::text[], $2::uuid[]) as t (key, batch) on f.key = t.key and f.batch = t.batch
    for no key update of f skip locked)
  update actor_fence f set unannounced_after = null from told where f.key = told.key returning f.key`

interface Ranges {
  readonly workspaceIds: readonly string[]
  readonly after: readonly number[]
  readonly until: readonly number[]
}

/** Events of some workspaces, each in a range of numbers of its own. */
const eventsWithin = query({ workspaceEvents }, (db, $: Ranges) =>
  db
    .selectFrom(
      sql<{ workspaceId: string; after: number; until: number }>`
        unnest(${$.workspaceIds}::uuid[], ${$.after}::bigint[], ${$.until}::bigint[])`.as<'t'>(
        sql`t (workspace_id, after, until)`,
      ),
    )
    .innerJoin('workspaceEvents as e', (join) =>
      join.onRef('e.workspaceId', '=', 't.workspaceId').onRef('e.seq', '>', 't.after').onRef('e.seq', '<=', 't.until'),
    )
    .select(['e.workspaceId', 'e.seq', 'e.type', 'e.data', 'e.at', 'e.channelId', 'e.userId'])
    .orderBy('e.workspaceId')
    .orderBy('e.seq'),
)

/**
 * What a node that dies between a commit and its announcement leaves unsaid is said by another. Each batch marks its
 * actor's row, in its own fence; the mark goes with the next batch, or a second later in one statement for all actors
 * that have fallen quiet. A mark that is found when the actor is activated, or when a node has died, means that the last
 * batch may not have been announced: its events are published again, and the sockets of the workspace are told to ask.
 * At least once, therefore: events carry numbers, and notices only make others forget.
 */
export class Announcements {
  readonly #options: AnnouncementsOptions
  readonly #listeners: ((workspaceId: string) => void)[] = []
  readonly #told = new Map<string, Told>()
  readonly #timer: NodeJS.Timeout | undefined
  /** Actors that are being given up. */
  #released: string[] = []
  #releasing: Promise<void> | undefined

  constructor(options: AnnouncementsOptions) {
    this.#options = options
    if (options.shared) this.#timer = setInterval(() => void this.#note(this.#quiet()), NOTE_AFTER_MS).unref()
  }

  /** Calls this before events are published again: every node must forget what it caches of the workspace. */
  onAgain(listener: (workspaceId: string) => void): void {
    this.#listeners.push(listener)
  }

  /** A batch has been committed, and its announcement has left. */
  announced(actor: string, batch: string): void {
    if (this.#options.shared) this.#told.set(actor, { batch, at: this.#options.clock.monotonic(), tries: 0 })
  }

  /** Notes at once what was announced of an actor that is given up, with all that are given up in the same moment. */
  async release(actor: string): Promise<void> {
    if (!this.#told.has(actor)) return
    this.#released.push(actor)
    await (this.#releasing ??= this.#noteReleased())
  }

  /**
   * Announces again what an owner before may not have announced; to be called before the next batch.
   * @param unsure this node itself lost the answer to the last commit
   */
  async again(tx: Sql, row: Unannounced, unsure: boolean): Promise<void> {
    // Alone, a node that has died takes with it everybody who was listening.
    if (!this.#options.shared && !unsure) return
    // Announced by this very node, and not noted yet.
    if (this.#told.get(row.key)?.batch === row.batch) return
    await this.#announce(tx, [row])
  }

  /**
   * Announces what a node that has died may not have announced, of actors that nobody asks for. Every node that notices
   * calls it; one of them does it.
   */
  async recover(): Promise<void> {
    const { clock, database, log } = this.#options
    try {
      await database.transaction(async (tx) => {
        const lock = await tx.row<{ had: boolean }>('select pg_try_advisory_xact_lock($1) as had', [RECOVERY_LOCK])
        if (!lock?.had) return
        const rows = await actorFence.find(
          tx,
          { unannouncedAfter: not(null), batch: lessThan(firstIdOf(clock.now() - SURELY_OVER_MS)) },
          { columns: ['key', 'batch', 'seq', 'unannouncedAfter'], limit: MOST_ACTORS },
        )
        const left = rows.filter(isUnannounced).filter(({ batch, key }) => this.#told.get(key)?.batch !== batch)
        if (left.length === 0) return
        await this.#announce(tx, left)
        await tx.run(NOTE, [left.map(({ key }) => key), left.map(({ batch }) => batch)])
        log.info({ actors: left.length }, 'what a node had committed and not announced was announced')
      })
    } catch (error) {
      log.warn({ error }, 'what a node had committed and not announced could not be read')
    }
  }

  /** Notes everything that was announced. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#releasing
    await this.#note([...this.#told.keys()])
  }

  async #announce(tx: Sql, rows: readonly Unannounced[]): Promise<void> {
    const { missed, publish } = this.#options
    const near = rows.filter(
      ({ seq, unannouncedAfter }) => seq > unannouncedAfter && seq - unannouncedAfter <= MOST_EVENTS,
    )
    const events =
      near.length === 0
        ? []
        : await eventsWithin.rows(tx, {
            workspaceIds: near.map(({ key }) => workspaceOf(key)),
            after: near.map((row) => row.unannouncedAfter),
            until: near.map((row) => row.seq),
          })
    const byWorkspace = Map.groupBy(events, (row) => row.workspaceId)
    for (const { key } of rows) {
      const workspaceId = workspaceOf(key)
      // As after a commit: who may see what is heard before the events.
      for (const listener of this.#listeners) listener(workspaceId)
      const found = byWorkspace.get(workspaceId)
      if (found) publish(workspaceId, found.map(eventOf))
      missed(workspaceId)
    }
  }

  async #noteReleased(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    this.#releasing = undefined
    await this.#note(this.#released.splice(0))
  }

  /** Actors without a batch for a while. */
  #quiet(): string[] {
    const until = this.#options.clock.monotonic() - NOTE_AFTER_MS
    return [...this.#told].filter(([, { at }]) => at <= until).map(([actor]) => actor)
  }

  async #note(actors: readonly string[]): Promise<void> {
    const { database, log } = this.#options
    const due = actors.flatMap((actor) => {
      const told = this.#told.get(actor)
      return told ? [[actor, told] as const] : []
    })
    if (due.length === 0) return
    try {
      const values = [due.map(([actor]) => actor), due.map(([, { batch }]) => batch)]
      const noted = new Set((await database.rows<{ key: string }>(NOTE, values)).map(({ key }) => key))
      for (const [actor, told] of due) {
        told.tries += 1
        const isOver = noted.has(actor) || told.tries === MOST_TRIES
        // A batch may have followed meanwhile.
        if (isOver && this.#told.get(actor) === told) this.#told.delete(actor)
      }
    } catch (error) {
      if (!isAway(error)) log.warn({ error }, 'what was announced could not be noted')
    }
  }
}

/** The least UUID of version 7 that is made at a moment: those that were made before are less. */
function firstIdOf(ms: number): string {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
}

function eventOf({ channelId, userId, ...event }: Row<typeof workspaceEvents.entity>): WorkspaceEvent {
  return {
    ...event,
    ...(channelId !== null && { channel: channelId }),
    ...(userId !== null && { user: userId }),
  }
}
