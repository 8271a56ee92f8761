import { Overloaded } from './errors.ts'

export interface FairGateLimits {
  /** How many tasks run at once. */
  readonly total: number
  /** How many tasks of one key run at once. */
  readonly each: number
  /** How many tasks of one key may wait. */
  readonly waiting: number
  /** The longest wait in milliseconds. */
  readonly waitMs: number
}

interface Waiter {
  readonly start: () => void
}

/** Seconds after which a refused caller may try again. */
const RETRY_AFTER = 2

/**
 * Limits how many tasks run at once, in total and per key (a workspace). Waiting keys are served round robin, so one
 * key cannot starve the others.
 */
export class FairGate {
  readonly #limits: FairGateLimits
  readonly #running = new Map<string, number>()
  /** Waiting tasks by key. The first key is served next. */
  readonly #waiting = new Map<string, Waiter[]>()
  #total = 0

  constructor(limits: FairGateLimits) {
    this.#limits = limits
  }

  /**
   * Runs `work` when a place is free.
   * @throws AppError overloaded when too many tasks of the key wait, or when `work` did not start in time
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
      // Moves the key behind the others.
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
