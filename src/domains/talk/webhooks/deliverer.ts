import { SECOND } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Done, Records } from './records.ts'
import type { Attempts } from './attempts.ts'
import { LeaseLostError, type Leases } from './leases.ts'
import type { Message } from './message.ts'
import type { OnLate, Patience } from './patience.ts'
import { disableTurn } from './turns.ts'
import type { DisabledReason } from './states.ts'
import type { Foundation } from '../../../foundation.ts'
import { webhookDeliveries, type DeliveryRow, type WebhookRow } from './tables.ts'
import type { Upcoming, Work } from './upcoming.ts'
import type { Wakes } from './wakes.ts'

/** How long one job sends before it makes room for others. */
const TURN_MS = 5 * SECOND
/** A reply that takes longer moves the endpoint to the queue of retries. */
const SLOW_MS = 2 * SECOND
/** After this time without a reply the job ends, and the delivery goes on without it. */
const LATE_MS = SECOND
/** Messages that are on their way to an unordered endpoint at the same time. */
const AT_ONCE = 4

export interface RunOptions {
  readonly webhookId: string
  /** The id of the job. Its next attempt takes the lease over. */
  readonly holder: string
  readonly signal: AbortSignal
  /** Whether the job runs in the queue for endpoints that fail or are slow. */
  readonly patient: boolean
}

interface Parts {
  readonly sql: Sql
  readonly leases: Leases
  readonly upcoming: Upcoming
  readonly records: Records
  readonly attempts: Attempts
  readonly wakes: Wakes
  readonly patience: Patience
}

/** What a drain is limited by. */
interface Limits extends Pick<RunOptions, 'signal' | 'patient' | 'holder'> {
  readonly onLate: OnLate
}

/**
 * Sends events to endpoints. For each endpoint one job at a time follows the workspace's event log from the endpoint's
 * cursor. It sends first and moves the cursor afterwards, so nothing is lost, and what was sent before a crash is sent
 * again with the same id.
 */
export class Deliverer {
  readonly #foundation: Pick<Foundation, 'clock' | 'turns'>
  readonly #parts: Parts

  constructor(foundation: Pick<Foundation, 'clock' | 'turns'>, parts: Parts) {
    this.#foundation = foundation
    this.#parts = parts
  }

  /**
   * Sends what is due to one endpoint. Returns at once if another job does so already, and goes on after it has returned
   * if a reply is late.
   */
  run(options: RunOptions): Promise<void> {
    return this.#parts.patience.run(options.signal, (signal, onLate) => this.#run(options, signal, onLate))
  }

  async #run(options: RunOptions, signal: AbortSignal, onLate: OnLate): Promise<void> {
    const { leases, wakes } = this.#parts
    const claimed = await leases.claim(options.webhookId, options.holder)
    if (claimed === undefined) return
    try {
      const disabled = await this.#drain(claimed, { ...options, signal, onLate })
      if (disabled !== undefined) await this.#disable(claimed, disabled)
    } catch (error) {
      // The endpoint was changed, deleted or disabled meanwhile, or this node was away for too long.
      if (!(error instanceof LeaseLostError)) throw error
    } finally {
      await leases.release(options.webhookId, options.holder)
    }
    // Events that were committed before the release have woken nobody.
    await wakes.wakeOne(claimed.id)
  }

  /** One attempt of a test, without regard to the state of the endpoint. */
  async test(deliveryId: string, signal: AbortSignal): Promise<void> {
    const { attempts, leases, records, sql } = this.#parts
    const delivery = await webhookDeliveries.first(sql, { id: deliveryId, status: 'pending' })
    const webhook = delivery && (await leases.find(delivery.webhookId))
    if (delivery === undefined || webhook === undefined) return
    const result = await attempts.send(webhook, delivery, signal)
    signal.throwIfAborted()
    await records.updateOne(delivery, result)
  }

  /** @returns why the endpoint must be disabled, if it must */
  async #drain(claimed: WebhookRow, limits: Limits): Promise<DisabledReason | undefined> {
    const { holder, patient, signal } = limits
    const { records, upcoming } = this.#parts
    const until = performance.now() + TURN_MS
    let webhook = claimed
    while (!signal.aborted) {
      const work = await upcoming.next(webhook)
      if (work === 'reader_left') return work
      if (work === undefined) return undefined
      const done = await this.#send(webhook, work, until, limits)
      if (done.length === 0 && work.messages.length > 0) return undefined
      const recorded = await records.write(webhook, holder, { done, cursor: cursorAfter(work, done) })
      webhook = recorded.webhook
      if (recorded.disable !== undefined) return recorded.disable
      const isSlow = !patient && (webhook.slow || webhook.failures > 0)
      if (isSlow || performance.now() > until) return undefined
    }
    return undefined
  }

  /** Sends messages until one fails in an ordered endpoint, or the time is over. @returns the first ones, in order */
  async #send(webhook: WebhookRow, work: Work, until: number, { onLate, signal }: Limits): Promise<Done[]> {
    const { clock } = this.#foundation
    const done: Done[] = []
    let next = 0
    let isOver = false
    const worker = async () => {
      while (!isOver && next < work.messages.length) {
        const index = next
        next += 1
        const message = work.messages[index] as Message | DeliveryRow
        const late = setTimeout(() => onLate(webhook.workspaceId), LATE_MS)
        const result = await this.#parts.attempts.send(webhook, message, signal).finally(() => clearTimeout(late))
        // An attempt that the node's own shutdown ended says nothing about the endpoint.
        if (signal.aborted && !result.ok) return
        done[index] = { message, result, at: clock.now(), slow: result.durationMs > SLOW_MS }
        if (signal.aborted || performance.now() > until || result.durationMs > SLOW_MS) isOver = true
        if (result.httpStatus === 410 || result.waitMs > 0 || (webhook.ordered && !result.ok)) isOver = true
      }
    }
    await Promise.all(Array.from({ length: webhook.ordered ? 1 : AT_ONCE }, worker))
    const gap = Array.from(done, (one) => one === undefined).indexOf(true)
    return gap === -1 ? done : done.slice(0, gap)
  }

  async #disable({ id, workspaceId }: WebhookRow, reason: DisabledReason): Promise<void> {
    await this.#foundation.turns.system(workspaceId, disableTurn, { webhookId: id, reason })
  }
}

/** How far the log is done. Messages that were not sent stay ahead of the cursor. */
function cursorAfter(work: Work, done: readonly Done[]): number | undefined {
  if (work.reached === undefined) return undefined
  return done.length === work.messages.length ? work.reached : done.at(-1)?.message.seq
}
