import type { Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Sql } from '../../../core/sql.ts'
import { accountId, type Account } from './accounts.ts'
import { InsufficientCredits, InsufficientFunds } from './errors.ts'
import { sum } from './rounding.ts'
import type { EntryKind } from './schemas.ts'
import { ledgerAccounts, ledgerEntries, ledgerLines } from './tables.ts'

/** One line of an entry. */
export interface Line {
  readonly account: Account
  /** In minor units, or in credits. Positive amounts increase what we owe or have earned; see `Account`. */
  readonly amount: number
}

/** What to post. */
export interface Posting {
  readonly kind: EntryKind
  /** The name of what happened, such as `payment:<id>`. The same reference is posted once. */
  readonly reference: string
  readonly reason?: string
  /** The administrator who posts it. */
  readonly actorId?: string
  /** Add up to zero in each unit. Lines of zero are left out. */
  readonly lines: readonly Line[]
}

export interface Posted {
  readonly entryId: string
  /** The reference had been posted before, so nothing was written. */
  readonly repeated: boolean
}

/** A reference was posted before, with other lines. That is a bug of the caller. */
export class ReferenceReusedError extends Error {
  override readonly name = 'ReferenceReusedError'

  constructor(reference: string) {
    super(`the reference ${reference} was posted before with another kind or other lines`)
  }
}

/**
 * The ledger: double entry, append-only. This class is the only writer of entries and lines. The rules are enforced by
 * the database (`src/db/migrations/baseline/money.ts`).
 */
export class Book {
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Posts an entry. With a reference that was posted before, it writes nothing and returns the first entry.
   *
   * The balance of a user changes, and its row is locked, at once. Balances of the house change at the commit.
   * @param sql an open transaction. It cannot go on after an error.
   * @throws AppError insufficient_funds or insufficient_credits when a balance would become negative
   * @throws RangeError for lines that do not add up to zero; ReferenceReusedError
   */
  async post(sql: Sql, posting: Posting): Promise<Posted> {
    const lines = checked(posting.lines)
    const { actorId, kind, reason, reference } = posting
    const now = this.#clock.now()
    const createdAt = new Date(now)
    const id = uuidv7(now)
    const rows = lines.map(({ account, amount }) => {
      const { kind: type, ownerId, unit } = account
      return { id: uuidv7(now), account_id: accountId(account), house: ownerId === null ? type : null, unit, amount }
    })
    const owned = new Map(
      lines.flatMap(({ account }) => (account.ownerId === null ? [] : [[accountId(account), account]])),
    )
    // Sent at once. The lines are written only if the entry was.
    const [written, ...others] = await Promise.allSettled([
      ledgerEntries.insert(
        sql,
        { id, kind, reference, reason: reason ?? null, actorId: actorId ?? null, lineCount: lines.length, createdAt },
        { ignoreConflict: true },
      ),
      ledgerAccounts.insertAll(
        sql,
        [...owned].map(([account, { kind: type, ownerId, unit }]) => {
          return { id: account, kind: type, ownerId, unit, createdAt }
        }),
        { ignoreConflict: true },
      ),
      sql.run(INSERT_LINES, [id, JSON.stringify(rows)]),
    ])
    // The first failure is the cause of those after it.
    for (const sent of [written, ...others]) if (sent.status === 'rejected') throw refused(sent.reason, lines)
    const isNew = written.status === 'fulfilled' && written.value === 1
    return isNew ? { entryId: id, repeated: false } : this.#first(sql, posting, rows)
  }

  /** The balance of an account; 0 if nothing was posted to it. */
  async balanceOf(sql: Sql, account: Account): Promise<number> {
    const row = await ledgerAccounts.first(sql, { id: accountId(account) }, { columns: ['balance'] })
    return row?.balance ?? 0
  }

  /** Locks an account until the transaction ends, and creates it if it does not exist yet. @returns its balance */
  async lock(sql: Sql, account: Account): Promise<number> {
    const id = accountId(account)
    const { kind, ownerId, unit } = account
    const createdAt = new Date(this.#clock.now())
    const [, row] = await Promise.all([
      ledgerAccounts.insert(sql, { id, kind, ownerId, unit, createdAt }, { ignoreConflict: true }),
      ledgerAccounts.first(sql, { id }, { columns: ['balance'], lock: 'for no key update' }),
    ])
    return row?.balance ?? 0
  }

  async #first(sql: Sql, { kind, reference }: Posting, rows: readonly LineRow[]): Promise<Posted> {
    const first = await ledgerEntries.first(sql, { reference }, { columns: ['id', 'kind'] })
    const lines = first && (await ledgerLines.find(sql, { entryId: first.id }, { columns: ['accountId', 'amount'] }))
    const text = (all: readonly string[]) => all.toSorted((a, b) => (a < b ? -1 : 1)).join()
    const before = text((lines ?? []).map((line) => `${line.accountId} ${line.amount}`))
    const now = text(rows.map((line) => `${line.account_id} ${line.amount}`))
    if (first?.kind !== kind || before !== now) throw new ReferenceReusedError(reference)
    return { entryId: first.id, repeated: true }
  }
}

interface LineRow {
  readonly account_id: string
  readonly amount: number
}

/**
 * In the order of accounts, so that entries about the same users lock them in the same order. Written by hand: the core of
 * the ledger, which `npm run bench:payments` measures, and its lines come from one JSON parameter.
 */
const INSERT_LINES = `
  insert into ledger_lines (id, entry_id, account_id, house, unit, amount, created_at)
  select line.id, entry.id, line.account_id, line.house, line.unit, line.amount, entry.created_at
  from ledger_entries entry,
    json_to_recordset($2) as line (id uuid, account_id uuid, house text, unit text, amount bigint)
  where entry.id = $1 order by line.account_id`

function checked(given: readonly Line[]): readonly Line[] {
  const lines = given.filter(({ amount }) => amount !== 0)
  if (lines.length < 2) throw new RangeError('an entry has at least two lines')
  for (const unit of new Set(lines.map(({ account }) => account.unit))) {
    const amounts = lines.filter(({ account }) => account.unit === unit).map(({ amount }) => amount)
    const total = sum(amounts)
    if (total !== 0) throw new RangeError(`the lines of an entry add up to ${total} ${unit} instead of 0`)
  }
  return lines
}

/** Names the account that cannot be charged. The transaction has failed, so its balance cannot be read any more. */
function refused(error: unknown, lines: readonly Line[]): unknown {
  if ((error as { constraint?: string }).constraint !== 'ledger_accounts_not_below_zero') return error
  const charged = lines.find(({ account, amount }) => account.ownerId !== null && amount < 0)
  if (charged === undefined) return error
  const amount = -charged.amount
  if (charged.account.kind === 'credits') return InsufficientCredits({ details: { amount }, cause: error })
  return InsufficientFunds({ details: { amount, currency: charged.account.unit }, cause: error })
}
