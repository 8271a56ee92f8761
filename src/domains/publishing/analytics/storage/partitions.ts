import type { Sql } from '../../../../core/sql.ts'

/** How many months ahead partitions are made. */
const AHEAD = 3

/**
 * The monthly partitions of `analytics_samples`. They are made ahead by a schedule, and by the recorder for months that
 * the schedule does not know, such as those of late figures.
 */
export class SamplePartitions {
  /** Months that exist, as `YYYY-MM`. They are never dropped while the service runs. */
  readonly #known = new Set<string>()

  /** Makes the partitions of the times, in milliseconds. */
  async ensure(sql: Sql, times: Iterable<number>): Promise<void> {
    const months = new Set<string>()
    for (const at of times) months.add(new Date(at).toISOString().slice(0, 7))
    for (const month of months) {
      if (!this.#known.has(month)) await this.#make(sql, month)
    }
  }

  /** Makes the partitions of this month and of the next ones. */
  async prepare(sql: Sql, now: number): Promise<void> {
    const date = new Date(now)
    const first = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
    const times = Array.from({ length: AHEAD + 1 }, (_, ahead) => monthAfter(first, ahead))
    await this.ensure(sql, times)
    for (const at of times) this.#known.add(new Date(at).toISOString().slice(0, 7))
  }

  /** Remembers the months of a transaction that has committed. */
  committed(times: Iterable<number>): void {
    for (const at of times) this.#known.add(new Date(at).toISOString().slice(0, 7))
  }

  async #make(sql: Sql, month: string): Promise<void> {
    const from = `${month}-01T00:00:00Z`
    const to = new Date(monthAfter(Date.parse(from), 1)).toISOString()
    const name = `analytics_samples_${month.replace('-', '_')}`
    const found = await sql.row<{ found: boolean }>('select to_regclass($1) is not null as found', [name])
    if (found?.found === true) return
    // Nodes that make the same partition wait for each other. The names follow from numbers only.
    await sql.run(`select pg_advisory_xact_lock(hashtext('analytics_samples'))`)
    await sql.run(
      `create table if not exists ${name} partition of analytics_samples for values from ('${from}') to ('${to}')`,
    )
  }
}

function monthAfter(first: number, count: number): number {
  const date = new Date(first)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + count, 1)
}
