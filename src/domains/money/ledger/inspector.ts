import { DAY, HOUR, MINUTE, SECOND, type Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/id.ts'
import type { Logger } from '../../../core/log.ts'
import type { Sql } from '../../../core/sql.ts'
import { lessThan } from '../../../db/condition.ts'
import type { Database } from '../../../db/database.ts'
import type { FAULT_KINDS, LedgerReportData } from './schemas.ts'
import { ledgerChecks } from './tables.ts'

/** Something in the ledger that does not add up. */
export interface Fault {
  readonly kind: keyof typeof FAULT_KINDS
  readonly subjectId: string
  readonly expectedAmount: number
  readonly foundAmount: number
}

/** The check reads the whole ledger. */
const TIMEOUT_MS = HOUR
const LOOK_MS = 5 * MINUTE
const KEPT_MS = 90 * DAY

/**
 * Checks every night that the ledger adds up. The database refuses entries that do not, so a fault means that somebody
 * went around its rules, or that a backup was restored in part. Every node reads the result of the last check and
 * reports it: in the log, as metrics, in readiness, and to administrators.
 */
export class LedgerInspector {
  readonly #database: Database
  readonly #clock: Clock
  readonly #log: Logger
  #timer: NodeJS.Timeout | undefined
  #last: LedgerReportData = { checkedAt: null, accountsCount: 0, linesCount: 0, faults: [] }

  constructor(database: Database, clock: Clock, log: Logger) {
    this.#database = database
    this.#clock = clock
    this.#log = log
  }

  /** Checks the whole ledger, and keeps the result. */
  async check(): Promise<LedgerReportData> {
    const { accountsCount, faults, linesCount } = await this.#database.transaction(async (tx) => {
      await tx.run(`select set_config('statement_timeout', $1, true)`, [String(TIMEOUT_MS)])
      const size = await tx.row<{ accounts: number; lines: number }>(
        'select (select count(*) from ledger_accounts) as accounts, (select count(*) from ledger_lines) as lines',
      )
      // Each statement compares what one snapshot shows, so entries that are posted meanwhile do not matter.
      const found: Fault[] = []
      for (const statement of FAULTS) found.push(...(await faultsOf(tx, statement)))
      return { accountsCount: size?.accounts ?? 0, linesCount: size?.lines ?? 0, faults: found }
    })
    const now = this.#clock.now()
    const createdAt = new Date(now)
    await ledgerChecks.insert(this.#database, { id: uuidv7(now), accountsCount, linesCount, faults, createdAt })
    await ledgerChecks.delete(this.#database, { createdAt: lessThan(new Date(now - KEPT_MS)) })
    for (const fault of faults) this.#log.error({ fault }, 'the ledger does not add up')
    return this.look()
  }

  /** The result of the last check on any node. */
  async look(): Promise<LedgerReportData> {
    const [row] = await ledgerChecks.find(this.#database, {}, { orderBy: ['id desc'], limit: 1 })
    if (row !== undefined) {
      const { accountsCount, createdAt, faults, linesCount } = row
      this.#last = { checkedAt: createdAt, accountsCount, linesCount, faults: [...faults] }
    }
    return this.#last
  }

  /** What the last check found, as this node has last seen it. */
  faultsCount(): number {
    return this.#last.faults.length
  }

  /** Seconds since the last check, as this node has last seen it; 0 before the first one. */
  ageSeconds(): number {
    const { checkedAt } = this.#last
    return checkedAt === null ? 0 : Math.max(0, Math.round((this.#clock.now() - Date.parse(checkedAt)) / SECOND))
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.look().catch((error: unknown) => this.#log.warn({ error }, 'the check of the ledger could not be read'))
    }, LOOK_MS)
    this.#timer.unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }
}

async function faultsOf(sql: Sql, { kind, text }: (typeof FAULTS)[number]): Promise<Fault[]> {
  const rows = await sql.rows<{ id: string; expected: number; actual: number }>(text)
  return rows.map(({ actual, expected, id }) => ({
    kind,
    subjectId: id,
    expectedAmount: expected,
    foundAmount: actual,
  }))
}

const FAULTS = [
  {
    kind: 'balance',
    text: `
      select account.id, account.balance as actual, coalesce(sum(line.amount), 0) as expected
      from ledger_accounts account left join ledger_lines line on line.account_id = account.id
      group by account.id having account.balance <> coalesce(sum(line.amount), 0)
      order by account.id limit 100`,
  },
  {
    kind: 'entry',
    text: `
      select entry_id as id, sum(amount) as actual, 0 as expected from ledger_lines
      group by entry_id, unit having sum(amount) <> 0 order by entry_id limit 100`,
  },
  {
    kind: 'lots',
    text: `
      select user_id as id, sum(remaining) as actual, sum(balance) as expected
      from (
        select user_id, remaining, 0 as balance from credit_lots where remaining > 0
        union all select owner_id, 0, balance from ledger_accounts where kind = 'credits'
      ) as both_sides
      group by user_id having sum(remaining) <> sum(balance)
      order by user_id limit 100`,
  },
  {
    kind: 'holds',
    text: `
      select lot_id as id, sum(reserved) as actual, sum(held) as expected
      from (
        select id as lot_id, reserved, 0 as held from credit_lots where reserved > 0
        union all
        select hold.lot_id, 0, hold.amount
        from credit_holds hold join credit_reservations reservation on reservation.id = hold.reservation_id
        where reservation.status = 'open'
      ) as both_sides
      group by lot_id having sum(reserved) <> sum(held)
      order by lot_id limit 100`,
  },
] as const
