import { sql } from 'kysely'
import { SECOND, type Clock } from '../core/clock.ts'
import { isAway } from '../core/errors.ts'
import type { WorkspaceEvent } from '../core/event.ts'
import { firstIdOf } from '../tools/id.ts'
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
  /** Whether there are other nodes, which announce what this one could not. */
  readonly shared: boolean
  /** Publishes events to all nodes. */
  readonly publish: (workspaceId: string, events: readonly WorkspaceEvent[]) => void
  /** Notifies the sockets of a workspace, on all nodes, that they may have missed events. */
  readonly missed: (workspaceId: string) => void
}

/** The row of an actor. Its last batch may or may not have been announced. */
type FenceRow = Pick<Row<typeof actorFence.entity>, 'key' | 'batch' | 'seq' | 'unannouncedAfter'>

export function isUnannounced(row: FenceRow): row is FenceRow & Unannounced {
  return row.batch !== null && row.unannouncedAfter !== null
}

/** A batch that this node has announced. The mark in its actor's row is still to be cleared. */
interface Announced {
  readonly batch: string
  readonly at: number
  tries: number
}

/** How long after the last batch of an actor its mark is cleared. The next batch of a busy actor clears it anyway. */
const CLEAR_AFTER_MS = SECOND
/** How often to try. A row may be locked by a batch, or belong to another owner by now. */
const MAX_TRIES = 3
/** Younger batches may still be announced by the node that committed them. */
const MIN_AGE_MS = 3 * SECOND
/**
 * A batch with more events is not published again. Clients fetch the events when they are notified that they missed
 * some.
 */
const MAX_EVENTS = 1_000
const MAX_ACTORS = 10_000
const RECOVERY_LOCK = 0x63_72_61_6e

/** Clears the marks of actors whose last batch is the one that was announced. Skips rows that a batch has locked. */
const clearMarks = query({ actorFence }, (db, $: { keys: readonly string[]; batches: readonly string[] }) =>
  db
    .with('announced', (announced) =>
      announced
        .selectFrom('actorFence as f')
        .innerJoin(
          sql<{ key: string; batch: string }>`unnest(${$.keys}::text[], ${$.batches}::uuid[])`.as<'t'>(
            sql`t (key, batch)`,
          ),
          (join) => join.onRef('f.key', '=', 't.key').onRef('f.batch', '=', 't.batch'),
        )
        .select('f.key')
        .forNoKeyUpdate('f')
        .skipLocked(),
    )
    .updateTable('actorFence as f')
    .from('announced as a')
    .set({ unannouncedAfter: null })
    .whereRef('f.key', '=', 'a.key')
    .returning('f.key'),
)

interface Ranges {
  readonly workspaceIds: readonly string[]
  readonly after: readonly number[]
  readonly until: readonly number[]
}

/** Events of several workspaces, with a range of numbers for each. */
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
 * Ensures that committed events are announced at least once, even if a node dies between commit and announcement.
 *
 * Each batch marks its actor's row in the statement of its fence. The next batch clears the mark, or, if none follows
 * within a second, one statement clears the marks of all idle actors. A mark that is found when an actor is activated,
 * or after a node has died, means that the last batch may not have been announced. Its events are then published again,
 * and the sockets of the workspace are notified that they may have missed some. Repeats are harmless: events carry
 * numbers, and notices only clear caches.
 */
export class Announcements {
  readonly #options: AnnouncementsOptions
  readonly #listeners: ((workspaceId: string) => void)[] = []
  readonly #announced = new Map<string, Announced>()
  readonly #timer: NodeJS.Timeout | undefined
  /** Actors that this node is releasing. */
  #released: string[] = []
  #releasing: Promise<void> | undefined

  constructor(options: AnnouncementsOptions) {
    this.#options = options
    if (options.shared) this.#timer = setInterval(() => void this.#clear(this.#idle()), CLEAR_AFTER_MS).unref()
  }

  /** Adds a listener that runs before events are published again, so that all nodes drop what they cache of the workspace. */
  onAgain(listener: (workspaceId: string) => void): void {
    this.#listeners.push(listener)
  }

  /** Records that a batch was committed and its announcement was sent. */
  announced(actor: string, batch: string): void {
    if (this.#options.shared) this.#announced.set(actor, { batch, at: this.#options.clock.monotonic(), tries: 0 })
  }

  /** Clears the mark of an actor that this node releases, together with all that are released at the same moment. */
  async release(actor: string): Promise<void> {
    if (!this.#announced.has(actor)) return
    this.#released.push(actor)
    await (this.#releasing ??= this.#clearReleased())
  }

  /**
   * Announces again what an earlier owner may not have announced. Call it before the next batch.
   * @param unsure whether this node itself does not know the outcome of its last commit
   */
  async again(tx: Sql, row: Unannounced, unsure: boolean): Promise<void> {
    // On a single node, all listeners ended with the process that could not announce.
    if (!this.#options.shared && !unsure) return
    // This node has announced it, and has not cleared the mark yet.
    if (this.#announced.get(row.key)?.batch === row.batch) return
    await this.#announce(tx, [row])
  }

  /**
   * Handles the loss of committed batches, such as after the promotion of an asynchronous standby. All nodes drop what
   * they cache of the workspace, and its sockets are notified to fetch its state again.
   */
  wentBack(actor: string): void {
    const workspaceId = workspaceOf(actor)
    this.#options.log.error({ workspaceId }, 'the database has lost committed changes of a workspace')
    for (const listener of this.#listeners) listener(workspaceId)
    this.#options.missed(workspaceId)
  }

  /**
   * Announces what a dead node may not have announced, for actors that no other node activates. Every node that notices the
   * death calls it. An advisory lock lets one of them do the work.
   */
  async recover(): Promise<void> {
    const { clock, database, log } = this.#options
    try {
      await database.transaction(async (tx) => {
        // Written by hand: Kysely has no advisory locks.
        const lock = await tx.row<{ had: boolean }>('select pg_try_advisory_xact_lock($1) as had', [RECOVERY_LOCK])
        if (!lock?.had) return
        const rows = await actorFence.find(
          tx,
          { unannouncedAfter: not(null), batch: lessThan(firstIdOf(clock.now() - MIN_AGE_MS)) },
          { columns: ['key', 'batch', 'seq', 'unannouncedAfter'], limit: MAX_ACTORS },
        )
        const unannounced = rows
          .filter(isUnannounced)
          .filter(({ batch, key }) => this.#announced.get(key)?.batch !== batch)
        if (unannounced.length === 0) return
        await this.#announce(tx, unannounced)
        await clearMarks.run(tx, {
          keys: unannounced.map(({ key }) => key),
          batches: unannounced.map(({ batch }) => batch),
        })
        log.info({ actors: unannounced.length }, 'announced what a dead node had committed')
      })
    } catch (error) {
      log.warn({ error }, 'cannot read what a dead node had committed')
    }
  }

  /** Clears the marks of everything that was announced. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#releasing
    await this.#clear([...this.#announced.keys()])
  }

  async #announce(tx: Sql, rows: readonly Unannounced[]): Promise<void> {
    const { missed, publish } = this.#options
    const listed = rows.filter(
      ({ seq, unannouncedAfter }) => seq > unannouncedAfter && seq - unannouncedAfter <= MAX_EVENTS,
    )
    const events =
      listed.length === 0
        ? []
        : await eventsWithin.rows(tx, {
            workspaceIds: listed.map(({ key }) => workspaceOf(key)),
            after: listed.map((row) => row.unannouncedAfter),
            until: listed.map((row) => row.seq),
          })
    const byWorkspace = Map.groupBy(events, (row) => row.workspaceId)
    for (const { key } of rows) {
      const workspaceId = workspaceOf(key)
      // As after a commit, caches of memberships are cleared before the events are sent.
      for (const listener of this.#listeners) listener(workspaceId)
      const found = byWorkspace.get(workspaceId)
      if (found) publish(workspaceId, found.map(eventOf))
      missed(workspaceId)
    }
  }

  async #clearReleased(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    this.#releasing = undefined
    await this.#clear(this.#released.splice(0))
  }

  /** Actors whose last batch was a while ago. */
  #idle(): string[] {
    const until = this.#options.clock.monotonic() - CLEAR_AFTER_MS
    return [...this.#announced].filter(([, { at }]) => at <= until).map(([actor]) => actor)
  }

  async #clear(actors: readonly string[]): Promise<void> {
    const { database, log } = this.#options
    const due = actors.flatMap((actor) => {
      const announced = this.#announced.get(actor)
      return announced ? [[actor, announced] as const] : []
    })
    if (due.length === 0) return
    try {
      const announced = { keys: due.map(([actor]) => actor), batches: due.map(([, { batch }]) => batch) }
      const cleared = new Set((await clearMarks.rows(database, announced)).map(({ key }) => key))
      for (const [actor, entry] of due) {
        entry.tries += 1
        const isOver = cleared.has(actor) || entry.tries === MAX_TRIES
        // Another batch may have followed.
        if (isOver && this.#announced.get(actor) === entry) this.#announced.delete(actor)
      }
    } catch (error) {
      if (!isAway(error)) log.warn({ error }, 'cannot record what was announced')
    }
  }
}

function eventOf({ channelId, userId, ...event }: Row<typeof workspaceEvents.entity>): WorkspaceEvent {
  return {
    ...event,
    ...(channelId !== null && { channel: channelId }),
    ...(userId !== null && { user: userId }),
  }
}
