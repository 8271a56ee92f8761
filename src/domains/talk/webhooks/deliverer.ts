import { SECOND } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Done, Records } from './records.ts'
import type { Attempts } from './attempts.ts'
import { LeaseLostError, type Leases } from './leases.ts'
import type { Message } from './message.ts'
import type { Seat, Seats } from './seats.ts'
import type { Served, ServedEndpoints } from './served.ts'
import { disableTurn } from './turns.ts'
import type { DisabledReason } from './states.ts'
import type { Foundation } from '../../../foundation.ts'
import { webhookDeliveries, type DeliveryRow, type WebhookRow } from './tables.ts'
import type { Upcoming, Work } from './upcoming.ts'
import type { Wakes } from './wakes.ts'

/** How long to send before progress is stored, and before a job yields to others. */
const TURN_MS = 5 * SECOND
/** A reply that takes longer moves the endpoint to the queue of retries. */
const SLOW_MS = 2 * SECOND
/** After this time without a reply, the job ends and the delivery continues without it. */
const LATE_MS = SECOND
/** Messages that are on their way to an unordered endpoint at the same time. */
const AT_ONCE = 4
/** How long an idle endpoint stays claimed, so that the next event needs neither a job nor a new lease. */
const REST_MS = 5 * SECOND
/** How many events can be skipped before the cursor of the endpoint is stored. */
const MAX_PASSED = 1_000

interface Parts {
  readonly sql: Sql
  readonly leases: Leases
  readonly upcoming: Upcoming
  readonly records: Records
  readonly attempts: Attempts
  readonly wakes: Wakes
  readonly seats: Seats
  readonly served: ServedEndpoints
  /** Whether the service is switched on. */
  readonly isOn: () => boolean
}

/** What serving an endpoint is limited by. */
interface Limits {
  readonly signal: AbortSignal
  readonly seat: Seat
}

/** How far an endpoint has come. */
interface Position {
  /** With the cursor up to which events were sent or passed over. */
  webhook: WebhookRow
  /** The stored cursor. It is not stored each time events are only skipped. */
  stored: number
}

/**
 * Sends events to endpoints. For each endpoint one node at a time follows the workspace's event log from the endpoint's
 * cursor, and waits for new events for a while. It sends first and moves the cursor afterwards, so nothing is lost, and
 * what was sent before a crash is sent again with the same id.
 */
export class Deliverer {
  readonly #foundation: Pick<Foundation, 'clock' | 'turns'>
  readonly #parts: Parts

  constructor(foundation: Pick<Foundation, 'clock' | 'turns'>, parts: Parts) {
    this.#foundation = foundation
    this.#parts = parts
  }

  /**
   * Begins to serve endpoints, as far as this node has room.
   * @returns those that need a job
   */
  async start(ids: readonly string[]): Promise<readonly string[]> {
    const { seats } = this.#parts
    const now = ids.slice(0, seats.room)
    for (const { serve, workspaceId } of await this.#claim(now)) {
      void seats.take(workspaceId, new AbortController().signal, serve)
    }
    return ids.slice(now.length)
  }

  /**
   * Serves one endpoint for a job. Returns at once if a node does so already, or when this node can go on without the
   * job.
   */
  async run(webhookId: string, signal: AbortSignal): Promise<void> {
    const [claimed] = await this.#claim([webhookId])
    if (claimed !== undefined) await this.#parts.seats.take(claimed.workspaceId, signal, claimed.serve)
    else this.#parts.wakes.nudge(webhookId)
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

  /** @returns the endpoints that neither this node nor another one serves, and what serves them */
  async #claim(ids: readonly string[]) {
    const { leases, served } = this.#parts
    const begun = new Map(ids.map((id) => [id, served.begin(id)]))
    const fresh = [...begun.values()].filter((one) => one !== undefined)
    if (fresh.length === 0) return []
    const rows = await leases.claim(fresh.map(({ id }) => id)).catch((error: unknown) => {
      for (const one of fresh) served.end(one)
      throw error
    })
    const claimed = new Map(rows.map((row) => [row.id, row]))
    return fresh.flatMap((one) => {
      const row = claimed.get(one.id)
      if (row === undefined) {
        served.end(one)
        return []
      }
      served.claimed(one, row.workspaceId)
      const serve = (signal: AbortSignal, seat: Seat) => this.#serve(row, one, { signal, seat })
      return [{ workspaceId: row.workspaceId, serve }]
    })
  }

  async #serve(claimed: WebhookRow, served: Served, limits: Limits): Promise<void> {
    const { leases, wakes } = this.#parts
    const position: Position = { webhook: claimed, stored: claimed.cursor }
    try {
      const disabled = await this.#drain(position, served, limits)
      if (disabled !== undefined) await this.#disable(claimed, disabled)
    } catch (error) {
      // The endpoint was changed, deleted or disabled, or this node lost its lease.
      if (!(error instanceof LeaseLostError)) throw error
    } finally {
      // Release first. Otherwise this could release the lease of a later run on this node.
      await leases.release(claimed.id, position.stored, position.webhook.cursor).finally(() => {
        this.#parts.served.end(served)
      })
    }
    // Events that were committed before the release have not woken any node.
    await wakes.wakeOne(claimed.id)
  }

  /** @returns why the endpoint must be disabled, if it must */
  async #drain(position: Position, served: Served, limits: Limits): Promise<DisabledReason | undefined> {
    const { seat, signal } = limits
    const { isOn, records, upcoming } = this.#parts
    const began = performance.now()
    while (!signal.aborted && isOn()) {
      if (served.isChanged) await this.#reread(position, served)
      const { webhook } = position
      const work = await upcoming.next(webhook, served)
      // The webhook changed while its events were read, so they may not be those that it receives now.
      if (served.isChanged) continue
      if (work === 'reader_left') return work
      if (work === undefined) {
        if (!seat.isOwn || this.#isBlocked(webhook)) return undefined
        if (!(await served.rest(webhook.cursor, REST_MS, signal))) return undefined
        continue
      }
      const done = await this.#sendAll(webhook, work, limits)
      if (done.length === 0 && work.messages.length > 0) return undefined
      const cursor = cursorAfter(webhook, work, done)
      if (done.length === 0 && Math.abs(cursor - position.stored) < MAX_PASSED) {
        position.webhook = { ...webhook, cursor }
        continue
      }
      const recorded = await records.write(webhook, { done, from: position.stored, cursor })
      position.webhook = recorded.webhook
      position.stored = recorded.webhook.cursor
      if (recorded.disable !== undefined) return recorded.disable
      const isSlow = recorded.webhook.slow || recorded.webhook.failures > 0
      if (!seat.isOwn && (isSlow || performance.now() - began > TURN_MS)) return undefined
    }
    return undefined
  }

  #isBlocked({ blockedUntil }: WebhookRow): boolean {
    return blockedUntil !== null && Date.parse(blockedUntil) > this.#foundation.clock.now()
  }

  /** Applies what a member has changed. @throws LeaseLostError */
  async #reread(position: Position, served: Served): Promise<void> {
    served.isChanged = false
    const row = await this.#parts.leases.held(served.id)
    if (row === undefined) throw new LeaseLostError('the endpoint is no longer held')
    const isMoved = row.cursor !== position.stored
    position.webhook = isMoved ? row : { ...row, cursor: position.webhook.cursor }
    position.stored = row.cursor
  }

  /**
   * Uses a separate controller, because each request adds listeners to its signal. They would accumulate on the signal
   * of an endpoint that is served for long.
   */
  async #sendAll(webhook: WebhookRow, work: Work, { seat, signal }: Limits): Promise<Done[]> {
    const own = new AbortController()
    const stop = () => own.abort(signal.reason)
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
    try {
      return await this.#send(webhook, work, { seat, signal: own.signal })
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  /** Sends messages until one fails in an ordered endpoint, or the time is over. @returns the first ones, in order */
  async #send(webhook: WebhookRow, work: Work, { seat, signal }: Limits): Promise<Done[]> {
    const { clock } = this.#foundation
    const until = performance.now() + TURN_MS
    const done: Done[] = []
    let next = 0
    let isOver = false
    const worker = async () => {
      while (!isOver && next < work.messages.length) {
        const index = next
        next += 1
        const message = work.messages[index] as Message | DeliveryRow
        const late = setTimeout(() => seat.late(), LATE_MS)
        const result = await this.#parts.attempts.send(webhook, message, signal).finally(() => clearTimeout(late))
        seat.replied()
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
function cursorAfter({ cursor }: WebhookRow, work: Work, done: readonly Done[]): number {
  if (work.reached === undefined) return cursor
  return done.length === work.messages.length ? work.reached : (done.at(-1)?.message.seq ?? cursor)
}
