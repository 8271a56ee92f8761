import { sql } from 'kysely'
import type { Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import type { BudgetReport } from '../../../platforms/http/platform-http.ts'
import { socialAccountReports, socialAccounts } from './tables.ts'

/** The last report of one budget of an account. */
export interface StoredBudget {
  readonly limit: number | null
  readonly remaining: number
  /** ISO 8601. */
  readonly resetsAt: string
  readonly reportedAt: string
  /** See `BudgetReport`. */
  readonly counts?: BudgetReport['counts']
}

export type BudgetsByName = Readonly<Record<string, StoredBudget>>

/** Reports come with every reply. They are collected this long, so that many calls cause one write. */
const COLLECT_MS = 1_000

/** Stores reports unless the account is gone by now. Reports of other nodes about other budgets stay. */
const storeBudgets = query({ socialAccountReports, socialAccounts }, (db, $: { accountId: string; budgets: string }) =>
  db
    .insertInto('socialAccountReports')
    .columns(['accountId', 'budgets'])
    .expression((e) =>
      e
        .selectFrom('socialAccounts')
        .select(['id', sql<BudgetsByName>`${$.budgets}::jsonb`.as('budgets')])
        .where('id', '=', $.accountId),
    )
    .onConflict((conflict) =>
      conflict.column('accountId').doUpdateSet((e) => ({
        budgets: sql<BudgetsByName>`${e.ref('socialAccountReports.budgets')} || ${e.ref('excluded.budgets')}`,
      })),
    ),
)

/**
 * The last reports of platforms about the budgets of accounts. Each node knows its own reports at once, and those of
 * other nodes from the database.
 */
export class AccountBudgets {
  readonly #sql: Sql
  readonly #clock: Clock
  /** Reports that are not stored yet, by account. */
  readonly #waiting = new Map<string, Map<string, StoredBudget>>()
  #timer: NodeJS.Timeout | undefined
  #storing: Promise<void> = Promise.resolve()

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** Records a report of a call for an account. */
  note(accountId: string, { counts, limit, name, remaining, resetsAt }: BudgetReport): void {
    const known = this.#waiting.get(accountId) ?? new Map<string, StoredBudget>()
    known.set(name, {
      limit: limit ?? null,
      remaining,
      resetsAt: new Date(resetsAt).toISOString(),
      reportedAt: new Date(this.#clock.now()).toISOString(),
      ...(counts !== undefined && { counts }),
    })
    this.#waiting.set(accountId, known)
    this.#timer ??= setTimeout(() => void this.flush(), COLLECT_MS).unref()
  }

  /** The stored reports of an account, with those that are not stored yet. */
  with(accountId: string, stored: BudgetsByName): BudgetsByName {
    const waiting = this.#waiting.get(accountId)
    return waiting === undefined ? stored : { ...stored, ...Object.fromEntries(waiting) }
  }

  /** Stores what is waiting. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#storing = this.#storing.then(() => this.#store())
    return this.#storing
  }

  close(): Promise<void> {
    return this.flush()
  }

  async #store(): Promise<void> {
    for (const [accountId, budgets] of this.#waiting) {
      try {
        await storeBudgets.run(this.#sql, { accountId, budgets: JSON.stringify(Object.fromEntries(budgets)) })
      } catch {
        // The database is away. The next reports are stored, and until then these stay in memory.
        continue
      }
      if (this.#waiting.get(accountId) === budgets) this.#waiting.delete(accountId)
    }
  }
}
