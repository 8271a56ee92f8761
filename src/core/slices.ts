import { SECOND, systemClock, type Clock } from './clock.ts'
import type { Sql } from './sql.ts'
import { resumed } from '../tools/work-time.ts'

/** How long a computation may hold the event loop before others get a turn. */
export const SLICE_MS = 5

/**
 * Lets one waiting computation continue in each turn of the event loop, first come, first served. So however many long
 * computations there are, a request waits for one slice per turn and not for one slice of each.
 */
class Lane {
  readonly #waiting: (() => void)[] = []
  #isScheduled = false

  /** Resolves in a later turn of the event loop. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#waiting.shift()?.()
      if (this.#waiting.length > 0) this.#schedule()
    })
  }
}

const lane = new Lane()

/**
 * Divides a long computation on the main thread into slices of `SLICE_MS`, between which requests are served. Call
 * `pause` between steps that are much shorter than a slice:
 *
 *     const slices = new Slices()
 *     for (const row of rows) {
 *       check(row)
 *       await slices.pause()
 *     }
 *
 * Inside of a transaction, pass it: PostgreSQL ends a transaction that sends no statement for three seconds, which a
 * computation of many slices on a busy node reaches.
 */
export class Slices {
  readonly #clock: Clock
  readonly #transaction: Sql | undefined
  #since: number
  #lastStatement: number

  constructor(clock: Clock = systemClock, transaction?: Sql) {
    this.#clock = clock
    this.#transaction = transaction
    this.#since = clock.monotonic()
    this.#lastStatement = this.#since
  }

  /** Lets others run if a slice is over. Otherwise returns undefined, so that a short computation does not wait. */
  pause(): Promise<void> | undefined {
    return this.#clock.monotonic() - this.#since < SLICE_MS ? undefined : this.#next()
  }

  async #next(): Promise<void> {
    await lane.next()
    resumed()
    this.#since = this.#clock.monotonic()
    if (this.#transaction === undefined || this.#since - this.#lastStatement < SECOND) return
    this.#lastStatement = this.#since
    await this.#transaction.run('select 1')
  }
}
