import type { Sql } from '../../../core/sql.ts'
import type { Database } from '../../../db/database.ts'
import type { Foundation } from '../../../foundation.ts'
import type { Account } from './accounts.ts'
import { Book, type Posted, type Posting } from './book.ts'
import { creditUses, type CreditUse } from './credit-uses.ts'
import { Credits, type MonthOf } from './credits.ts'
import { LedgerInspector } from './inspector.ts'
import { Wallets } from './wallet.ts'

/** Money and credits: the only writer of both. */
export class Ledger {
  readonly credits: Credits
  readonly wallet: Wallets
  readonly inspector: LedgerInspector
  readonly #book: Book
  readonly #database: Database

  constructor({ clock, database, log }: Pick<Foundation, 'clock' | 'database' | 'log'>, monthOf: MonthOf) {
    this.#database = database
    this.#book = new Book(clock)
    this.credits = new Credits(this.#book, clock, monthOf)
    this.wallet = new Wallets(database, this.#book, this.credits, clock)
    this.inspector = new LedgerInspector(database, clock, log)
  }

  /**
   * Posts an entry; see `Book.post`.
   * @param sql an open transaction
   * @throws AppError insufficient_funds, insufficient_credits
   */
  post(sql: Sql, posting: Posting): Promise<Posted> {
    return this.#book.post(sql, posting)
  }

  /** The balance of an account. That of an account of the house lacks what the open transaction has posted. */
  balanceOf(sql: Sql, account: Account): Promise<number> {
    return this.#book.balanceOf(sql, account)
  }

  /** What a user's credits were used for, by day and work. `from` is inclusive, `to` is exclusive. */
  creditUses(userId: string, from: Date, to: Date): Promise<CreditUse[]> {
    return creditUses(this.#database, userId, from, to)
  }

  /** Ends reservations that nobody has ended, and takes away credits that have expired. */
  async sweep(signal: AbortSignal): Promise<void> {
    for (const reservation of await this.credits.overdue(this.#database)) {
      if (signal.aborted) return
      await this.#database.transaction((tx) => this.credits.release(tx, reservation))
    }
    // Read after the releases, because released credits may have expired.
    for (const user of await this.credits.withExpired(this.#database)) {
      if (signal.aborted) return
      await this.#database.transaction((tx) => this.credits.expire(tx, user))
    }
  }
}
