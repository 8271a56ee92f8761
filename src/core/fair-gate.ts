import { Overloaded } from './errors.ts'

export interface FairGateLimits {
  /** Pieces of work that run at once. */
  readonly total: number
  /** Pieces of work of one key that run at once. */
  readonly each: number
  /** Pieces of work of one key that may wait. */
  readonly waiting: number
  /** Longest wait in milliseconds. */
  readonly waitMs: number
}

interface Waiter {
  readonly start: () => void
}

/** Seconds after which a caller that was refused may try again. */
const RETRY_AFTER = 2

/**
 * Limits how much work runs at once, in total and for each key (a workspace). Keys whose work waits take turns, so one
 * key cannot keep others waiting however much it asks for.
 */
export class FairGate {
  readonly #limits: FairGateLimits
  readonly #running = new Map<string, number>()
  /** Waiting work by key. The first key is served next. */
  readonly #waiting = new Map<string, Waiter[]>()
  #total = 0

  constructor(limits: FairGateLimits) {
    this.#limits = limits
  }

  /**
   * Runs `work` when there is room for it.
   * @throws AppError overloaded when too much work of the key waits, or `work` was not started in time
   */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (this.#hasRoom(key)) this.#enter(key)
    else await this.#wait(key)
    try {
      return await work()
    } finally {
      this.#leave(key)
    }
  }

  #hasRoom(key: string): boolean {
    return this.#total < this.#limits.total && (this.#running.get(key) ?? 0) < this.#limits.each
  }

  #enter(key: string): void {
    this.#total += 1
    this.#running.set(key, (this.#running.get(key) ?? 0) + 1)
  }

  #leave(key: string): void {
    this.#total -= 1
    const left = (this.#running.get(key) ?? 1) - 1
    if (left === 0) this.#running.delete(key)
    else this.#running.set(key, left)
    this.#startWaiting()
  }

  async #wait(key: string): Promise<void> {
    const line = this.#waiting.get(key) ?? []
    if (line.length >= this.#limits.waiting) throw tooMany()
    const turn = Promise.withResolvers<void>()
    const waiter: Waiter = { start: turn.resolve }
    line.push(waiter)
    this.#waiting.set(key, line)
    const timer = setTimeout(() => {
      line.splice(line.indexOf(waiter), 1)
      if (line.length === 0) this.#waiting.delete(key)
      turn.reject(tooMany())
    }, this.#limits.waitMs)
    try {
      await turn.promise
    } finally {
      clearTimeout(timer)
    }
  }

  #startWaiting(): void {
    for (const [key, line] of this.#waiting) {
      if (!this.#hasRoom(key)) continue
      this.#waiting.delete(key)
      const next = line.shift()
      // Behind the other keys.
      if (line.length > 0) this.#waiting.set(key, line)
      if (next === undefined) continue
      this.#enter(key)
      next.start()
      return
    }
  }
}

function tooMany() {
  return Overloaded({ retryAfter: RETRY_AFTER })
}
