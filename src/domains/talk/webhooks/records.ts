import type { Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/id.ts'
import type { Jobs } from '../../../core/job.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Database } from '../../../db/database.ts'
import { delayAfter, RETRY_MS, type AttemptResult } from './attempts.ts'
import { retryWebhook } from './jobs.ts'
import { LEASE_MS, LeaseLostError } from './leases.ts'
import type { Message } from './message.ts'
import type { DisabledReason } from './states.ts'
import { webhookDeliveries, webhooks, type DeliveryRow, type WebhookRow } from './tables.ts'

/** After so many failures in a row, an unordered endpoint gets nothing until its next attempt either. */
const MOST_FAILURES = 10

/** A message that was sent, or whose attempt failed. */
export interface Done {
  readonly message: Message | DeliveryRow
  readonly result: AttemptResult
  /** When the attempt ended, milliseconds since the epoch. */
  readonly at: number
  readonly slow: boolean
}

interface Progress {
  readonly done: readonly Done[]
  /** The new cursor; undefined if it stays. */
  readonly cursor: number | undefined
}

interface Recorded {
  readonly webhook: WebhookRow
  readonly disable: DisabledReason | undefined
}

/** Stores what came of attempts: deliveries, the endpoint's cursor and state, and the job of the next attempt. */
export class Records {
  readonly #database: Database
  readonly #clock: Clock
  readonly #jobs: Jobs

  constructor(database: Database, clock: Clock, jobs: Jobs) {
    this.#database = database
    this.#clock = clock
    this.#jobs = jobs
  }

  /** @throws LeaseLostError if the job no longer has the endpoint. Nothing is stored then. */
  write(webhook: WebhookRow, holder: string, { cursor, done }: Progress): Promise<Recorded> {
    const state = stateAfter(webhook, done)
    const rows = done.map((one, index) => rowOf(webhook, one, state.failuresAt[index] ?? 1))
    const next = rows.flatMap(({ nextAttemptAt }) => (nextAttemptAt === null ? [] : [Date.parse(nextAttemptAt)]))
    const retryAt = next.length === 0 ? undefined : Math.max(...next)
    const blockedUntil = blockedAfter(webhook, state, done, retryAt)
    return this.#database.transaction(async (tx) => {
      const [stored] = await webhooks.updateReturning(
        tx,
        { id: webhook.id, leaseHolder: holder, status: 'enabled' },
        {
          cursor,
          failures: state.failures,
          failingSince: state.failingSince,
          slow: done.at(-1)?.slow ?? webhook.slow,
          blockedUntil,
          leaseUntil: new Date(this.#clock.now() + LEASE_MS),
        },
      )
      if (stored === undefined) throw new LeaseLostError('the endpoint is no longer held')
      await webhookDeliveries.insertAll(
        tx,
        rows.filter((_row, index) => !isStored(done[index])),
      )
      for (const [index, row] of rows.entries()) if (isStored(done[index])) await change(tx, row)
      if (retryAt !== undefined) await this.#retry(tx, webhook, retryAt)
      return { webhook: stored, disable: reasonToDisable(state, done) }
    })
  }

  /** Stores the only attempt of a test. */
  async updateOne(delivery: DeliveryRow, result: AttemptResult): Promise<void> {
    const at = this.#clock.now()
    const status = result.ok ? 'delivered' : 'failed'
    await change(this.#database, { ...attempted(delivery, result, at), status, nextAttemptAt: null })
  }

  async #retry(tx: Sql, { id, workspaceId }: WebhookRow, at: number): Promise<void> {
    const options = { runAt: new Date(at), key: `${id}:${at}`, workspaceId }
    await this.#jobs.add(tx, retryWebhook, { webhookId: id }, options)
  }
}

interface State {
  readonly failures: number
  readonly failingSince: string | null
  /** The failures in a row up to and including each message. */
  readonly failuresAt: readonly number[]
}

function stateAfter({ failingSince, failures }: WebhookRow, done: readonly Done[]): State {
  const failuresAt: number[] = []
  let count = failures
  let since = failingSince
  for (const { at, result } of done) {
    count = result.ok ? 0 : count + 1
    since = result.ok ? null : (since ?? new Date(at).toISOString())
    failuresAt.push(count)
  }
  return { failures: count, failingSince: since, failuresAt }
}

function reasonToDisable({ failingSince }: State, done: readonly Done[]): DisabledReason | undefined {
  if (done.some(({ result }) => result.httpStatus === 410)) return 'gone'
  const last = done.at(-1)
  if (failingSince === null || last === undefined) return undefined
  return last.at - Date.parse(failingSince) >= RETRY_MS ? 'failing' : undefined
}

/** Until when the endpoint gets nothing: because messages have failed, or because it has asked for it. */
function blockedAfter(
  { ordered }: WebhookRow,
  { failures }: State,
  done: readonly Done[],
  retryAt: number | undefined,
): Date | null {
  const asked = done.flatMap(({ at, result: { waitMs } }) => (waitMs > 0 ? [at + waitMs] : []))
  const isBlocked = failures > 0 && (ordered || failures >= MOST_FAILURES)
  const until = Math.max(0, ...asked, ...(isBlocked && retryAt !== undefined ? [retryAt] : []))
  return until === 0 ? null : new Date(until)
}

/** Whether the message has a row from an earlier attempt, or because a member has asked for it. */
function isStored(done: Done | undefined): boolean {
  return done !== undefined && 'id' in done.message
}

/** The row of a delivery after an attempt. */
function rowOf(webhook: WebhookRow, { at, message, result }: Done, failures: number): DeliveryRow {
  const delivery = 'id' in message ? message : newDelivery(webhook, message, 'event', at)
  const row = attempted(delivery, result, at)
  if (result.ok) return row
  const isOver = at - Date.parse(row.createdAt) >= RETRY_MS || result.httpStatus === 410
  if (isOver) return { ...row, status: 'failed', nextAttemptAt: null }
  // The failures of the endpoint count, not only those of the message: a new message must not be tried more often.
  const delay = Math.max(delayAfter(Math.max(row.attempts, failures)), result.waitMs)
  return { ...row, status: 'pending', nextAttemptAt: new Date(at + delay).toISOString() }
}

function attempted(delivery: DeliveryRow, result: AttemptResult, at: number): DeliveryRow {
  const time = new Date(at).toISOString()
  const { durationMs, error, httpStatus, ok, requestHeaders, responseBody, responseHeaders } = result
  return {
    ...delivery,
    durationMs,
    error,
    httpStatus,
    requestHeaders,
    responseBody,
    responseHeaders,
    status: ok ? 'delivered' : delivery.status,
    attempts: delivery.attempts + 1,
    nextAttemptAt: null,
    deliveredAt: ok ? time : null,
    updatedAt: time,
  }
}

/** A delivery that nobody has tried yet. @param at when it was made, milliseconds since the epoch */
export function newDelivery(
  { id, workspaceId }: Pick<WebhookRow, 'id' | 'workspaceId'>,
  { messageId, payload, personal, seq, type }: Message,
  kind: DeliveryRow['kind'],
  at: number,
): DeliveryRow {
  const time = new Date(at).toISOString()
  return {
    id: uuidv7(at),
    workspaceId,
    webhookId: id,
    kind,
    seq,
    type,
    messageId,
    payload,
    personal,
    status: 'pending',
    attempts: 0,
    nextAttemptAt: time,
    requestHeaders: null,
    httpStatus: null,
    responseHeaders: null,
    responseBody: null,
    durationMs: null,
    error: null,
    deliveredAt: null,
    createdAt: time,
    updatedAt: time,
  }
}

/** Updates a delivery that is still pending. */
async function change(sql: Sql, row: DeliveryRow): Promise<void> {
  const { attempts, deliveredAt, durationMs, error, httpStatus, id, nextAttemptAt, status, updatedAt } = row
  const { requestHeaders, responseBody, responseHeaders } = row
  const reply = { requestHeaders, responseBody, responseHeaders, httpStatus, durationMs, error }
  const changes = { attempts, deliveredAt, nextAttemptAt, status, updatedAt, ...reply }
  await webhookDeliveries.update(sql, { id, status: 'pending' }, changes)
}
