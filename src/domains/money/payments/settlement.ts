import { isDeepStrictEqual } from 'node:util'
import { DAY, type Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Sql, Transaction } from '../../../core/sql.ts'
import type { Database } from '../../../db/database.ts'
import type { Ledger, Line } from '../ledger/index.ts'
import type { PlanService } from '../plans/index.ts'
import type { GatewayPayment } from './gateways/gateway.ts'
import { checkAfterEnd, FIRST_CHECK_MS, knownOf } from './known.ts'
import { inWallet, paidFrom } from './ledger-lines.ts'
import type { PaymentMethods } from './methods.ts'
import type { PurposePayment, Purposes } from './purposes.ts'
import type { Reversals } from './reversals.ts'
import { isOpen, mayBecome, type PaymentStatusName } from './states.ts'
import type { Steps } from './steps.ts'
import { paymentChanges, payments, type PaymentRow } from './tables.ts'

/** Who or what has found out about a payment. */
export interface Cause {
  readonly by: 'charge' | 'verify' | 'webhook' | 'sweeper' | 'reconciliation' | 'administrator' | 'wallet'
  readonly actorId?: string
  readonly reason?: string
}

/** What a settlement has done. */
export interface Settled {
  readonly payment: PaymentRow
  readonly hasChanged: boolean
  /** Why what the gateway says cannot be true. Nothing was changed. */
  readonly contradiction?: string
}

interface Dependencies {
  readonly database: Database
  readonly clock: Clock
  readonly ledger: Pick<Ledger, 'post'>
  readonly plans: Pick<PlanService, 'lockLimitsOf'>
  readonly purposes: Purposes
  readonly methods: PaymentMethods
  readonly reversals: Reversals
  readonly steps: Steps
}

/** How long a payer has to complete a payment that was begun, unless the gateway has another time. */
const OPEN_MS = DAY

/**
 * Applies what a gateway says about a payment. This is the only way in which a payment changes: verifying, webhooks, the
 * sweeper and administrators all lead here, in any order, any number of times and at the same time.
 *
 * One transaction locks the user's subscription and then the payment, moves the payment, posts to the ledger, and has
 * the purpose grant what was paid.
 */
export class Settlement {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** @throws Error when there is no such payment */
  async settle(id: string, seen: GatewayPayment, cause: Cause): Promise<Settled> {
    const { database, steps } = this.#dependencies
    await steps.reach('settle')
    const settled = await database.transaction(async (tx) => {
      const found = await this.apply(tx, await this.lock(tx, id), seen, cause)
      await steps.reach('settle.commit')
      return found
    })
    await steps.reach('settled')
    return settled
  }

  /** Locks a payment, in the order in which everything about a user is locked. */
  async lock(tx: Transaction, id: string): Promise<PaymentRow> {
    const known = await payments.first(tx, { id }, { columns: ['userId'] })
    if (known === undefined) throw new Error(`there is no payment ${id}`)
    await this.#dependencies.plans.lockLimitsOf(tx, known.userId)
    const row = await payments.first(tx, { id }, { lock: 'for update' })
    if (row === undefined) throw new Error(`there is no payment ${id}`)
    return row
  }

  /** The same in an open transaction, with the row locked by `lock` or just inserted. */
  async apply(tx: Transaction, row: PaymentRow, found: GatewayPayment, cause: Cause): Promise<Settled> {
    const seen = found.upon?.(knownOf(row)) ?? found
    const contradiction = contradictionOf(row, seen)
    if (contradiction !== undefined) return { payment: row, hasChanged: false, contradiction }
    let payment = row
    if (row.gatewayReference === null && seen.status !== 'failed')
      payment = await this.#update(tx, payment, { gatewayReference: seen.reference, ...this.#timesOf(row, seen) })
    if (seen.data !== undefined && !isDeepStrictEqual(seen.data, row.gatewayData))
      payment = await this.#update(tx, payment, { gatewayData: seen.data })
    payment = await this.#move(tx, payment, seen, cause)
    if (seen.savedMethod !== undefined && payment.status === 'succeeded') {
      const { methods } = this.#dependencies
      const { gateway, userId } = payment
      // What was paid stays paid. Only the card is not kept.
      const refusal = await methods.refusalOf(tx, userId, gateway, seen.savedMethod)
      if (refusal === undefined) await methods.keep(tx, userId, gateway, seen.savedMethod)
    }
    const reversed = await this.#dependencies.reversals.apply(tx, payment, seen, (next, changes) =>
      this.#become(tx, payment, next, changes, cause),
    )
    return { payment: reversed, hasChanged: !isDeepStrictEqual(outcomeOf(row), outcomeOf(reversed)) }
  }

  /** Until when a payment can be paid, and when the sweeper looks at it. They are stored with the gateway's id. */
  #timesOf(
    { couponHeldUntil }: PaymentRow,
    { expiresAt, status }: GatewayPayment,
  ): { readonly expiresAt?: Date; readonly checkAt?: Date } {
    if (!isOpen(status)) return {}
    const now = this.#dependencies.clock.now()
    const latest = couponHeldUntil === null ? Number.POSITIVE_INFINITY : Date.parse(couponHeldUntil)
    const end = Math.min(expiresAt ?? now + OPEN_MS, latest)
    return { expiresAt: new Date(end), checkAt: new Date(now + FIRST_CHECK_MS) }
  }

  async #move(tx: Transaction, row: PaymentRow, seen: GatewayPayment, cause: Cause): Promise<PaymentRow> {
    if (seen.status === 'succeeded') {
      if (mayBecome(row.status, 'succeeded') && row.status !== 'disputed') return this.#succeed(tx, row, seen, cause)
      return seen.received > row.receivedAmount ? this.#creditMore(tx, row, seen) : row
    }
    const hasEnded = !isOpen(row.status)
    if (hasEnded || seen.status === row.status) return row
    const isOver = seen.status === 'failed' || seen.status === 'cancelled' || seen.status === 'expired'
    const moved = await this.#become(
      tx,
      row,
      seen.status,
      {
        failureCode: seen.failure?.code ?? null,
        failureMessage: seen.failure?.message ?? null,
        ...(isOver && { checkAt: checkAfterEnd(row, this.#dependencies.clock.now()) }),
      },
      cause,
    )
    if (isOver) await this.#dependencies.purposes.find(moved.purpose)?.failed?.(tx, purposePayment(moved))
    return moved
  }

  /**
   * The money has arrived. If it pays for the purpose, that is granted, and what is too much goes to the wallet. If the
   * payment had ended, or less has arrived, or the purpose no longer exists, all of it goes to the wallet.
   */
  async #succeed(tx: Transaction, row: PaymentRow, seen: GatewayPayment, cause: Cause): Promise<PaymentRow> {
    const { clock, purposes } = this.#dependencies
    const { currency } = row
    const isPaid = isOpen(row.status) && seen.received >= row.amount
    const purpose = purposes.find(row.purpose)
    const isGranted = isPaid && (await purpose?.settle(tx, purposePayment(row))) === true
    const over = seen.received - row.amount
    const toWallet = (amount: number) => inWallet(row.userId, { amount, currency })
    const credits = isGranted ? [...row.credits, ...(over > 0 ? [toWallet(over)] : [])] : [toWallet(seen.received)]
    await this.#post(tx, row, `payment:${row.id}`, credits, seen.received)
    const changes = {
      receivedAmount: seen.received,
      settledTo: isGranted ? ('purpose' as const) : ('wallet' as const),
      settledAt: new Date(clock.now()),
      failureCode: null,
      failureMessage: null,
      checkAt: checkAfterEnd(row, clock.now()),
    }
    if (!isPaid && isOpen(row.status)) await purpose?.failed?.(tx, purposePayment(row))
    return this.#become(tx, row, 'succeeded', changes, cause)
  }

  /** More has arrived for a payment that was settled before. */
  async #creditMore(tx: Transaction, row: PaymentRow, seen: GatewayPayment): Promise<PaymentRow> {
    const more = seen.received - row.receivedAmount
    const credit = inWallet(row.userId, { amount: more, currency: row.currency })
    await this.#post(tx, row, `payment:${row.id}:${seen.received}`, [credit], more)
    return this.#update(tx, row, { receivedAmount: seen.received })
  }

  async #post(tx: Transaction, row: PaymentRow, reference: string, credits: readonly Line[], amount: number) {
    const isTopUp = credits.every(({ account }) => account.kind === 'wallet')
    const kind = row.gateway === 'wallet' ? 'wallet_payment' : isTopUp ? 'top_up' : 'payment'
    await this.#dependencies.ledger.post(tx, { kind, reference, lines: [paidFrom(row, amount), ...credits] })
  }

  async #become(
    tx: Transaction,
    row: PaymentRow,
    toStatus: PaymentStatusName,
    changes: Parameters<typeof payments.update>[2],
    cause: Cause,
  ): Promise<PaymentRow> {
    if (toStatus !== row.status) {
      if (!mayBecome(row.status, toStatus)) throw new Error(`a payment cannot become ${toStatus} from ${row.status}`)
      await recordChange(tx, this.#dependencies.clock, row.id, row.status, toStatus, cause)
    }
    return this.#update(tx, row, { ...changes, status: toStatus })
  }

  async #update(
    tx: Transaction,
    { id }: PaymentRow,
    changes: Parameters<typeof payments.update>[2],
  ): Promise<PaymentRow> {
    const updatedAt = new Date(this.#dependencies.clock.now())
    const [row] = await payments.updateReturning(tx, { id }, { ...changes, updatedAt })
    return row as PaymentRow
  }
}

/** Writes who or what has moved a payment. */
export async function recordChange(
  sql: Sql,
  clock: Clock,
  paymentId: string,
  fromStatus: PaymentStatusName | null,
  toStatus: PaymentStatusName,
  { actorId, by, reason }: Cause,
): Promise<void> {
  const now = clock.now()
  await paymentChanges.insert(sql, {
    id: uuidv7(now),
    paymentId,
    fromStatus,
    toStatus,
    cause: by,
    actorId: actorId ?? null,
    reason: reason ?? null,
    createdAt: new Date(now),
  })
}

/** A payment, as its purpose sees it. */
export function purposePayment(row: PaymentRow): PurposePayment {
  const { amount, currency, details, gateway, id, input, reference, userId } = row
  return { id, userId, reference, gateway, total: { amount, currency }, input, details }
}

/** The fields of a payment whose change is a change of its outcome. */
function outcomeOf(row: PaymentRow) {
  const { failureCode, gatewayReference, receivedAmount, refundedAmount, settledTo, status } = row
  return { failureCode, gatewayReference, receivedAmount, refundedAmount, settledTo, status }
}

/** Why the gateway's reply cannot be about this payment. Undefined if it can. */
function contradictionOf(row: PaymentRow, { paymentId, reference, total }: GatewayPayment): string | undefined {
  if (row.gatewayReference !== null && row.gatewayReference !== reference) {
    return `The payment is ${row.gatewayReference} at the gateway, not ${reference}.`
  }
  if (paymentId !== undefined && paymentId !== row.id) return `The gateway has it as another payment, ${paymentId}.`
  if (total.amount !== row.amount || total.currency !== row.currency) {
    return `It is about ${total.amount} ${total.currency} instead of ${row.amount} ${row.currency}.`
  }
  return undefined
}
