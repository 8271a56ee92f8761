/** The times at which accounts have posts already. A port: an actor can keep them, or a service can read them. */
export interface TakenTimes {
  /**
   * A taken time of the account from `from` to `to`, both inclusive, in milliseconds since the epoch: the latest one if
   * there are several. Undefined if there is none.
   */
  within(accountId: string, from: number, to: number): number | undefined
}

/** Taken times in memory: one sorted list per account, searched by halves. */
export class SortedTimes implements TakenTimes {
  readonly #times = new Map<string, number[]>()

  /** @param times of each account, in any order */
  constructor(times: Iterable<readonly [accountId: string, times: Iterable<number>]> = []) {
    for (const [accountId, list] of times)
      this.#times.set(
        accountId,
        [...list].sort((a, b) => a - b),
      )
  }

  within(accountId: string, from: number, to: number): number | undefined {
    const list = this.#times.get(accountId)
    const at = list === undefined ? undefined : list[firstAfter(list, to) - 1]
    return at !== undefined && at >= from ? at : undefined
  }

  /** Adds a post. Two posts of an account can have the same time. */
  add(accountId: string, at: number): void {
    const list = this.#times.get(accountId)
    if (list === undefined) this.#times.set(accountId, [at])
    else list.splice(firstAfter(list, at), 0, at)
  }

  /** Removes one post at this time, if there is one. */
  remove(accountId: string, at: number): void {
    const list = this.#times.get(accountId)
    const index = list === undefined ? -1 : firstAfter(list, at) - 1
    if (list?.[index] === at) list.splice(index, 1)
  }
}

/** Taken times of one list, and further ones on top of it. */
export class MoreTaken implements TakenTimes {
  readonly #base: TakenTimes
  readonly #more = new SortedTimes()

  constructor(base: TakenTimes) {
    this.#base = base
  }

  within(accountId: string, from: number, to: number): number | undefined {
    const more = this.#more.within(accountId, from, to)
    const base = this.#base.within(accountId, from, to)
    return more === undefined || base === undefined ? (more ?? base) : Math.max(more, base)
  }

  add(accountId: string, at: number): void {
    this.#more.add(accountId, at)
  }
}

/** The index of the first number of a sorted list that is larger than `at`. */
export function firstAfter(list: readonly number[], at: number): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((list[middle] ?? 0) <= at) low = middle + 1
    else high = middle
  }
  return low
}
