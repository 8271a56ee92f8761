import type { Caller } from '../../../core/caller.ts'
import { HOUR, type Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Database } from '../../../db/database.ts'
import { RefundRefused } from './errors.ts'
import type { Gateways } from './gateways/directory.ts'
import { GatewayRefusal, type Gateway, type GatewayRefund } from './gateways/gateway.ts'
import { FIRST_CHECK_MS } from './known.ts'
import { knownOf } from './known.ts'
import type { RefundData } from './schemas.ts'
import type { Settlement } from './settlement.ts'
import type { Steps } from './steps.ts'
import { paymentRefunds, payments, type PaymentRow, type RefundRow } from './tables.ts'
import { refundView } from './views.ts'

interface Dependencies {
  readonly database: Database
  readonly clock: Clock
  readonly gateways: Gateways
  readonly settlement: Settlement
  readonly steps: Steps
}

/** Gateways keep the key of a request for a day. After this time, a refund is not repeated, only looked for. */
const REPEAT_MS = 20 * HOUR

/** Pays back. A refund is committed before the gateway hears of it, and repeated with its own key until it is known. */
export class Refunds {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Pays a payment back, in whole or in part.
   * @throws AppError not_found, refund_refused, gateway_unavailable
   */
  async refund(
    caller: Pick<Caller, 'userId'>,
    paymentId: string,
    { amount: wanted, reason }: { readonly amount?: number; readonly reason: string },
  ): Promise<RefundData> {
    const { clock, database, settlement, steps } = this.#dependencies
    const refund = await database.transaction(async (tx) => {
      if (!(await payments.exists(tx, { id: paymentId }))) throw NotFound()
      const row = await settlement.lock(tx, paymentId)
      const pending = await paymentRefunds.find(tx, { paymentId, status: 'created' }, { columns: ['amount'] })
      const promised = pending.reduce((sum, { amount }) => sum + amount, 0)
      const left = row.receivedAmount - row.refundedAmount - promised
      const amount = wanted ?? left
      if (row.status !== 'succeeded') throw RefundRefused({ message: `The payment is ${row.status}.` })
      if (amount > left || amount < 1) throw RefundRefused({ message: `Only ${left} of the payment can be refunded.` })
      const now = clock.now()
      const at = new Date(now)
      const id = uuidv7(now)
      const { currency } = row
      const checkAt = new Date(now + FIRST_CHECK_MS)
      const more = { status: 'created' as const, reason, actorId: caller.userId, checkAt, createdAt: at, updatedAt: at }
      await paymentRefunds.insert(tx, { id, paymentId, amount, currency, ...more })
      return (await paymentRefunds.first(tx, { id })) as RefundRow
    })
    await steps.reach('refund.written')
    const after = await this.#dependencies.gateways.ask(() => this.send(refund))
    if (after.status === 'failed') throw RefundRefused({ message: 'The gateway has refused the refund.' })
    return refundView(after)
  }

  /** Sends a refund to its gateway, or finds it there. @throws GatewayAway */
  async send(refund: RefundRow): Promise<RefundRow> {
    const { clock, database, gateways, settlement, steps } = this.#dependencies
    const row = (await payments.first(database, { id: refund.paymentId })) as PaymentRow
    const gateway = gateways.find(row.gateway)
    const isLate = clock.now() - Date.parse(refund.createdAt) > REPEAT_MS
    const made = await this.#made(gateway, row, refund, isLate)
    await steps.reach('gateway.refunded')
    const { amount, currency } = row
    await settlement.settle(
      row.id,
      {
        reference: row.gatewayReference ?? '',
        status: 'succeeded',
        total: { amount, currency },
        received: row.receivedAmount,
        refunds: [made],
      },
      { by: 'administrator', ...(refund.actorId !== null && { actorId: refund.actorId }), reason: refund.reason },
    )
    return (await paymentRefunds.first(database, { id: refund.id })) as RefundRow
  }

  async #made(
    gateway: Gateway | undefined,
    row: PaymentRow,
    { amount, id }: RefundRow,
    isLate: boolean,
  ): Promise<GatewayRefund> {
    // The entry pays back to the wallet. Bank transfers are paid back by hand.
    if (gateway?.refund === undefined) return { reference: id, refundId: id, amount, status: 'succeeded' }
    const paymentReference = row.gatewayReference ?? ''
    const failed = { reference: id, refundId: id, amount, status: 'failed' as const }
    if (isLate) {
      const seen = await gateway.retrieve(paymentReference, knownOf(row))
      return seen?.refunds.find(({ refundId }) => refundId === id) ?? failed
    }
    try {
      return await gateway.refund({ id, paymentReference, amount })
    } catch (error) {
      if (error instanceof GatewayRefusal) return failed
      throw error
    }
  }
}
