import { DAY, MINUTE, type Clock } from '../../../../../core/clock.ts'
import type { Gateway, GatewayPayment, KnownPayment, NewGatewayPayment, Period } from '../gateway.ts'
import { confirmationsFor, type Chain } from './chain.ts'
import { dataOf, isLate, judge, type InvoiceData, type Observation } from './judge.ts'
import type { Rates } from './rates.ts'
import { divideUp } from './units.ts'

/** How long an address is looked at after its invoice has ended, for late payments and reorganizations. */
const WATCH_MS = 30 * DAY

export interface CryptoOptions {
  /** How long the rate of an invoice holds. */
  readonly minutes: number
  readonly currencies: readonly string[]
}

/** Payments in one coin or token. Each invoice has its own address, and only the chain decides what was paid. */
export class CryptoGateway implements Gateway {
  readonly key: string
  readonly config: Gateway['config']
  readonly listsHints = true
  readonly #chain: Chain
  readonly #rates: Rates
  readonly #clock: Clock
  readonly #minutes: number

  constructor(chain: Chain, rates: Rates, clock: Clock, { currencies, minutes }: CryptoOptions) {
    this.#chain = chain
    this.#rates = rates
    this.#clock = clock
    this.#minutes = minutes
    this.key = `crypto-${chain.coin}`
    this.config = {
      title: chain.title,
      kind: 'crypto',
      publicKey: null,
      scriptUrl: null,
      currencies,
      minimums: {},
      savesMethods: false,
      coins: [chain.coin],
    }
  }

  async create({ id, total }: NewGatewayPayment): Promise<GatewayPayment> {
    const chain = this.#chain
    const rate = await this.#rates.rate(chain, total.currency)
    const { address, data: known } = await chain.address(id)
    const units = divideUp(BigInt(total.amount) * rate.denominator, rate.numerator)
    const invoice: InvoiceData = {
      units: String(units),
      address,
      chain: known,
      late: {},
      lost: { count: 0, amount: 0 },
    }
    const expiresAt = this.#clock.now() + this.#minutes * MINUTE
    const data = dataOf(chain, invoice, [], confirmationsFor(chain.confirmations, total.amount))
    return {
      reference: address,
      paymentId: id,
      status: 'pending',
      total,
      received: 0,
      refunds: [],
      data: { ...data, watchUntil: expiresAt + WATCH_MS },
      expiresAt,
    }
  }

  async retrieve(_reference: string, known: KnownPayment): Promise<GatewayPayment | undefined> {
    const invoice = known.data['invoice'] as InvoiceData | undefined
    if (invoice === undefined) return undefined
    const seen = await this.#observe(known, invoice)
    // Judged again with what is stored when the payment is locked.
    return { ...judge(this.#chain, known, seen), upon: (stored) => judge(this.#chain, stored, seen) }
  }

  /** An address cannot be closed. The invoice ends by its time, unless something is on its way. */
  async cancel(reference: string, known: KnownPayment): Promise<GatewayPayment> {
    const now = await this.retrieve(reference, known)
    if (now === undefined) throw new Error(`the payment ${known.id} has no invoice`)
    return now
  }

  async *list({ since }: Period): AsyncIterable<GatewayPayment> {
    for await (const { address, data, paymentId } of this.#chain.touched(since)) {
      const arrivals = await this.#chain.arrivals(address, data)
      if (!arrivals.some(({ confirmations }) => confirmations > 0)) continue
      const total = { amount: 0, currency: '' }
      yield { reference: address, paymentId, status: 'succeeded', total, received: 0, refunds: [] }
    }
  }

  async #observe(known: KnownPayment, { address, chain: data, late }: InvoiceData): Promise<Observation> {
    const arrivals = await this.#chain.arrivals(address, data)
    const needsRate = arrivals.some((arrival) => isLate(arrival, known) && late[arrival.id] === undefined)
    const rate = needsRate ? await this.#rates.rate(this.#chain, known.total.currency) : undefined
    return { arrivals, now: this.#clock.now(), ...(rate && { rate }) }
  }
}
