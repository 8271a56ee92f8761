import type { Caller } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { Conflict, NotFound, ValidationFailed } from '../../../core/errors.ts'
import type { Database } from '../../../db/database.ts'
import { PaymentDeclined } from './errors.ts'
import type { Gateways } from './gateways/directory.ts'
import { GatewayRefusal, type Gateway, type GatewayPayment, type NewGatewayPayment } from './gateways/gateway.ts'
import type { Intents, PaymentRequest } from './intents.ts'
import { isWatched, knownOf } from './known.ts'
import type { PaymentMethods } from './methods.ts'
import { payerLanguage } from './payer-language.ts'
import type { PaymentData, PaymentStartData } from './schemas.ts'
import type { Cause, Settlement } from './settlement.ts'
import { isOpen } from './states.ts'
import type { Steps } from './steps.ts'
import { paymentMethods, payments, type PaymentRow } from './tables.ts'
import { paymentView, startView } from './views.ts'

interface Dependencies {
  readonly database: Database
  readonly clock: Clock
  readonly gateways: Gateways
  readonly intents: Intents
  readonly methods: PaymentMethods
  readonly settlement: Settlement
  readonly steps: Steps
}

/** Begins payments, and asks gateways what has become of them. */
export class Charges {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Begins a payment that the payer completes. The payment is committed before the gateway is asked, so nothing is lost
   * when this is interrupted: the sweeper ends what never reached the gateway.
   * @throws AppError gateway_not_configured, gateway_unavailable, payment_declined, amount_too_small, and those of the
   * purpose
   */
  async initialize(
    request: PaymentRequest,
    how: { readonly gateway: string; readonly saveMethod?: boolean; readonly coin?: string },
  ): Promise<PaymentStartData> {
    const { database, gateways, intents, methods, steps } = this.#dependencies
    const gateway = gateways.get(how.gateway)
    const saveMethod = how.saveMethod === true && gateway.config.savesMethods
    const row = await database.transaction((tx) => {
      return intents.write(tx, request, { gateway: gateway.key, offSession: false, saveMethod }, gateway.config)
    })
    await steps.reach('intent.written')
    return this.#refusable(row, async () => {
      const { vault } = gateway
      const customer = vault && (await methods.customer(row.userId, gateway.key, vault))
      const language = await payerLanguage(database, request)
      const seen = await this.#create(gateway, row, {
        language,
        ...(customer && { customer }),
        ...(how.coin && { coin: how.coin }),
      })
      return startView(await this.#stored(row, seen), gateway.config.publicKey, seen)
    })
  }

  /**
   * Charges a saved method without the payer. Repeating it with the same key continues the same payment. The returned
   * payment can require an action, if the bank wants the payer to authenticate.
   * @throws AppError gateway_unavailable while the outcome is unknown; payment_declined; amount_too_small
   */
  async chargeSaved(request: PaymentRequest & { readonly paymentMethodId?: string }): Promise<PaymentStartData> {
    const { database, intents, methods } = this.#dependencies
    const { paymentMethodId, userId } = request
    const row = await database.transaction(async (tx) => {
      const method =
        paymentMethodId === undefined
          ? await methods.defaultOf(tx, userId)
          : await methods.find(tx, userId, paymentMethodId)
      if (method === undefined) throw noMethod()
      const how = { gateway: method.gateway, offSession: true, paymentMethodId: method.id }
      return intents.write(tx, request, how, this.#dependencies.gateways.get(method.gateway).config)
    })
    await this.#dependencies.steps.reach('intent.written')
    const charged = await this.#charge(row)
    if (charged.row.status === 'failed') throw declined(charged.row)
    return startView(charged.row, charged.publicKey, charged.seen)
  }

  /**
   * Pays with the money in the wallet, in one transaction.
   * @throws AppError insufficient_funds; conflict when the purpose no longer exists
   */
  async payWithWallet(request: PaymentRequest): Promise<PaymentData> {
    const { database, intents, settlement } = this.#dependencies
    if (request.purpose === 'wallet') {
      const message = 'cannot be paid with the wallet itself'
      throw ValidationFailed({ errors: [{ path: '/body/purpose', code: 'wallet', message }] })
    }
    const settled = await database.transaction(async (tx) => {
      const row = await intents.write(tx, request, { gateway: 'wallet', offSession: false })
      if (row.status !== 'created') return row
      const { amount, currency } = row
      const seen = {
        reference: row.id,
        status: 'succeeded',
        total: { amount, currency },
        received: amount,
        refunds: [],
      }
      const { payment } = await settlement.apply(tx, row, seen as GatewayPayment, { by: 'wallet' })
      if (payment.settledTo !== 'purpose') throw Conflict({ message: 'This cannot be bought any more.' })
      return payment
    })
    return paymentView(settled)
  }

  /**
   * Asks the gateway about a payment of the caller, and settles it. However often and however concurrently it is called,
   * the payment is settled once.
   * @throws AppError not_found, gateway_unavailable
   */
  async verify({ userId }: Pick<Caller, 'userId'>, reference: string): Promise<PaymentStartData> {
    const { database, gateways } = this.#dependencies
    const row = await payments.first(database, { reference, userId })
    if (row === undefined) throw NotFound()
    const gateway = gateways.find(row.gateway)
    const publicKey = gateway?.config.publicKey ?? null
    const mayChange = isWatched(row, this.#dependencies.clock.now())
    if (gateway === undefined || !mayChange || row.gatewayReference === null) return startView(row, publicKey)
    const { payment, seen } = await gateways.ask(() => this.lookUp(gateway, row, { by: 'verify' }))
    return startView(payment, publicKey, seen)
  }

  /** Reads a payment at its gateway, and settles what the gateway says. @throws GatewayAway */
  async lookUp(
    gateway: Gateway,
    row: PaymentRow,
    cause: Cause,
  ): Promise<{ payment: PaymentRow; hasChanged: boolean; seen?: GatewayPayment; contradiction?: string }> {
    const { settlement } = this.#dependencies
    const seen = await gateway.retrieve(row.gatewayReference ?? '', knownOf(row))
    if (seen === undefined) return { payment: row, hasChanged: false }
    return { ...(await settlement.settle(row.id, seen, cause)), seen }
  }

  /** Ends a payment at its gateway. It may turn out to be paid. @throws GatewayAway, GatewayRefusal */
  async cancel(
    gateway: Gateway,
    row: PaymentRow,
    as: 'failed' | 'cancelled' | 'expired',
    cause: Cause,
  ): Promise<PaymentRow> {
    const { settlement } = this.#dependencies
    const seen = await gateway.cancel(row.gatewayReference ?? '', knownOf(row))
    const failure = seen.failure ?? NEVER_PAID[as]
    const status = seen.status === 'cancelled' ? as : seen.status
    const { payment } = await settlement.settle(row.id, { ...seen, status, ...(failure && { failure }) }, cause)
    return payment
  }

  async #charge(row: PaymentRow): Promise<Charged> {
    const { database, gateways, steps } = this.#dependencies
    const gateway = gateways.vaultOf(row.gateway)
    const { publicKey } = gateway.config
    const method = await paymentMethods.first(database, { id: row.paymentMethodId ?? '' })
    if (method === undefined || !isOpen(row.status)) return { row, publicKey }
    const stored = row.gatewayReference === null ? await this.#createSaved(gateway, row, method.reference) : row
    return gateways.ask(async () => {
      const reference = stored.gatewayReference as string
      let seen: GatewayPayment
      try {
        seen = await gateway.vault.confirm(reference, method.reference, row.id)
      } catch (error) {
        if (!(error instanceof GatewayRefusal)) throw error
        seen = (await gateway.retrieve(reference, knownOf(stored))) ?? refused(stored, error)
      }
      await steps.reach('gateway.confirmed')
      const settled = await this.#dependencies.settlement.settle(row.id, seen, { by: 'charge' })
      // Nobody is there to try another card, and the refused charge must not succeed later.
      const isDeclined = settled.payment.status === 'pending' && seen.failure !== undefined
      const ended = isDeclined
        ? await this.cancel(gateway, settled.payment, 'failed', { by: 'charge' })
        : settled.payment
      return { row: ended, publicKey, seen }
    })
  }

  /** @throws AppError payment_declined when the gateway refuses to make the payment */
  async #createSaved(gateway: VaultGateway, row: PaymentRow, method: string): Promise<PaymentRow> {
    return this.#refusable(row, async () => {
      const customer = await this.#dependencies.methods.customer(row.userId, gateway.key, gateway.vault)
      return this.#stored(row, await this.#create(gateway, row, { customer, method }))
    })
  }

  async #create(
    gateway: Gateway,
    row: PaymentRow,
    more: Pick<NewGatewayPayment, 'customer' | 'method' | 'coin' | 'language'>,
  ): Promise<GatewayPayment> {
    const { amount, couponHeldUntil, currency, description, id, offSession, reference, saveMethod, userId } = row
    const total = { amount, currency }
    const held = couponHeldUntil === null ? {} : { couponHeldUntil: Date.parse(couponHeldUntil) }
    const payment = { id, reference, userId, total, description, saveMethod, offSession, ...held, ...more }
    const made = await gateway.create(payment)
    await this.#dependencies.steps.reach('gateway.created')
    return made
  }

  /** Stores the gateway's id of the payment, before the payer can pay. */
  async #stored(row: PaymentRow, seen: GatewayPayment): Promise<PaymentRow> {
    const { settlement, steps } = this.#dependencies
    const { payment } = await settlement.settle(row.id, seen, { by: 'charge' })
    await steps.reach('reference.written')
    return payment
  }

  /** Ends a payment that the gateway has refused to make. @throws AppError payment_declined, gateway_unavailable */
  async #refusable<T>(row: PaymentRow, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#dependencies.gateways.ask(work)
    } catch (error) {
      if (!(error instanceof GatewayRefusal)) throw error
      const seen = refused(row, error)
      const { payment } = await this.#dependencies.settlement.settle(row.id, seen, { by: 'charge' })
      throw declined(payment, error)
    }
  }
}

type VaultGateway = ReturnType<Gateways['vaultOf']>

interface Charged {
  readonly row: PaymentRow
  readonly publicKey: string | null
  readonly seen?: GatewayPayment
}

const NEVER_PAID = {
  failed: { code: 'not_confirmed', message: 'The charge was interrupted, and nothing was taken.' },
  cancelled: undefined,
  expired: undefined,
} as const

/** A payment that the gateway has refused to make. */
function refused({ amount, currency, gatewayReference, id }: PaymentRow, { failure }: GatewayRefusal): GatewayPayment {
  const total = { amount, currency }
  return { reference: gatewayReference ?? `refused-${id}`, status: 'failed', total, received: 0, failure, refunds: [] }
}

function declined({ failureCode, failureMessage, reference }: PaymentRow, cause?: unknown) {
  return PaymentDeclined({
    ...(failureMessage !== null && { message: failureMessage }),
    details: { reason: failureCode, reference },
    cause,
  })
}

function noMethod() {
  const message = 'is needed, because there is no default payment method'
  return ValidationFailed({ errors: [{ path: '/body/paymentMethodId', code: 'required', message }] })
}
