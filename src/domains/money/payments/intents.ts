import { randomInt } from 'node:crypto'
import type { Clock } from '../../../core/clock.ts'
import { ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Transaction } from '../../../core/sql.ts'
import type { PlanService } from '../plans/index.ts'
import { AmountTooSmall } from './errors.ts'
import type { Gateway } from './gateways/gateway.ts'
import { FIRST_CHECK_MS } from './known.ts'
import { payerLanguage } from './payer-language.ts'
import { checkQuote, type PurposeInput, type PurposeKind, type Purposes } from './purposes.ts'
import { recordChange } from './settlement.ts'
import { payments, type PaymentRow } from './tables.ts'

/** What a user wants to pay for. */
export interface PaymentRequest {
  readonly userId: string
  readonly purpose: PurposeKind
  readonly input: PurposeInput
  /** The same key is the same payment, whatever becomes of it. */
  readonly key?: string | undefined
  /** The Accept-Language header, for the description of the payment. */
  readonly accepted?: string | undefined
}

interface How {
  readonly gateway: string
  readonly offSession: boolean
  readonly saveMethod?: boolean
  readonly paymentMethodId?: string
}

/** Writes what is to be paid, before a gateway hears of it. */
export class Intents {
  readonly #clock: Clock
  readonly #plans: Pick<PlanService, 'lockLimitsOf'>
  readonly #purposes: Purposes

  constructor(clock: Clock, plans: Pick<PlanService, 'lockLimitsOf'>, purposes: Purposes) {
    this.#clock = clock
    this.#plans = plans
    this.#purposes = purposes
  }

  /**
   * Prices a request and writes its payment. Locks the user's subscription, so that the price holds until the commit.
   * @returns the payment of an earlier request with the same key, if there is one
   * @throws AppError of the purpose; validation_failed for a currency that the gateway does not take; amount_too_small
   */
  async write(tx: Transaction, request: PaymentRequest, how: How, config?: Gateway['config']): Promise<PaymentRow> {
    const { input, key = null, purpose: kind, userId } = request
    await this.#plans.lockLimitsOf(tx, userId)
    const known = key === null ? undefined : await payments.first(tx, { requestKey: key })
    if (known !== undefined) return known
    const now = this.#clock.now()
    const purpose = this.#purposes.get(kind)
    const language = await payerLanguage(tx, request)
    const quote = await purpose.quote(tx, { userId, input, at: now, language })
    checkQuote(quote)
    const { amount, currency } = quote.total
    if (config !== undefined && !config.currencies.includes(currency)) {
      const message = `is not taken by this gateway: ${config.currencies.join(', ')}`
      throw ValidationFailed({ errors: [{ path: '/body/currency', code: 'currency', message }] })
    }
    const minimum = config?.minimums[currency] ?? 0
    if (amount < minimum) throw AmountTooSmall({ details: { amount, minimum, currency } })
    const id = uuidv7(now)
    const at = new Date(now)
    await payments.insert(tx, {
      id,
      userId,
      reference: newReference(),
      requestKey: key,
      purpose: kind,
      description: quote.description,
      input,
      details: quote.details,
      credits: quote.credits,
      amount,
      currency,
      status: 'created',
      saveMethod: false,
      couponHeldUntil: quote.couponHeldUntil ? new Date(quote.couponHeldUntil) : null,
      ...how,
      checkAt: new Date(now + FIRST_CHECK_MS),
      createdAt: at,
      updatedAt: at,
    })
    await recordChange(tx, this.#clock, id, null, 'created', { by: 'charge' })
    return (await payments.first(tx, { id })) as PaymentRow
  }
}

/** Without letters and digits that look alike, because payers write it on bank transfers. */
const ALPHABET = '23456789ABCDEFGHJKMNPQRSTUVWXYZ'

function newReference(): string {
  const part = () => Array.from({ length: 5 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
  return `CR-${part()}-${part()}`
}
