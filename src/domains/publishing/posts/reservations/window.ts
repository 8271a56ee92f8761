import { firstAfter } from '../../calendar/index.ts'

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
 * The reservations of an account in a span of time, in order. A workspace may have 100,000, so they are columns of numbers:
 * 16 bytes each, and more only for those with replies or a cost. As objects with ids they took 235.
 */
export class Window {
  readonly #at: number[] = []
  readonly #marks: number[] = []
  /** By mark. Those without an entry have neither replies nor a cost. */
  readonly #loads = new Map<number, Pick<Booked, 'replies' | 'cost'>>()

  get size(): number {
    return this.#at.length
  }

  add({ at, cost, replies, targetId }: Booked): void {
    const index = firstAfter(this.#at, at)
    const mark = markOf(targetId)
    this.#at.splice(index, 0, at)
    this.#marks.splice(index, 0, mark)
    if (replies > 0 || cost > 0) this.#loads.set(mark, { replies, cost })
  }

  /** Removes the reservation of a target. @returns whether there was one */
  remove(targetId: string): boolean {
    const mark = markOf(targetId)
    const index = this.#marks.indexOf(mark)
    if (index === -1) return false
    this.#at.splice(index, 1)
    this.#marks.splice(index, 1)
    this.#loads.delete(mark)
    return true
  }

  /** The reservations from `from` to `to`, both included, in order. */
  *between(from: number, to: number): Generator<BookedTime> {
    for (let index = firstAfter(this.#at, from - 1); index < this.#at.length; index += 1) {
      const at = this.#at[index] as number
      if (at > to) return
      const mark = this.#marks[index] as number
      const { cost, replies } = this.#loads.get(mark) ?? NO_LOAD
      yield { at, replies, cost, mark }
    }
  }
}

const NO_LOAD = { replies: 0, cost: 0 }

/**
 * A target as a number: the last 52 bits of its id, which are random. That two targets of an account and day share them is less
 * likely than one in ten billion, even with a thousand targets a day.
 */
export function markOf(targetId: string): number {
  return Number.parseInt(targetId.slice(-17).replace('-', '').slice(-13), 16)
}
