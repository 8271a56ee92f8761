import { DAY } from '../../../../core/clock.ts'
import type { MemoryKey } from '../../../../core/turn.ts'
import type { Booked, Window } from './window.ts'

/** What a target takes, and of which account. */
export interface Reservation extends Booked {
  readonly accountId: string
  readonly platform: string
}

/** Reservations are kept by this span. A short one makes the first post of a day cheap in a full calendar. */
const WINDOW = DAY
/** The maximum numbers of windows and reservations that are kept, so that a workspace with many accounts or posts does not fill the memory. */
const MAX_WINDOWS = 20_000
const MAX_RESERVATIONS = 200_000
/** The maximum number of searches that are remembered. */
const MAX_SEARCHES = 2_000

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
  readonly #windows = new Map<string, Window>()
  #reservations = 0
  /** By search for a slot: the instant before which the search found nothing free. */
  readonly #searched = new Map<string, number>()

  /** Forgets all windows if there are too many. For the start of a turn, which then loads what it needs. */
  makeRoom(): void {
    if (this.#windows.size < MAX_WINDOWS && this.#reservations < MAX_RESERVATIONS) return
    this.#windows.clear()
    this.#reservations = 0
  }

  window(key: string): Window | undefined {
    return this.#windows.get(key)
  }

  keep(key: string, window: Window): void {
    this.#reservations += window.size - (this.#windows.get(key)?.size ?? 0)
    this.#windows.set(key, window)
  }

  remove({ accountId, at, targetId }: Reservation): void {
    if (this.#windows.get(windowKey(accountId, windowOf(at)))?.remove(targetId)) this.#reservations -= 1
  }

  add(reservation: Reservation): void {
    const window = this.#windows.get(windowKey(reservation.accountId, windowOf(reservation.at)))
    if (window === undefined) return
    window.add(reservation)
    this.#reservations += 1
  }

  /** The instant before which nothing is free for a search; undefined if it is not known. */
  searchedUntil(search: string): number | undefined {
    return this.#searched.get(search)
  }

  noteSearch(search: string, until: number): void {
    if (this.#searched.size >= MAX_SEARCHES) this.#searched.clear()
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
