import { sql as raw } from 'kysely'
import type { Member } from '../../../core/caller.ts'
import { DAY } from '../../../core/clock.ts'
import { Conflict, NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Services } from '../../../core/services.ts'
import type { Turn } from '../../../core/turn.ts'
import { TEST_TYPE } from '../../../core/webhook-messages.ts'
import { oneOf } from '../../../db/condition.ts'
import { query } from '../../../db/query.ts'
import type { Foundation } from '../../../foundation.ts'
import { REPLY_BYTES } from './attempts.ts'
import { retryWebhook, testWebhookDelivery } from './jobs.ts'
import { messageOf, testMessage } from './message.ts'
import { isWanted } from './patterns.ts'
import { newDelivery } from './records.ts'
import type { DeliveryData, ReplaySpanData } from './schemas.ts'
import type { DeliveryStatus } from './states.ts'
import { webhookDeliveries, webhooks, type DeliveryRow, type WebhookRow } from './tables.ts'
import type { Upcoming } from './upcoming.ts'

/** Events that one request replays. */
const SPAN = 100
const KEPT_DAYS = 30
/** Rows that one statement deletes. */
const ROWS = 5_000

/** Deletes old deliveries. The limit bounds the time of the statement. */
const pruneOld = query({ webhookDeliveries }, (db, $: { before: string }) =>
  db
    .deleteFrom('webhookDeliveries')
    .where('id', 'in', (e) =>
      e
        .selectFrom('webhookDeliveries')
        .select('id')
        .where('createdAt', '<', $.before)
        .orderBy('createdAt')
        .limit(raw.lit(ROWS)),
    ),
)

/** What was sent to endpoints: lists, replays and tests. */
export class Deliveries {
  readonly #foundation: Pick<Foundation, 'clock' | 'database'>
  readonly #workspaces: Services['workspaces']
  readonly #upcoming: Upcoming

  constructor(
    foundation: Pick<Foundation, 'clock' | 'database'>,
    workspaces: Services['workspaces'],
    upcoming: Upcoming,
  ) {
    this.#foundation = foundation
    this.#workspaces = workspaces
    this.#upcoming = upcoming
  }

  /** @throws AppError not_found */
  async list(
    member: Member,
    webhookId: string,
    page: PageRequest,
    status: readonly DeliveryStatus[] | undefined,
  ): Promise<PageResult<DeliveryData>> {
    const { workspaceId } = member
    const sql = this.#foundation.database
    const webhook = await webhooks.first(sql, { id: webhookId, workspaceId })
    if (webhook === undefined) throw NotFound()
    const where = { webhookId, ...(status !== undefined && { status: oneOf(status) }) }
    const rows = await webhookDeliveries.page(sql, where, page)
    const key = ({ createdAt, id }: DeliveryRow) => ({ createdAt, id })
    return pageOf(rows, page.limit, key, (row) => view(row, this.#mayRead(member, webhook, row)))
  }

  /** Sends an event again. @throws AppError not_found, conflict */
  async replay(turn: Turn, member: Member, webhookId: string, deliveryId: string): Promise<DeliveryData> {
    const webhook = await this.#enabled(turn, webhookId)
    const row = await webhookDeliveries.first(turn.sql, { id: deliveryId, webhookId })
    if (row === undefined) throw NotFound()
    if (row.kind === 'test')
      throw Conflict({ message: 'A test cannot be replayed. Send another one with POST /api/webhooks/{id}/test.' })
    const copy = newDelivery(webhook, row, 'replay', this.#foundation.clock.now())
    turn.insert(webhookDeliveries, copy)
    this.#start(turn, webhook)
    turn.audit({ kind: 'webhook_delivery', id: copy.id })
    return view(copy, this.#mayRead(member, webhook, copy))
  }

  /** Sends the events of a span again that the endpoint is subscribed to. @throws AppError not_found, conflict */
  async replaySpan(turn: Turn, webhookId: string, { after, until = Number.MAX_SAFE_INTEGER }: ReplaySpanData) {
    const webhook = await this.#enabled(turn, webhookId)
    const reader = await this.#upcoming.reader(webhook)
    if (reader === undefined)
      throw Conflict({
        message:
          'The member in `readerId`, whose permissions decide which events are sent, has left the workspace. To take their place, PATCH the webhook with its `events`.',
      })
    const { events: wanted } = webhook
    const page = await this.#workspaces.eventLog.read(reader, { after }, SPAN, (type) => isWanted(wanted, type))
    const now = this.#foundation.clock.now()
    const rows = page.events
      .filter(({ seq }) => seq <= until)
      .map((event) => newDelivery(webhook, messageOf(turn.workspaceId, event), 'replay', now))
    for (const row of rows) turn.insert(webhookDeliveries, row)
    if (rows.length > 0) this.#start(turn, webhook)
    turn.audit({ kind: 'webhook', id: webhookId, details: { after, until } })
    const reached = Math.min(page.after, until)
    return { deliveriesCount: rows.length, after: reached, hasMore: page.hasMore && reached < until }
  }

  /** Sends a message that is about no event. @throws AppError not_found */
  async test(turn: Turn, member: Member, webhookId: string): Promise<DeliveryData> {
    const webhook = await webhooks.first(turn.sql, { id: webhookId, workspaceId: turn.workspaceId })
    if (webhook === undefined) throw NotFound()
    const now = this.#foundation.clock.now()
    const message = testMessage(turn.workspaceId, webhookId, uuidv7(now), new Date(now).toISOString())
    const row = newDelivery(webhook, message, 'test', now)
    turn.insert(webhookDeliveries, row)
    turn.job(testWebhookDelivery, { deliveryId: row.id })
    turn.audit({ kind: 'webhook_delivery', id: row.id })
    return view(row, this.#mayRead(member, webhook, row))
  }

  /** Deletes old deliveries. @returns how many */
  async prune(signal: AbortSignal): Promise<number> {
    const before = new Date(this.#foundation.clock.now() - KEPT_DAYS * DAY).toISOString()
    let count = 0
    for (let deleted = ROWS; deleted === ROWS && !signal.aborted; count += deleted) {
      deleted = await pruneOld.run(this.#foundation.database, { before })
    }
    return count
  }

  async #enabled(turn: Turn, id: string): Promise<WebhookRow> {
    const webhook = await webhooks.first(turn.sql, { id, workspaceId: turn.workspaceId })
    if (webhook === undefined) throw NotFound()
    if (webhook.status === 'disabled')
      throw Conflict({ message: 'The webhook is disabled. Enable it first: PATCH it with `status: enabled`.' })
    return webhook
  }

  #start(turn: Turn, { id }: WebhookRow): void {
    turn.job(retryWebhook, { webhookId: id }, { key: `${id}:replay` })
  }

  /** A member who cannot read an event must not read it here. */
  #mayRead(member: Member, { readerId }: WebhookRow, { personal, type }: DeliveryRow): boolean {
    if (type === TEST_TYPE) return true
    return this.#workspaces.eventLog.mayBeSeen(type, member) && (!personal || member.userId === readerId)
  }
}

function view(row: DeliveryRow, mayRead: boolean): DeliveryData {
  const { attempts, createdAt, deliveredAt, durationMs, error, httpStatus, id, kind, messageId, nextAttemptAt } = row
  const { payload, requestHeaders, responseBody, responseHeaders, seq, status, type, updatedAt, webhookId } = row
  const body = Buffer.from(payload)
  return {
    _id: id,
    webhookId,
    kind,
    type,
    seq,
    messageId,
    status,
    attemptsCount: attempts,
    nextAttemptAt,
    deliveredAt,
    error,
    durationMs,
    request: {
      headers: requestHeaders,
      body: mayRead ? body.subarray(0, REPLY_BYTES).toString('utf8') : null,
      isCut: body.length > REPLY_BYTES,
    },
    response:
      httpStatus === null
        ? null
        : {
            httpStatus,
            headers: { ...responseHeaders },
            body: responseBody ?? '',
            isCut: Buffer.byteLength(responseBody ?? '') >= REPLY_BYTES,
          },
    createdAt,
    updatedAt,
  }
}
