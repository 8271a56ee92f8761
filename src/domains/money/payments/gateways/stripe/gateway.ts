import { createHash } from 'node:crypto'
import { Stripe } from 'stripe'
import type { Clock } from '../../../../../core/clock.ts'
import type { Outgoing } from '../../../../../fetch/outgoing.ts'
import {
  GatewayAway,
  GatewayRefusal,
  type Gateway,
  type GatewayEventData,
  type GatewayPayment,
  type GatewayRefund,
  type GatewaySetup,
  type GatewayVault,
  type NewGatewayPayment,
  type NewGatewayRefund,
  type Period,
  type WebhookRequest,
} from '../gateway.ts'
import { eventDataOf, readStripeEvent } from './events.ts'
import { StripeHttp } from './http.ts'
import { failureOf, PAYMENT_ID, paymentOf, REFUND_ID, refundOf, setupOf, USER_ID } from './map.ts'

export interface StripeSettings {
  readonly secretKey: string
  readonly publicKey: string
  readonly webhookSecret: string
  /** The address of the API, if it is not Stripe's own. */
  readonly apiUrl?: string | undefined
  /** The address of the script for browsers, if it is not Stripe's own. */
  readonly scriptUrl?: string | undefined
}

/** Currencies whose minor units are the same at Stripe and in ISO 4217. */
const CURRENCIES = ['AUD', 'CAD', 'CHF', 'DKK', 'EUR', 'GBP', 'JPY', 'NOK', 'PLN', 'SEK', 'USD'] as const

/** The smallest charges, in minor units (docs.stripe.com/currencies#minimum-and-maximum-charge-amounts, 2026-11-28). */
const MINIMUMS: Readonly<Record<(typeof CURRENCIES)[number], number>> = {
  AUD: 50,
  CAD: 50,
  CHF: 50,
  DKK: 250,
  EUR: 50,
  GBP: 30,
  JPY: 50,
  NOK: 300,
  PLN: 200,
  SEK: 300,
  USD: 50,
}

/** Each release of Stripe.js belongs to a version of the API: `Stripe.API_VERSION` is `2026-10-28.endive`. */
const SCRIPT_URL = 'https://js.stripe.com/endive/stripe.js'

/** Codes of refusals that say nothing about the outcome of the request. */
const UNDECIDED = new Set(['idempotency_key_in_use', 'lock_timeout', 'rate_limit'])

const WITH_CHARGE = ['latest_charge', 'payment_method']

/** Payments by card through Stripe. Money is taken by the payer's browser, or by `confirm` from a saved card. */
export class StripeGateway implements Gateway {
  readonly key = 'stripe'
  readonly config: Gateway['config']
  readonly vault: GatewayVault
  readonly #stripe: Stripe
  readonly #settings: StripeSettings
  readonly #clock: Clock

  constructor(settings: StripeSettings, outgoing: Outgoing, clock: Clock, timeoutMs?: number) {
    this.#settings = settings
    this.#clock = clock
    this.config = {
      title: 'Card',
      kind: 'card',
      publicKey: settings.publicKey,
      scriptUrl: settings.scriptUrl ?? SCRIPT_URL,
      currencies: CURRENCIES,
      minimums: MINIMUMS,
      savesMethods: true,
      coins: [],
    }
    this.#stripe = new Stripe(settings.secretKey, {
      httpClient: new StripeHttp(outgoing, timeoutMs),
      maxNetworkRetries: 0,
      telemetry: false,
      ...(settings.apiUrl !== undefined && addressOf(settings.apiUrl)),
    })
    this.vault = {
      customer: (user) => this.#customer(user),
      setUp: (customer, key) => this.#setUp(customer, key),
      retrieveSetup: (reference) => this.#retrieveSetup(reference),
      confirm: (reference, method, key) => this.#confirm(reference, method, key),
      detach: (method) => this.#detach(method),
    }
  }

  get #isLive(): boolean {
    return this.#settings.secretKey.includes('_live_')
  }

  async create(payment: NewGatewayPayment): Promise<GatewayPayment> {
    const { customer, description, id, method, reference, saveMethod, total, userId } = payment
    const intent = await answerOf(
      this.#stripe.paymentIntents.create(
        {
          amount: total.amount,
          currency: total.currency.toLowerCase(),
          description: `${description} (${reference})`,
          metadata: { [PAYMENT_ID]: id, [USER_ID]: userId },
          allowed_payment_method_types: ['card' as const],
          ...(customer !== undefined && { customer }),
          ...(method !== undefined && { payment_method: method }),
          ...(saveMethod && { setup_future_usage: 'off_session' as const }),
        },
        { idempotencyKey: `${id}-create` },
      ),
    )
    return paymentOf(intent)
  }

  async retrieve(reference: string): Promise<GatewayPayment | undefined> {
    const intent = await foundOrNot(this.#stripe.paymentIntents.retrieve(reference, { expand: WITH_CHARGE }))
    return intent && this.#whole(intent)
  }

  async cancel(reference: string): Promise<GatewayPayment> {
    try {
      return paymentOf(await answerOf(this.#stripe.paymentIntents.cancel(reference)))
    } catch (error) {
      // It has ended before.
      const now = error instanceof GatewayRefusal ? await this.retrieve(reference) : undefined
      if (now === undefined || !['succeeded', 'cancelled'].includes(now.status)) throw error
      return now
    }
  }

  async *list({ since, until }: Period): AsyncIterable<GatewayPayment> {
    const created = { gte: Math.floor(since / 1000), lt: Math.ceil(until / 1000) }
    const parameters = { created, limit: 100, expand: WITH_CHARGE.map((name) => `data.${name}`) }
    for (let after: string | undefined; ;) {
      const page = await answerOf(
        this.#stripe.paymentIntents.list({ ...parameters, ...(after !== undefined && { starting_after: after }) }),
      )
      for (const intent of page.data) yield await this.#whole(intent)
      after = page.data.at(-1)?.id
      if (!page.has_more || after === undefined) return
    }
  }

  readonly refund = async ({ amount, id, paymentReference }: NewGatewayRefund): Promise<GatewayRefund> => {
    const parameters = { payment_intent: paymentReference, amount, metadata: { [REFUND_ID]: id } }
    return refundOf(await answerOf(this.#stripe.refunds.create(parameters, { idempotencyKey: `${id}-refund` })))
  }

  readonly readStoredEvent = (payload: GatewayEventData['payload']): GatewayEventData =>
    eventDataOf(payload as unknown as Stripe.Event, this.#isLive)

  readonly readEvent = (request: WebhookRequest): GatewayEventData => {
    const { webhookSecret } = this.#settings
    return readStripeEvent(this.#stripe, request, {
      secret: webhookSecret,
      now: this.#clock.now(),
      isLive: this.#isLive,
    })
  }

  /** With refunds and disputes, if there are any. */
  async #whole(intent: Stripe.PaymentIntent): Promise<GatewayPayment> {
    const charge = typeof intent.latest_charge === 'object' ? intent.latest_charge : null
    if (charge === null) return paymentOf(intent)
    const wanted = { payment_intent: intent.id, limit: 100 }
    const [refunds, disputes] = await Promise.all([
      this.#stripe.refunds.list(wanted).then(({ data }) => data),
      this.#stripe.disputes.list(wanted).then(({ data }) => data),
    ]).catch(refuse)
    return paymentOf(intent, refunds, disputes)
  }

  async #customer({ email, id, name }: { id: string; email: string; name: string }): Promise<string> {
    // A changed address would make the same key a conflict.
    const facts = createHash('sha256').update(`${email}\n${name}`).digest('hex').slice(0, 16)
    const parameters = { email, ...(name !== '' && { name }), metadata: { [USER_ID]: id } }
    const customer = await answerOf(
      this.#stripe.customers.create(parameters, { idempotencyKey: `${id}-customer-${facts}` }),
    )
    return customer.id
  }

  async #setUp(customer: string, key: string): Promise<GatewaySetup> {
    const parameters = { customer, usage: 'off_session' as const, allowed_payment_method_types: ['card' as const] }
    return setupOf(await answerOf(this.#stripe.setupIntents.create(parameters, { idempotencyKey: `${key}-setup` })))
  }

  async #retrieveSetup(reference: string): Promise<GatewaySetup | undefined> {
    const found = await foundOrNot(this.#stripe.setupIntents.retrieve(reference, { expand: ['payment_method'] }))
    return found && setupOf(found)
  }

  async #confirm(reference: string, method: string, key: string): Promise<GatewayPayment> {
    const parameters = { payment_method: method, off_session: true, expand: WITH_CHARGE }
    const intent = await answerOf(
      this.#stripe.paymentIntents.confirm(reference, parameters, { idempotencyKey: `${key}-confirm` }),
    )
    return paymentOf(intent)
  }

  async #detach(method: string): Promise<void> {
    try {
      await answerOf(this.#stripe.paymentMethods.detach(method))
    } catch (error) {
      // It is not attached any more, or is unknown: what was asked for is done.
      if (!(error instanceof GatewayRefusal)) throw error
    }
  }
}

function addressOf(url: string) {
  const { hostname, port, protocol } = new URL(url)
  const scheme = protocol === 'http:' ? ('http' as const) : ('https' as const)
  return { host: hostname, port: Number(port) || (scheme === 'http' ? 80 : 443), protocol: scheme }
}

/** @throws GatewayRefusal, GatewayAway */
async function answerOf<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    return refuse(error)
  }
}

async function foundOrNot<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await answerOf(call)
  } catch (error) {
    if (error instanceof GatewayRefusal && error.failure.code === 'resource_missing') return undefined
    throw error
  }
}

function refuse(error: unknown): never {
  const isAnswer =
    error instanceof Stripe.errors.StripeCardError || error instanceof Stripe.errors.StripeInvalidRequestError
  if (!isAnswer || UNDECIDED.has(error.code ?? '')) {
    throw new GatewayAway(error instanceof Error ? error.message : 'Stripe does not respond', { cause: error })
  }
  const { payment_intent: intent } = error
  const failure = failureOf(error) ?? { code: 'declined', message: error.message }
  throw new GatewayRefusal(failure, intent === undefined ? undefined : paymentOf(intent), error)
}
