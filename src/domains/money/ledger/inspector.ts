import { sql as raw, type Expression, type SelectQueryBuilder } from 'kysely'
import { DAY, HOUR, MINUTE, SECOND, type Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Logger } from '../../../core/log.ts'
import type { Sql } from '../../../core/sql.ts'
import { lessThan } from '../../../db/condition.ts'
import type { Database } from '../../../db/database.ts'
import { query } from '../../../db/query.ts'
import type { FAULT_KINDS, LedgerReportData } from './schemas.ts'
import { creditHolds, creditLots, creditReservations, ledgerAccounts, ledgerChecks, ledgerLines } from './tables.ts'

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
/** The most faults of one kind that a report has. */
const MAX_FAULTS = 100

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
      // Written by hand: a setting of the transaction.
      await tx.run(`select set_config('statement_timeout', $1, true)`, [String(TIMEOUT_MS)])
      const accounts = await ledgerAccounts.count(tx, {})
      const lines = await ledgerLines.count(tx, {})
      // Each statement compares what one snapshot shows, so entries that are posted meanwhile do not matter.
      const found: Fault[] = []
      for (const check of CHECKS) found.push(...(await faultsOf(tx, check)))
      return { accountsCount: accounts, linesCount: lines, faults: found }
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

async function faultsOf(sql: Sql, { faulty, kind }: (typeof CHECKS)[number]): Promise<Fault[]> {
  const rows = await faulty.rows(sql, { limit: MAX_FAULTS })
  return rows.map(({ actual, expected, id }) => ({
    kind,
    subjectId: id,
    expectedAmount: expected,
    foundAmount: actual,
  }))
}

/** Accounts whose balance is not the sum of their lines. */
const wrongBalances = query({ ledgerAccounts, ledgerLines }, (db, $: { limit: number }) =>
  db
    .selectFrom('ledgerAccounts as account')
    .leftJoin('ledgerLines as line', 'line.accountId', 'account.id')
    .select((e) => ['account.id', 'account.balance as actual', total(e.ref('line.amount')).as('expected')])
    .groupBy('account.id')
    .having((e) => e('account.balance', '<>', total(e.ref('line.amount'))))
    .orderBy('account.id')
    .limit($.limit),
)

/** Entries whose lines do not add up to zero. */
const wrongEntries = query({ ledgerLines }, (db, $: { limit: number }) =>
  db
    .selectFrom('ledgerLines')
    .select((e) => ['entryId as id', total(e.ref('amount')).as('actual'), e.lit(0).as('expected')])
    .groupBy(['entryId', 'unit'])
    .having((e) => e(total(e.ref('amount')), '<>', e.lit(0)))
    .orderBy('entryId')
    .limit($.limit),
)

/** Users whose lots do not have the balance of their account. */
const wrongLots = query({ creditLots, ledgerAccounts }, (db, $: { limit: number }) => {
  const lots = db
    .selectFrom('creditLots')
    .select((e) => ['userId as id', 'remaining as actual', e.lit(0).$castTo<number>().as('expected')])
    .where((e) => e('remaining', '>', e.lit(0)))
  const balances = db
    .selectFrom('ledgerAccounts')
    .select((e) => [
      e.ref('ownerId').$notNull().as('id'),
      e.lit(0).$castTo<number>().as('actual'),
      'balance as expected',
    ])
    .where('kind', '=', raw.lit('credits'))
  return differing(db.selectFrom(lots.unionAll(balances).as('sides')), $.limit)
})

/** Lots that do not keep what open reservations hold of them. */
const wrongHolds = query({ creditHolds, creditLots, creditReservations }, (db, $: { limit: number }) => {
  const kept = db
    .selectFrom('creditLots')
    .select((e) => ['id', 'reserved as actual', e.lit(0).$castTo<number>().as('expected')])
    .where((e) => e('reserved', '>', e.lit(0)))
  const held = db
    .selectFrom('creditHolds as hold')
    .innerJoin('creditReservations as reservation', 'reservation.id', 'hold.reservationId')
    .select((e) => ['hold.lotId as id', e.lit(0).$castTo<number>().as('actual'), 'hold.amount as expected'])
    .where('reservation.status', '=', raw.lit('open'))
  return differing(db.selectFrom(kept.unionAll(held).as('sides')), $.limit)
})

interface Side {
  id: string
  actual: number
  expected: number
}

/** The ids for which the two sides have different sums. */
function differing(sides: SelectQueryBuilder<{ sides: Side }, 'sides', object>, limit: number) {
  return sides
    .select((e) => ['id', e.fn.sum<number>('actual').as('actual'), e.fn.sum<number>('expected').as('expected')])
    .groupBy('id')
    .having((e) => e(e.fn.sum('actual'), '<>', e.fn.sum('expected')))
    .orderBy('id')
    .limit(limit)
}

/** A sum that is 0 without rows. */
function total(amount: Expression<number | null>) {
  return raw<number>`coalesce(sum(${amount}), 0)`
}

const CHECKS = [
  { kind: 'balance', faulty: wrongBalances },
  { kind: 'entry', faulty: wrongEntries },
  { kind: 'lots', faulty: wrongLots },
  { kind: 'holds', faulty: wrongHolds },
] as const
