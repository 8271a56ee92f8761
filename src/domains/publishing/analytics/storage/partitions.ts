import { DAY, type Clock } from '../../../../core/clock.ts'
import type { Sql, Transaction } from '../../../../core/sql.ts'

/** How many months ahead partitions are made. */
const AHEAD = 3
/** Older months are looked up each time, because they can be dropped. */
const REMEMBERED_MS = 366 * DAY
/** How long dropping waits for queries that run, while others wait behind it. */
const LOCK_WAIT = '2s'

/**
 * The monthly partitions of `analytics_samples`. They are made ahead by a schedule, and by the recorder for months that
 * the schedule does not know, such as those of late figures.
 */
export class SamplePartitions {
  readonly #clock: Clock
  /** Months that exist, as `YYYY-MM`. */
  readonly #known = new Set<string>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Makes the partitions of the times, in milliseconds. */
  async ensure(sql: Sql, times: Iterable<number>): Promise<void> {
    const months = new Set<string>()
    for (const at of times) months.add(new Date(at).toISOString().slice(0, 7))
    for (const month of months) {
      if (!this.#known.has(month)) await this.#make(sql, month)
    }
  }

  /** Makes the partitions of this month and of the next ones. */
  async prepare(sql: Sql): Promise<void> {
    const date = new Date(this.#clock.now())
    const first = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
    const times = Array.from({ length: AHEAD + 1 }, (_, ahead) => monthAfter(first, ahead))
    await this.ensure(sql, times)
    this.committed(times)
  }

  /** Remembers the months of a transaction that has committed. */
  committed(times: Iterable<number>): void {
    const oldest = this.#clock.now() - REMEMBERED_MS
    for (const at of times) if (at > oldest) this.#known.add(new Date(at).toISOString().slice(0, 7))
  }

  /** Looks all months up again, because another database has taken over, which may not have them. */
  forget(): void {
    this.#known.clear()
  }

  /** The partitions of months that have ended before a time. */
  async endedBefore(sql: Sql, at: number): Promise<string[]> {
    // Written by hand, like the statements below: PostgreSQL's catalog, locks and definitions of tables.
    const rows = await sql.rows<{ name: string }>(
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = 'analytics_samples'::regclass order by 1`,
    )
    // The month of the time itself has not ended, and neither has any later one.
    const last = nameOf(new Date(at).toISOString().slice(0, 7))
    return rows.map(({ name }) => name).filter((name) => /^analytics_samples_\d{4}_\d\d$/.test(name) && name < last)
  }

  /** Drops a partition with its samples. Fails if it has to wait for other queries. */
  async drop(tx: Transaction, name: string): Promise<void> {
    await tx.run(`set local lock_timeout = '${LOCK_WAIT}'`)
    await tx.run(`drop table if exists ${name}`)
  }

  async #make(sql: Sql, month: string): Promise<void> {
    const from = `${month}-01T00:00:00Z`
    const to = new Date(monthAfter(Date.parse(from), 1)).toISOString()
    const name = nameOf(month)
    const found = await sql.row<{ found: boolean }>('select to_regclass($1) is not null as found', [name])
    if (found?.found === true) return
    // Nodes that make the same partition wait for each other. The names follow from numbers only.
    await sql.run(`select pg_advisory_xact_lock(hashtext('analytics_samples'))`)
    await sql.run(
      `create table if not exists ${name} partition of analytics_samples for values from ('${from}') to ('${to}')`,
    )
  }
}

function nameOf(month: string): string {
  return `analytics_samples_${month.replace('-', '_')}`
}

function monthAfter(first: number, count: number): number {
  const date = new Date(first)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + count, 1)
}
