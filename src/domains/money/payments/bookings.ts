import type { Caller } from '../../../core/caller.ts'
import { Conflict, NotFound } from '../../../core/errors.ts'
import type { Database } from '../../../db/database.ts'
import type { PaymentData } from './schemas.ts'
import type { Settlement } from './settlement.ts'
import { payments } from './tables.ts'
import { paymentView } from './views.ts'

/** Bank transfers that administrators book. */
export class Bookings {
  readonly #database: Database
  readonly #settlement: Settlement

  constructor(database: Database, settlement: Settlement) {
    this.#database = database
    this.#settlement = settlement
  }

  /**
   * Books what has arrived for a payment. Less than the price goes to the wallet, and so does what is too much. The
   * change of the payment keeps the administrator and the reason.
   * @throws AppError not_found; conflict for a payment that is booked already, or not made by transfer
   */
  async book(
    { userId: actorId }: Caller,
    id: string,
    { reason, receivedAmount }: { readonly receivedAmount: number; readonly reason: string },
  ): Promise<PaymentData> {
    const cause = { by: 'administrator', actorId, reason } as const
    const booked = await this.#database.transaction(async (tx) => {
      const known = await payments.first(tx, { id }, { columns: ['gateway'] })
      if (known === undefined) throw NotFound()
      if (known.gateway !== 'manual') throw Conflict({ message: 'Only payments by bank transfer are booked by hand.' })
      const row = await this.#settlement.lock(tx, id)
      if (row.settledAt !== null) throw Conflict({ message: 'This payment is booked already.' })
      const { amount, currency, gatewayReference, reference } = row
      const total = { amount, currency }
      const seen = { reference: gatewayReference ?? reference, status: 'succeeded' as const, total, refunds: [] }
      return this.#settlement.apply(tx, row, { ...seen, received: receivedAmount }, cause)
    })
    return paymentView(booked.payment)
  }
}
