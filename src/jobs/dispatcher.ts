import type { Clock } from '../core/clock.ts'
import type { QueueName } from '../core/job.ts'
import type { Logger } from '../core/log.ts'
import type { Backend } from './backend.ts'
import type { Holding } from './holding.ts'
import type { Lines } from './lines.ts'
import type { DueRow, Outbox } from './outbox.ts'

export interface DispatcherOptions {
  readonly outbox: Outbox
  readonly lines: Lines
  readonly holding: Pick<Holding, 'apply'>
  readonly clock: Clock
  readonly log: Logger
  /** The backend, opened when first needed. */
  readonly backend: () => Promise<Backend>
  /** Called when a queue has jobs and needs a worker. */
  readonly onQueue: (queue: QueueName) => Promise<void>
  /** How often the outbox is polled without a notice. */
  readonly pollMs: number
}

const AT_ONCE = 500
/** Delay before a retry after the backend has failed. */
const PAUSE_MS = 1_000

/** Adds due rows of the outbox to the backend. Several nodes can do this at the same time. */
export class Dispatcher {
  readonly #options: DispatcherOptions
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #again = false
  #closed = false

  constructor(options: DispatcherOptions) {
    this.#options = options
  }

  /** Starts a dispatch, or another one after the dispatch in progress. */
  wake(): void {
    if (this.#closed) return
    this.#again = true
    this.#running ??= this.#loop().finally(() => {
      this.#running = undefined
      if (this.#again) this.wake()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#running
  }

  async #loop(): Promise<void> {
    let next: number | undefined
    try {
      while (this.#again && !this.#closed) {
        this.#again = false
        if (await this.#dispatch()) this.#again = true
      }
      next = await this.#options.outbox.nextDue()
    } catch (error) {
      this.#again = false
      this.#options.log.warn(
        { error: (error as Error).message },
        'jobs could not be added to their queues; trying again',
      )
      next = this.#options.clock.now() + PAUSE_MS
    }
    this.#sleepUntil(next)
  }

  /** @returns whether more rows may be due */
  async #dispatch(): Promise<boolean> {
    const { holding, lines, outbox } = this.#options
    const more = await holding.apply()
    const [rows, ofLines] = await Promise.all([outbox.claimDue(AT_ONCE), lines.claim()])
    await this.#add([...rows, ...ofLines])
    return more || rows.length === AT_ONCE
  }

  async #add(rows: readonly DueRow[]): Promise<void> {
    if (rows.length === 0) return
    const left = new Set(rows.map(({ id }) => id))
    try {
      const backend = await this.#options.backend()
      for (const [queue, some] of Map.groupBy(rows, (row) => row.queue)) {
        await backend.add(queue, some.map(entryOf))
        for (const { id } of some) left.delete(id)
        await this.#options.onQueue(queue)
      }
    } catch (error) {
      // Some of them may have been added, but an id is only added once. If this fails, the sweep finds the rows.
      await this.#options.outbox.unclaim([...left])
      throw error
    }
  }

  #sleepUntil(next: number | undefined): void {
    clearTimeout(this.#timer)
    if (this.#closed) return
    const { clock, pollMs } = this.#options
    const ms = next === undefined ? pollMs : Math.max(1, Math.min(pollMs, next - clock.now()))
    this.#timer = setTimeout(() => this.wake(), ms)
    this.#timer.unref()
  }
}

function entryOf({ id, name, workspaceId, added }: DueRow) {
  return { id, name, workspaceId, again: added > 1 }
}
