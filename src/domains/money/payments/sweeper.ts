import { HOUR, MINUTE, type Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/log.ts'
import type { Database } from '../../../db/database.ts'
import { atMost } from '../../../db/condition.ts'
import type { Charges } from './charges.ts'
import type { GatewayEvents } from './gateway-events.ts'
import type { Gateways } from './gateways/directory.ts'
import { GatewayAway, GatewayRefusal } from './gateways/gateway.ts'
import { isWatched } from './known.ts'
import type { Refunds } from './refunds.ts'
import type { Settlement } from './settlement.ts'
import { isOpen } from './states.ts'
import { paymentRefunds, payments, type PaymentRow, type RefundRow } from './tables.ts'

interface Dependencies {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  readonly gateways: Gateways
  readonly charges: Charges
  readonly events: Pick<GatewayEvents, 'resume'>
  readonly refunds: Refunds
  readonly settlement: Settlement
}

const AT_ONCE = 200
const MAX_WAIT_MS = HOUR

/** Finds out what has become of payments and refunds that nobody has asked about. */
export class PaymentSweeper {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** Looks at everything that is due, oldest first. */
  async sweep(signal?: AbortSignal): Promise<void> {
    const { clock, database } = this.#dependencies
    const due = { checkAt: atMost(new Date(clock.now())) } as const
    const options = { orderBy: ['checkAt asc'] as const, limit: AT_ONCE }
    for (const row of await payments.find(database, due, options)) {
      if (signal?.aborted) return
      await this.#guarded(row.id, () => this.#check(row))
      await this.#postpone(row)
    }
    await this.#dependencies.events.resume(signal)
    for (const refund of await paymentRefunds.find(database, due, options)) {
      if (signal?.aborted) return
      await this.#guarded(refund.paymentId, () => this.#checkRefund(refund))
    }
  }

  async #check(row: PaymentRow): Promise<void> {
    const { charges, clock, gateways, settlement } = this.#dependencies
    if (!isWatched(row, clock.now())) return
    const gateway = gateways.find(row.gateway)
    if (gateway === undefined) return
    const cause = { by: 'sweeper' } as const
    if (row.gatewayReference === null) {
      // The payer never got the data to pay with, and the gateway takes no money on its own.
      const { amount, currency } = row
      const failure = { code: 'not_sent', message: 'The payment was interrupted before it reached the gateway.' }
      const total = { amount, currency }
      await settlement.settle(
        row.id,
        { reference: '', status: 'failed', total, received: 0, failure, refunds: [] },
        cause,
      )
      return
    }
    const { payment, seen } = await charges.lookUp(gateway, row, cause)
    if (seen === undefined || !isOpen(payment.status)) return
    const isExpired = payment.expiresAt !== null && Date.parse(payment.expiresAt) <= clock.now()
    // A charge without the payer that is not confirmed by now was interrupted, and one that was refused stays refused.
    const isAbandoned = payment.offSession && payment.status === 'pending'
    if (isAbandoned) await charges.cancel(gateway, payment, 'failed', cause)
    else if (isExpired) await charges.cancel(gateway, payment, 'expired', cause)
  }

  async #checkRefund(refund: RefundRow): Promise<void> {
    const { clock, database, refunds } = this.#dependencies
    const after = await refunds.send(refund)
    if (after.status !== 'created') return
    await paymentRefunds.update(database, { id: refund.id }, { checkAt: new Date(clock.now() + MAX_WAIT_MS) })
  }

  /** Asks less and less often. */
  async #postpone({ checks, id }: PaymentRow): Promise<void> {
    const { clock, database } = this.#dependencies
    const row = await payments.first(database, { id }, { columns: ['status', 'expiresAt', 'gatewayData'] })
    if (row === undefined) return
    const now = clock.now()
    const next = now + Math.min(MAX_WAIT_MS, MINUTE * 2 ** Math.min(checks, 10))
    const end = row.expiresAt === null || !isOpen(row.status) ? next : Date.parse(row.expiresAt)
    const checkAt = isWatched(row, now) ? new Date(Math.min(next, Math.max(end, now + MINUTE))) : null
    await payments.update(database, { id }, { checkAt, checks: checks + 1 })
  }

  async #guarded(paymentId: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      // It stays due, and is tried again later.
      const isExpected = error instanceof GatewayAway || error instanceof GatewayRefusal
      this.#dependencies.log[isExpected ? 'warn' : 'error']({ error, paymentId }, 'a payment could not be looked up')
    }
  }
}
