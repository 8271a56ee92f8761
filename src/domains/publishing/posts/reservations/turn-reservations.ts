import { sql as raw } from 'kysely'
import type { Sql } from '../../../../core/sql.ts'
import { query } from '../../../../db/query.ts'
import type { TakenTimes } from '../../calendar/index.ts'
import type { PlanningScope } from '../planning-scope.ts'
import type { TargetStatus } from '../state.ts'
import { posts, postTargets, type TargetRow } from '../tables.ts'
import { RESERVATIONS, windowKey, windowOf, windowStart, type Reservation, type ReservationBook } from './book.ts'
import { markOf, Window, type BookedTime } from './window.ts'

/** States in which a target with a time has this time for itself. */
export const RESERVING: readonly TargetStatus[] = [
  'in_review',
  'ready',
  'scheduled',
  'publishing',
  'published',
  'partial',
  'unconfirmed',
]

type Reserving = Pick<TargetRow, 'id' | 'accountId' | 'platform' | 'scheduledAt' | 'status' | 'replies' | 'costMicros'>

const opened = new WeakMap<PlanningScope, TurnReservations>()

/** The reservations as a turn sees them, with its own changes. */
export function reservationsOf(turn: PlanningScope): TurnReservations {
  const known = opened.get(turn)
  if (known !== undefined) return known
  const book = turn.memory(RESERVATIONS)
  book.makeRoom()
  const made = new TurnReservations(turn, book)
  opened.set(turn, made)
  // The memory changes only if the turn succeeds.
  turn.settled(() => made.apply())
  turn.restorable(() => made.mark())
  return made
}

/** Reservations of the accounts of a workspace: those in memory or in the database, and the changes of one turn. */
export class TurnReservations implements TakenTimes {
  readonly #sql: Sql
  readonly #workspaceId: string
  readonly #book: ReservationBook
  readonly #loaded = new Map<string, Window>()
  /** By target: its reservation after this turn, or null. */
  readonly #changed = new Map<string, Reservation | null>()
  /** The marks of the targets in `#changed`, see `markOf`. */
  readonly #marks = new Set<number>()
  readonly #released: Reservation[] = []
  /** The reservations in `#changed`, by account. */
  readonly #added = new Map<string, Window>()
  readonly #searches = new Map<string, number>()

  constructor({ sql, workspaceId }: Pick<PlanningScope, 'sql' | 'workspaceId'>, book: ReservationBook) {
    this.#sql = sql
    this.#workspaceId = workspaceId
    this.#book = book
  }

  /** Prepares `within` and `between` for a time, in milliseconds since the epoch. */
  async load(accountIds: readonly string[], from: number, to: number): Promise<void> {
    const missing = new Map<string, string>()
    let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
    for (let window = windowOf(from); window <= windowOf(to); window += 1) {
      for (const accountId of accountIds) {
        const key = windowKey(accountId, window)
        if (this.#window(key) !== undefined) continue
        missing.set(key, accountId)
        first = Math.min(first, window)
        last = Math.max(last, window)
      }
    }
    if (missing.size > 0) await this.#read(missing, windowStart(first), windowStart(last + 1))
  }

  /** See `TakenTimes`. The time must be loaded. */
  within(accountId: string, from: number, to: number): number | undefined {
    let latest: number | undefined
    for (const { at } of this.between(accountId, from, to)) latest = at
    return latest
  }

  /** The reservations of an account from `from` to `to`, both included, in order within each window. */
  *between(accountId: string, from: number, to: number): Generator<BookedTime> {
    for (let number = windowOf(from); number <= windowOf(to); number += 1) {
      const window = this.#window(windowKey(accountId, number))
      if (window === undefined) throw new Error(`The reservations of ${accountId} in window ${number} are not loaded`)
      for (const one of window.between(from, to)) if (!this.#marks.has(one.mark)) yield one
    }
    const added = this.#added.get(accountId)
    if (added !== undefined) yield* added.between(from, to)
  }

  /** The targets that this turn has changed, with their reservations now. */
  changed(): ReadonlyMap<string, Reservation | null> {
    return this.#changed
  }

  /**
   * Counts drafts at their times, so that what the turn plans next leaves them room. `change` replaces this when they are
   * stored, or gives the times back.
   */
  hold(drafts: readonly Omit<Reserving, 'status'>[]): void {
    this.change(
      [],
      drafts.map((draft) => ({ ...draft, status: 'scheduled' })),
    )
  }

  /** Replaces the reservations of the targets of a post. */
  change(before: readonly Reserving[], after: readonly Reserving[]): void {
    for (const target of before) {
      const old = reservationOf(target)
      this.#drop(target.id)
      if (old === undefined) continue
      this.#set(target.id, null)
      this.#released.push(old)
    }
    for (const target of after) {
      const next = reservationOf(target)
      if (next === undefined) continue
      this.#drop(target.id)
      this.#set(target.id, next)
      this.#addedTo(next.accountId).add(next)
    }
  }

  /** See `ReservationBook.searchedUntil`. Times that this turn has released count as free. */
  searchedUntil(search: string): number | undefined {
    const isFreed = this.#released.some(({ at, targetId }) => this.#changed.get(targetId)?.at !== at)
    return isFreed ? undefined : (this.#searches.get(search) ?? this.#book.searchedUntil(search))
  }

  noteSearch(search: string, until: number): void {
    this.#searches.set(search, until)
  }

  /** How many reservations of the database this turn has released. */
  get releasedCount(): number {
    return this.#released.length
  }

  /** @returns what forgets the changes that the turn has made since */
  mark(): () => void {
    const changed = [...this.#changed]
    const released = [...this.#released]
    const searches = [...this.#searches]
    return () => {
      this.#changed.clear()
      this.#marks.clear()
      this.#added.clear()
      this.#released.length = 0
      this.#searches.clear()
      this.#released.push(...released)
      for (const [search, until] of searches) this.#searches.set(search, until)
      for (const [targetId, reservation] of changed) {
        this.#set(targetId, reservation)
        if (reservation !== null) this.#addedTo(reservation.accountId).add(reservation)
      }
    }
  }

  /** Writes the changes into the memory of the actor, after the turn has succeeded. */
  apply(): void {
    for (const [key, window] of this.#loaded) this.#book.keep(key, window)
    let isFreed = false
    for (const old of this.#released) {
      this.#book.remove(old)
      if (this.#changed.get(old.targetId)?.at !== old.at) isFreed = true
    }
    for (const next of this.#changed.values()) {
      if (next === null) continue
      // What was loaded in this turn can have it already.
      this.#book.remove(next)
      this.#book.add(next)
    }
    if (isFreed) this.#book.forgetSearches()
    else for (const [search, until] of this.#searches) this.#book.noteSearch(search, until)
  }

  #addedTo(accountId: string): Window {
    const added = this.#added.get(accountId) ?? new Window()
    this.#added.set(accountId, added)
    return added
  }

  #window(key: string): Window | undefined {
    return this.#loaded.get(key) ?? this.#book.window(key)
  }

  #set(targetId: string, reservation: Reservation | null): void {
    this.#changed.set(targetId, reservation)
    this.#marks.add(markOf(targetId))
  }

  #drop(targetId: string): void {
    const known = this.#changed.get(targetId)
    if (known === undefined || known === null) return
    this.#added.get(known.accountId)?.remove(targetId)
    this.#changed.set(targetId, null)
  }

  /** @param missing the accounts by the keys of the windows that are read */
  async #read(missing: ReadonlyMap<string, string>, from: number, to: number): Promise<void> {
    const rows = await reserved.rows(this.#sql, {
      workspaceId: this.#workspaceId,
      accountIds: [...new Set(missing.values())],
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      statuses: RESERVING,
    })
    const found = new Map([...missing.keys()].map((key) => [key, new Window()]))
    for (const { accountId, at, cost, replies, targetId } of rows) {
      found.get(windowKey(accountId, windowOf(at)))?.add({ targetId, at, replies, cost })
    }
    for (const [key, window] of found) this.#loaded.set(key, window)
  }
}

interface Wanted {
  readonly workspaceId: string
  readonly accountIds: readonly string[]
  readonly from: string
  readonly to: string
  readonly statuses: readonly TargetStatus[]
}

const reserved = query({ posts, postTargets }, (db, $: Wanted) =>
  db
    .selectFrom('postTargets as t')
    .select(['t.id as targetId', 't.accountId', 't.replies', 't.costMicros as cost'])
    .select(raw<number>`(extract(epoch from t.scheduled_at) * 1000)::float8`.as('at'))
    .where('t.accountId', '=', raw<string>`any(${$.accountIds}::uuid[])`)
    .where('t.scheduledAt', '>=', $.from)
    .where('t.scheduledAt', '<', $.to)
    .where('t.status', '=', raw<TargetStatus>`any(${$.statuses}::text[])`)
    .where('t.postId', 'not in', (e) =>
      e.selectFrom('posts').select('id').where('workspaceId', '=', $.workspaceId).where('deletedAt', 'is not', null),
    )
    .orderBy('t.scheduledAt'),
)

function reservationOf(target: Reserving): Reservation | undefined {
  const { accountId, costMicros: cost, id: targetId, platform, replies, scheduledAt, status } = target
  if (scheduledAt === null || !RESERVING.includes(status)) return undefined
  return { targetId, accountId, platform, at: Date.parse(scheduledAt), replies, cost }
}
