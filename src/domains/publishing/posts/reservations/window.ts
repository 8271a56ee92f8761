import { firstAfter } from '../calendar/taken-times.ts'

/** What a target takes of the times and budgets of its account. */
export interface Booked {
  readonly targetId: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Parts of the thread and the first comment. */
  readonly replies: number
  /** What the platform charges, in millionths of its currency. */
  readonly cost: number
}

/** The same as a window returns it. */
export interface BookedTime extends Pick<Booked, 'at' | 'replies' | 'cost'> {
  /** See `markOf`. */
  readonly mark: number
}

/**
 * The reservations of an account in a span of time, in order. A workspace may have 100,000, so they are columns of numbers,
 * which take 32 bytes each. As objects with ids they took 235.
 */
export class Window {
  readonly #at: number[] = []
  readonly #replies: number[] = []
  readonly #costs: number[] = []
  readonly #marks: number[] = []

  get size(): number {
    return this.#at.length
  }

  add({ at, cost, replies, targetId }: Booked): void {
    const index = firstAfter(this.#at, at)
    this.#at.splice(index, 0, at)
    this.#replies.splice(index, 0, replies)
    this.#costs.splice(index, 0, cost)
    this.#marks.splice(index, 0, markOf(targetId))
  }

  /** Removes the reservation of a target. @returns whether there was one */
  remove(targetId: string): boolean {
    const index = this.#marks.indexOf(markOf(targetId))
    if (index === -1) return false
    for (const column of [this.#at, this.#replies, this.#costs, this.#marks]) column.splice(index, 1)
    return true
  }

  /** The reservations from `from` to `to`, both included, in order. */
  *between(from: number, to: number): Generator<BookedTime> {
    for (let index = firstAfter(this.#at, from - 1); index < this.#at.length; index += 1) {
      const at = this.#at[index] as number
      if (at > to) return
      yield {
        at,
        replies: this.#replies[index] as number,
        cost: this.#costs[index] as number,
        mark: this.#marks[index] as number,
      }
    }
  }
}

/**
 * A target as a number: the last 52 bits of its id, which are random. That two targets of an account and day share them is less
 * likely than one in ten billion, even with a thousand targets a day.
 */
export function markOf(targetId: string): number {
  return Number.parseInt(targetId.slice(-17).replace('-', '').slice(-13), 16)
}
