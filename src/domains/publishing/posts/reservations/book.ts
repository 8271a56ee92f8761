import { DAY } from '../../../../core/clock.ts'
import type { MemoryKey } from '../../../../core/turn.ts'

/** What a target takes of the times and budgets of its account. */
export interface Reservation {
  readonly targetId: string
  readonly accountId: string
  readonly platform: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Parts of the thread and the first comment. */
  readonly replies: number
  /** What the platform charges, in millionths of its currency. */
  readonly cost: number
}

/** Reservations are kept by this span. A short one makes the first post of a day cheap in a full calendar. */
const WINDOW = DAY
/** The maximum number of windows that are kept, so that a workspace with many accounts does not fill the memory. */
const MOST_WINDOWS = 20_000
/** The maximum number of searches that are remembered. */
const MOST_SEARCHES = 2_000

/** The window of an instant. */
export function windowOf(at: number): number {
  return Math.floor(at / WINDOW)
}

/** When a window begins, in milliseconds since the epoch. */
export function windowStart(window: number): number {
  return window * WINDOW
}

export function windowKey(accountId: string, window: number): string {
  return `${accountId}/${window}`
}

/**
 * The reservations of the accounts of a workspace, as its actor keeps them between turns: for each account the windows
 * that were needed, in order of time. So a count of a day and the next free slot need no read.
 */
export class ReservationBook {
  readonly #windows = new Map<string, Reservation[]>()
  /** Before these instants, a search for a slot found nothing that is free. By what was searched for. */
  readonly #searched = new Map<string, number>()

  window(key: string): readonly Reservation[] | undefined {
    return this.#windows.get(key)
  }

  keep(key: string, sorted: readonly Reservation[]): void {
    if (this.#windows.size >= MOST_WINDOWS) this.#windows.clear()
    this.#windows.set(key, [...sorted])
  }

  remove({ accountId, at, targetId }: Reservation): void {
    const list = this.#windows.get(windowKey(accountId, windowOf(at)))
    const index = list?.findIndex((one) => one.targetId === targetId) ?? -1
    if (index !== -1) list?.splice(index, 1)
  }

  add(reservation: Reservation): void {
    const list = this.#windows.get(windowKey(reservation.accountId, windowOf(reservation.at)))
    if (list !== undefined) insertSorted(list, reservation)
  }

  /** The instant before which nothing is free for a search; undefined if it is not known. */
  searchedUntil(search: string): number | undefined {
    return this.#searched.get(search)
  }

  noteSearch(search: string, until: number): void {
    if (this.#searched.size >= MOST_SEARCHES) this.#searched.clear()
    this.#searched.set(search, until)
  }

  /** A time has become free, so earlier searches may find it. */
  forgetSearches(): void {
    this.#searched.clear()
  }
}

export const RESERVATIONS: MemoryKey<ReservationBook> = {
  name: 'posts.reservations',
  make: () => new ReservationBook(),
}

/** Inserts into a list in order of time. */
export function insertSorted(list: Reservation[], reservation: Reservation): void {
  list.splice(firstAfter(list, reservation.at), 0, reservation)
}

/** The index of the first reservation later than an instant. */
export function firstAfter(list: readonly Reservation[], at: number): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((list[middle]?.at ?? 0) <= at) low = middle + 1
    else high = middle
  }
  return low
}
