import type { Clock } from '../../../../../core/clock.ts'
import type { Database } from '../../../../../db/database.ts'
import { atLeast } from '../../../../../db/condition.ts'
import { tokenInvoices } from '../../tables.ts'
import type { ChainData } from './chain.ts'

export interface TokenInvoice {
  readonly address: string
  readonly paymentId: string
  readonly data: ChainData
}

/** The addresses of invoices in tokens. Each has a number, which its key is derived with and which is never used again. */
export class InvoiceAddresses {
  readonly #database: Database
  readonly #clock: Clock

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  /** The address of a payment. @param make makes it of its number; called when there is none yet */
  async of(
    coin: string,
    paymentId: string,
    make: (index: number) => Promise<Omit<TokenInvoice, 'paymentId'>>,
  ): Promise<TokenInvoice> {
    for (;;) {
      const known = await tokenInvoices.first(this.#database, { paymentId })
      if (known !== undefined) return known
      const [last] = await tokenInvoices.find(this.#database, {}, { orderBy: ['index desc'], limit: 1 })
      const index = (last?.index ?? -1) + 1
      const made = await make(index)
      const createdAt = new Date(this.#clock.now())
      // The second of two processes tries the next number.
      await tokenInvoices.insert(
        this.#database,
        { index, coin, paymentId, ...made, createdAt },
        { ignoreConflict: true },
      )
    }
  }

  /** Those that were made at a time or later. */
  since(coin: string, time: number): Promise<readonly TokenInvoice[]> {
    return tokenInvoices.find(
      this.#database,
      { coin, createdAt: atLeast(new Date(time)) },
      { columns: ['address', 'paymentId', 'data'] },
    )
  }
}
