import type { Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Transaction } from '../../../core/sql.ts'
import type { Ledger, Line } from '../ledger/index.ts'
import type { GatewayPayment, GatewayRefund } from './gateways/gateway.ts'
import { adjustment, atGateway, inWallet, paidFrom, refundLines } from './ledger-lines.ts'
import type { Purposes } from './purposes.ts'
import { purposePayment } from './settlement.ts'
import type { PaymentStatusName } from './states.ts'
import { paymentRefunds, type payments, type PaymentRow, type RefundRow } from './tables.ts'

type Changes = Parameters<typeof payments.update>[2]
type Become = (next: PaymentStatusName, changes: Changes) => Promise<PaymentRow>

/** Applies refunds and disputes that a gateway reports, within the settlement of their payment. */
export class Reversals {
  readonly #clock: Clock
  readonly #ledger: Pick<Ledger, 'post' | 'balanceOf'>
  readonly #purposes: Purposes

  constructor(clock: Clock, ledger: Pick<Ledger, 'post' | 'balanceOf'>, purposes: Purposes) {
    this.#clock = clock
    this.#ledger = ledger
    this.#purposes = purposes
  }

  async apply(tx: Transaction, row: PaymentRow, seen: GatewayPayment, become: Become): Promise<PaymentRow> {
    if (row.settledAt === null) return row
    let payment = row
    for (const refund of seen.refunds) payment = await this.#refund(tx, payment, refund, become)
    return seen.dispute === undefined ? payment : this.#dispute(tx, payment, seen.dispute, become)
  }

  async #refund(tx: Transaction, row: PaymentRow, refund: GatewayRefund, become: Become): Promise<PaymentRow> {
    const known = await this.#find(tx, row, refund)
    if (known.gatewayReference === null) {
      await this.#update(tx, known, { gatewayReference: refund.reference })
    }
    if (refund.status === 'succeeded' && known.status === 'created') return this.#paidBack(tx, row, known, become)
    if (refund.status !== 'failed' || known.status === 'failed') return row
    await this.#update(tx, known, { status: 'failed', checkAt: null })
    // A bank can return a refund days later.
    return known.status === 'succeeded' ? this.#returned(tx, row, known, become) : row
  }

  async #paidBack(tx: Transaction, row: PaymentRow, refund: RefundRow, become: Become): Promise<PaymentRow> {
    const { amount, id, reason } = refund
    const lines = await this.#linesOf(tx, row, row.refundedAmount, amount)
    const back = paidFrom(row, -amount)
    await this.#ledger.post(tx, { kind: 'refund', reference: `refund:${id}`, reason, lines: [back, ...lines] })
    await this.#update(tx, refund, { status: 'succeeded', checkAt: null })
    const refundedAmount = row.refundedAmount + amount
    const isWhole = refundedAmount === row.receivedAmount
    const moved = await become(isWhole ? 'refunded' : row.status, { refundedAmount })
    const purpose = row.settledTo === 'purpose' ? this.#purposes.find(row.purpose) : undefined
    await purpose?.refunded?.(tx, purposePayment(row), { id, amount, refundedAmount, reason })
    return moved
  }

  async #returned(tx: Transaction, row: PaymentRow, refund: RefundRow, become: Become): Promise<PaymentRow> {
    const { amount, id } = refund
    const lines = [atGateway(row.gateway, amount, row.currency), adjustment(amount, row.currency)]
    const reason = 'The bank has returned the refund.'
    await this.#ledger.post(tx, { kind: 'refund', reference: `refund:${id}:returned`, reason, lines })
    return become(row.status, { refundedAmount: row.refundedAmount - amount })
  }

  /** Credits that a wallet no longer holds are a loss of the house. */
  async #linesOf(tx: Transaction, row: PaymentRow, before: number, amount: number): Promise<Line[]> {
    const { currency, userId } = row
    const whole = inWallet(userId, { amount: row.receivedAmount, currency })
    const over = row.receivedAmount - row.amount
    const extra = over > 0 ? [inWallet(userId, { amount: over, currency })] : []
    const credits = row.settledTo === 'wallet' ? [whole] : [...row.credits, ...extra]
    const lines = refundLines(credits, before, amount)
    const result: Line[] = []
    for (const line of lines) {
      if (line.account.kind !== 'wallet') {
        result.push(line)
        continue
      }
      const balance = await this.#ledger.balanceOf(tx, line.account)
      const taken = Math.min(-line.amount, balance)
      result.push({ ...line, amount: -taken }, adjustment(line.amount + taken, currency))
    }
    return result
  }

  async #dispute(
    tx: Transaction,
    row: PaymentRow,
    { amount, reference, status }: NonNullable<GatewayPayment['dispute']>,
    become: Become,
  ): Promise<PaymentRow> {
    const { currency, gateway } = row
    const isTaken = status !== 'won'
    if (isTaken && row.status !== 'disputed') {
      const lines = [atGateway(gateway, -amount, currency), adjustment(-amount, currency)]
      await this.#ledger.post(tx, { kind: 'dispute', reference: `dispute:${reference}`, lines })
    }
    if (isTaken) {
      const failureCode = status === 'lost' ? 'dispute_lost' : 'dispute_open'
      return row.status === 'disputed' && row.failureCode === failureCode ? row : become('disputed', { failureCode })
    }
    if (row.status !== 'disputed') return row
    const lines = [atGateway(gateway, amount, currency), adjustment(amount, currency)]
    await this.#ledger.post(tx, { kind: 'dispute', reference: `dispute:${reference}:won`, lines })
    return become(row.refundedAmount === row.receivedAmount ? 'refunded' : 'succeeded', { failureCode: null })
  }

  /** The refund's row. One that was made at the gateway gets a row. */
  async #find(tx: Transaction, row: PaymentRow, { amount, reference, refundId }: GatewayRefund): Promise<RefundRow> {
    const paymentId = row.id
    const byId = refundId === undefined ? undefined : await paymentRefunds.first(tx, { id: refundId, paymentId })
    const known = byId ?? (await paymentRefunds.first(tx, { gatewayReference: reference, paymentId }))
    if (known !== undefined) return known
    const now = this.#clock.now()
    const refund: RefundRow = {
      id: uuidv7(now),
      paymentId,
      amount,
      currency: row.currency,
      status: 'created',
      gatewayReference: reference,
      reason: 'Made at the gateway',
      actorId: null,
      checkAt: null,
      createdAt: new Date(now).toISOString(),
      updatedAt: new Date(now).toISOString(),
    }
    await paymentRefunds.insert(tx, refund)
    return refund
  }

  async #update(
    tx: Transaction,
    { id }: RefundRow,
    changes: Parameters<typeof paymentRefunds.update>[2],
  ): Promise<void> {
    await paymentRefunds.update(tx, { id }, { ...changes, updatedAt: new Date(this.#clock.now()) })
  }
}
