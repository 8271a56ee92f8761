import { sql } from 'kysely'
import { AppError } from '../../../core/error.ts'
import { MINUTE, type Clock } from '../../../core/clock.ts'
import { isUuid, sha256, uuidv7 } from '../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Database } from '../../../db/database.ts'
import { anyOf, lessThan, oneOf } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import { query } from '../../../db/query.ts'
import type { Charges } from './charges.ts'
import { GatewayNotConfigured, WebhookInvalid } from './errors.ts'
import type { Gateways } from './gateways/directory.ts'
import {
  GatewayAway,
  type Gateway,
  type GatewayEventData as EventData,
  type WebhookRequest,
} from './gateways/gateway.ts'
import type { PaymentMethods } from './methods.ts'
import type { GatewayEventData } from './schemas.ts'
import type { Steps } from './steps.ts'
import { gatewayEvents, payments, type GatewayEventOutcome, type PaymentRow } from './tables.ts'
import { eventView } from './views.ts'
import { cleanText } from '../../../tools/clean-text.ts'

interface Verdict {
  readonly outcome: GatewayEventOutcome
  readonly note?: string
  readonly paymentId?: string
}

/** How long after its last delivery a webhook that was not finished is taken up again. */
const STALLED_MS = 2 * MINUTE
const AT_ONCE = 200

/** Outcomes that administrators should look at. */
const UNMATCHED = ['received', 'unknown', 'foreign', 'contradicting', 'missed', 'refused'] as const

/**
 * Limits of stored webhooks with a wrong signature. Anyone can send these, so they must not fill the disk or keep the
 * database busy. A few are enough for an administrator to see what is wrong.
 */
const MAX_REFUSED = 100
const MAX_REFUSED_PER_MINUTE = 20
const KEPT_BODY = 4_000
const KEPT_SIGNATURE = 500

/** Deletes all refused webhooks except the newest. */
const deleteRefused = query({ gatewayEvents }, (db, $: { keep: number }) =>
  db
    .deleteFrom('gatewayEvents')
    .where('outcome', '=', sql.lit('refused'))
    .where('id', '<=', (e) =>
      e
        .selectFrom('gatewayEvents')
        .select('id')
        .where('outcome', '=', sql.lit('refused'))
        .orderBy('id', 'desc')
        .offset($.keep)
        .limit(e.lit(1)),
    ),
)

/**
 * Webhooks. Each is stored once. It is only a hint: what it says is looked up at the gateway, so an event that comes
 * twice, late, or out of order does nothing wrong. Events that fit nothing are kept for administrators.
 */
export class GatewayEvents {
  readonly #database: Database
  readonly #clock: Clock
  readonly #gateways: Gateways
  readonly #charges: Charges
  readonly #methods: PaymentMethods
  readonly #steps: Steps
  #refused = { since: 0, count: 0 }

  constructor(
    { clock, database }: { readonly database: Database; readonly clock: Clock },
    gateways: Gateways,
    charges: Charges,
    methods: PaymentMethods,
    steps: Steps,
  ) {
    this.#database = database
    this.#clock = clock
    this.#gateways = gateways
    this.#charges = charges
    this.#methods = methods
    this.#steps = steps
  }

  /**
   * Takes a webhook.
   * @throws AppError gateway_not_configured, webhook_invalid; gateway_unavailable when the payment cannot be looked up
   *   now, so that the gateway sends the webhook again
   */
  async receive(key: string, request: WebhookRequest): Promise<void> {
    const gateway = this.#gateways.get(key)
    if (gateway.readEvent === undefined) throw GatewayNotConfigured()
    let event: EventData
    try {
      event = gateway.readEvent(request)
    } catch (error) {
      if (error instanceof AppError && error.code === WebhookInvalid.code) await this.#refuse(key, request, error)
      throw error
    }
    const isOpen = await this.#store(key, event)
    await this.#steps.reach('event.written')
    if (!isOpen) return
    const verdict = await this.#gateways.ask(() => this.#verdictOn(gateway, event))
    await this.#close(key, event.eventId, verdict)
  }

  /**
   * Goes on with webhooks that were stored, and whose payment was not looked up, because the process ended or the gateway
   * was away. A gateway repeats a webhook that was not confirmed, but not for ever.
   */
  async resume(signal?: AbortSignal): Promise<void> {
    const before = new Date(this.#clock.now() - STALLED_MS)
    const stalled = await gatewayEvents.find(
      this.#database,
      { outcome: 'received', updatedAt: lessThan(before) },
      { columns: ['gateway', 'eventId', 'payload'], orderBy: ['id asc'], limit: AT_ONCE },
    )
    for (const { eventId, gateway: key, payload } of stalled) {
      if (signal?.aborted) return
      const gateway = this.#gateways.find(key)
      const event = gateway?.readStoredEvent?.(payload)
      if (gateway === undefined || event === undefined) continue
      // So that one that cannot be looked up does not keep the others waiting.
      await gatewayEvents.update(this.#database, { gateway: key, eventId }, { updatedAt: this.#now() })
      try {
        await this.#close(key, eventId, await this.#verdictOn(gateway, event))
      } catch (error) {
        if (!(error instanceof GatewayAway)) throw error
      }
    }
  }

  /** A page of events that fit nothing, newest first. For administrators. */
  async list(
    page: PageRequest,
    outcome: readonly GatewayEventOutcome[] = UNMATCHED,
  ): Promise<PageResult<GatewayEventData>> {
    const where = { outcome: oneOf(outcome) }
    const rows = await gatewayEvents.page(this.#database, where, page)
    return pageOf(rows, page.limit, (row) => row, eventView)
  }

  /** Keeps what the reconciliation has found. The same finding is kept once. @returns whether it is new */
  async report(
    gateway: string,
    { eventId, note, outcome, paymentId }: Verdict & { readonly eventId: string },
    payload: Readonly<Record<string, unknown>>,
  ): Promise<boolean> {
    const row = { gateway, eventId, type: 'reconciliation', outcome, note: note ?? null, paymentId: paymentId ?? null }
    return (await this.#insert({ ...row, payload })) === 1
  }

  /** Stores a webhook with a wrong signature, so that administrators can see that a secret or a clock is wrong. */
  async #refuse(gateway: string, { body, signature = '' }: WebhookRequest, { message }: AppError): Promise<void> {
    const now = this.#clock.now()
    if (now - this.#refused.since >= MINUTE) this.#refused = { since: now, count: 0 }
    this.#refused.count += 1
    if (this.#refused.count > MAX_REFUSED_PER_MINUTE) return
    // Not the id in its body: an event that Stripe sends later may have that id.
    const eventId = `refused-${sha256(body)}`
    const payload = { body: storable(body, KEPT_BODY), signature: storable(signature, KEPT_SIGNATURE) }
    const row = { gateway, eventId, type: 'unknown', outcome: 'refused' as const, note: message, paymentId: null }
    if ((await this.#insert({ ...row, payload })) === 0) {
      const again = { deliveries: increment(), updatedAt: this.#now() }
      await gatewayEvents.update(this.#database, { gateway, eventId }, again)
      return
    }
    await deleteRefused.run(this.#database, { keep: MAX_REFUSED })
  }

  /** @returns whether its payment is still to be looked up */
  async #store(gateway: string, { eventId, payload, type }: EventData): Promise<boolean> {
    const row = { gateway, eventId, type, outcome: 'received' as const, note: null, paymentId: null, payload }
    if ((await this.#insert(row)) === 1) return true
    const [known] = await gatewayEvents.updateReturning(
      this.#database,
      { gateway, eventId },
      { deliveries: increment(), updatedAt: this.#now() },
    )
    return known?.outcome === 'received'
  }

  #insert(row: Omit<Parameters<typeof gatewayEvents.insert>[1], 'id' | 'createdAt' | 'updatedAt'>): Promise<number> {
    const now = this.#now()
    const times = { createdAt: now, updatedAt: now }
    return gatewayEvents.insert(
      this.#database,
      { ...row, id: uuidv7(now.getTime()), ...times },
      { ignoreConflict: true },
    )
  }

  async #verdictOn(gateway: Gateway, event: EventData): Promise<Verdict> {
    if (event.isForeign) return { outcome: 'foreign', note: 'It is from another account or mode.' }
    if (event.setupReference !== undefined) return this.#setup(gateway, event.setupReference)
    const reference = event.paymentReference
    if (reference === undefined) return { outcome: 'ignored' }
    const row = await this.#find(gateway.key, reference, event.paymentId)
    if (row === undefined) {
      return event.paymentId === undefined
        ? { outcome: 'foreign', note: 'The payment was not made by this server.' }
        : { outcome: 'unknown', note: `There is no payment ${event.paymentId}.` }
    }
    const paymentId = row.id
    const known = { ...row, gatewayReference: row.gatewayReference ?? reference }
    if (known.gatewayReference !== reference) {
      const note = `The payment is ${known.gatewayReference} at the gateway, not ${reference}.`
      return { outcome: 'contradicting', note, paymentId }
    }
    const { contradiction, hasChanged, seen } = await this.#charges.lookUp(gateway, known, { by: 'webhook' })
    if (seen === undefined) return { outcome: 'contradicting', note: 'The gateway has no such payment.', paymentId }
    if (contradiction !== undefined) return { outcome: 'contradicting', note: contradiction, paymentId }
    if (event.claims === 'succeeded' && seen.status !== 'succeeded') {
      return { outcome: 'contradicting', note: `The gateway says that the payment is ${seen.status}.`, paymentId }
    }
    return { outcome: hasChanged ? 'applied' : 'ignored', paymentId }
  }

  async #setup(gateway: Gateway, reference: string): Promise<Verdict> {
    if (gateway.vault === undefined) return { outcome: 'ignored' }
    try {
      return { outcome: (await this.#methods.saveSetup(gateway.key, reference)) === undefined ? 'ignored' : 'applied' }
    } catch (error) {
      // Only the user can do something about it.
      if (error instanceof AppError && error.status < 500) return { outcome: 'ignored', note: error.message }
      throw error
    }
  }

  /** A payment whose reference was not stored is found by its own id. */
  async #find(gateway: string, reference: string, id: string | undefined): Promise<PaymentRow | undefined> {
    const known = await payments.first(this.#database, { gateway, gatewayReference: reference })
    if (known !== undefined || id === undefined || !isUuid(id)) return known
    return payments.first(this.#database, { id, gateway })
  }

  async #close(gateway: string, eventId: string, { note, outcome, paymentId }: Verdict): Promise<void> {
    const changes = { outcome, note: note ?? null, paymentId: paymentId ?? null, updatedAt: this.#now() }
    // Duplicate events may look up the same payment. The outcome of the one that changed it replaces `ignored`.
    const before = outcome === 'applied' ? anyOf<GatewayEventOutcome>(['received', 'ignored']) : ('received' as const)
    await gatewayEvents.update(this.#database, { gateway, eventId, outcome: before }, changes)
  }

  #now(): Date {
    return new Date(this.#clock.now())
  }
}

/** Text that PostgreSQL can store in JSON. */
function storable(text: string, most: number): string {
  return cleanText(text.slice(0, most))
}
