import type { Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
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
const MAX_FAILURES = 10

/** Endpoints whose progress one statement stores. */
const AT_ONCE = 200

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
  /** The stored cursor. */
  readonly from: number
  /** The new cursor. */
  readonly cursor: number
}

interface Recorded {
  readonly webhook: WebhookRow
  readonly disable: DisabledReason | undefined
}

/** The progress of one endpoint, ready to be stored. */
interface Entry {
  readonly id: string
  readonly workspaceId: string
  /** What changes in the endpoint's row, by column. */
  readonly row: Readonly<Record<string, unknown>>
  readonly added: readonly DeliveryRow[]
  readonly repeated: readonly DeliveryRow[]
  readonly retryAt: number | undefined
}

interface Waiting {
  readonly entry: Entry
  readonly resolve: (row: WebhookRow | undefined) => void
  readonly reject: (error: unknown) => void
}

/**
 * Stores the progress of endpoints: cursors and states, new deliveries, and further attempts at stored ones. Written by
 * hand: one statement stores everything, and only for endpoints that this node still has. If `lock` is `skip locked`, an
 * endpoint that a turn is changing is left out, so that the two cannot block each other.
 */
const store = (lock: 'skip locked' | '') => `
  with input as (
    select * from json_to_recordset($1::json) as i (id uuid, "from" bigint, cursor bigint, failures int,
      failing_since timestamptz, slow boolean, blocked_until timestamptz)
  ), held as (
    select w.id from webhooks w join input i on i.id = w.id
    where w.lease_holder = $2 and w.status = 'enabled' and w.cursor = i."from"
    for no key update of w ${lock}
  ), added as (
    insert into webhook_deliveries
    select r.* from json_populate_recordset(null::webhook_deliveries, $4::json) r
    where r.webhook_id in (select id from held)
  ), repeated as (
    update webhook_deliveries d set attempts = r.attempts, delivered_at = r.delivered_at, status = r.status,
      next_attempt_at = r.next_attempt_at, updated_at = r.updated_at, request_headers = r.request_headers,
      response_body = r.response_body, response_headers = r.response_headers, http_status = r.http_status,
      duration_ms = r.duration_ms, error = r.error
    from json_populate_recordset(null::webhook_deliveries, $5::json) r
    where d.id = r.id and d.status = 'pending' and d.webhook_id in (select id from held)
  )
  update webhooks w set cursor = i.cursor, failures = i.failures, failing_since = i.failing_since, slow = i.slow,
    blocked_until = i.blocked_until, lease_until = $3
  from input i where w.id = i.id and w.id in (select id from held)
  returning ${webhooks.selection('w')}`

const STORE = store('skip locked')
const STORE_ONE = store('')

/**
 * Stores what came of attempts: deliveries, the endpoint's cursor and state, and the job of the next attempt. What
 * endpoints have done while a statement ran is stored by the next one, together.
 */
export class Records {
  readonly #database: Database
  readonly #clock: Clock
  readonly #jobs: Jobs
  readonly #holder: string
  #waiting: Waiting[] = []
  #isStoring = false

  constructor(database: Database, clock: Clock, jobs: Jobs, holder: string) {
    this.#database = database
    this.#clock = clock
    this.#jobs = jobs
    this.#holder = holder
  }

  /** @throws LeaseLostError if this node no longer has the endpoint. Nothing is stored then. */
  async write(webhook: WebhookRow, { cursor, done, from }: Progress): Promise<Recorded> {
    const state = stateAfter(webhook, done)
    const rows = done.map((one, index) => rowOf(webhook, one, state.failuresAt[index] ?? 1))
    const next = rows.flatMap(({ nextAttemptAt }) => (nextAttemptAt === null ? [] : [Date.parse(nextAttemptAt)]))
    const retryAt = next.length === 0 ? undefined : Math.max(...next)
    const { id, workspaceId } = webhook
    const row = {
      id,
      from,
      cursor,
      failures: state.failures,
      failing_since: state.failingSince,
      slow: done.at(-1)?.slow ?? webhook.slow,
      blocked_until: blockedAfter(webhook, state, done, retryAt),
    }
    const added = rows.filter((_row, index) => !isStored(done[index]))
    const repeated = rows.filter((_row, index) => isStored(done[index]))
    const stored = await this.#store({ id, workspaceId, row, added, repeated, retryAt })
    if (stored === undefined) throw new LeaseLostError('the endpoint is no longer held')
    return { webhook: stored, disable: reasonToDisable(state, done) }
  }

  /** Stores the only attempt of a test. */
  async updateOne(delivery: DeliveryRow, result: AttemptResult): Promise<void> {
    const at = this.#clock.now()
    const status = result.ok ? 'delivered' : 'failed'
    await change(this.#database, { ...attempted(delivery, result, at), status, nextAttemptAt: null })
  }

  #store(entry: Entry): Promise<WebhookRow | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, resolve, reject })
      if (!this.#isStoring) void this.#storeAll()
    })
  }

  async #storeAll(): Promise<void> {
    this.#isStoring = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, AT_ONCE)
      const stored = await this.#run(
        STORE,
        batch.map(({ entry }) => entry),
      ).catch(() => [])
      const byId = new Map(stored.map((row) => [row.id, row]))
      for (const { entry, reject, resolve } of batch) {
        const row = byId.get(entry.id)
        // Stored alone, it waits for the turn that has locked the row, and its failure does not affect other entries.
        if (row === undefined) this.#run(STORE_ONE, [entry]).then(([one]) => resolve(one), reject)
        else resolve(row)
      }
    }
    this.#isStoring = false
  }

  /** @returns the endpoints that were stored */
  async #run(statement: string, entries: readonly Entry[]): Promise<WebhookRow[]> {
    const until = new Date(this.#clock.now() + LEASE_MS)
    const columns = (row: DeliveryRow) => webhookDeliveries.toColumns(row)
    const values = [
      JSON.stringify(entries.map(({ row }) => row)),
      this.#holder,
      until,
      JSON.stringify(entries.flatMap(({ added }) => added.map(columns))),
      JSON.stringify(entries.flatMap(({ repeated }) => repeated.map(columns))),
    ]
    if (entries.every(({ retryAt }) => retryAt === undefined)) return this.#database.rows(statement, values)
    return this.#database.transaction(async (tx) => {
      const stored = await tx.rows<WebhookRow>(statement, values)
      const held = new Set(stored.map(({ id }) => id))
      for (const { id, retryAt, workspaceId } of entries) {
        if (retryAt === undefined || !held.has(id)) continue
        const options = { runAt: new Date(retryAt), key: `${id}:${retryAt}`, workspaceId }
        await this.#jobs.add(tx, retryWebhook, { webhookId: id }, options)
      }
      return stored
    })
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
  const isBlocked = failures > 0 && (ordered || failures >= MAX_FAILURES)
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
