import type { Clock } from '../core/clock.ts'
import type { WatchedSwitches } from '../core/service-switch.ts'
import type { Sql, SqlValue } from '../core/sql.ts'
import type { Database } from '../db/database.ts'
import { NOT_WAITED_FOR } from './ledger.ts'

export interface HoldingOptions {
  readonly database: Database
  readonly clock: Clock
  readonly switches: Pick<WatchedSwitches, 'isOn' | 'onChange'>
  /** The service of each job that waits while its service is switched off, by the name of the job. */
  readonly serviceOf: ReadonlyMap<string, string>
  /** How often to look for held jobs without a change: another node may have held them just after it. */
  readonly everyMs: number
}

/** Maximum number of rows per statement. */
const AT_ONCE = 1_000

/**
 * Due rows of held jobs. Written by hand, like the next two: a claim with `skip locked`. One statement for each of the two
 * partial indexes of waiting rows.
 */
const holdDue = (line: 'is null' | 'is not null') => `
  with due as (
    select id from outbox where state = 'waiting' and line ${line} and run_at <= $1 and name = any($2)
    order by run_at limit ${AT_ONCE} for update skip locked)
  update outbox o set state = 'held', updated_at = $1 from due, ${NOT_WAITED_FOR} where o.id = due.id
  returning o.id`

/** For a row that a worker was given. If another attempt still runs, it can end the job. */
const HOLD_GIVEN = `update outbox set state = 'held', updated_at = $1 where id = $2 and state in ('queued', 'running')`

const RELEASE = `
  with picked as (
    select id from outbox where state = 'held' and name <> all($2) limit ${AT_ONCE} for update skip locked)
  update outbox o set state = 'waiting', updated_at = $1 from picked, ${NOT_WAITED_FOR} where o.id = picked.id
  returning o.id`

/**
 * Keeps the jobs of services that are switched off from running. A due row gets the state `held`, so that no claim has to
 * skip it, and becomes `waiting` again when its service is switched on. It keeps its time, key and attempts.
 */
export class Holding {
  readonly #options: HoldingOptions
  readonly #end: () => void
  /** When held rows are looked for again; monotonic milliseconds. */
  #releaseAt = 0

  /** @param onChange called when a service was switched on or off */
  constructor(options: HoldingOptions, onChange: () => void) {
    this.#options = options
    this.#end = options.switches.onChange(() => {
      this.#releaseAt = 0
      onChange()
    })
  }

  /** Holds and releases due rows. @returns whether more rows may be waiting for it */
  async apply(): Promise<boolean> {
    const { clock, database, everyMs } = this.#options
    const names = this.#names()
    const now = new Date(clock.now())
    let more = false
    if (clock.monotonic() >= this.#releaseAt) {
      this.#releaseAt = clock.monotonic() + everyMs
      if (await isFull(database, RELEASE, [now, names])) {
        this.#releaseAt = 0
        more = true
      }
    }
    if (names.length === 0) return more
    const [alone, inLine] = [
      await isFull(database, holdDue('is null'), [now, names]),
      await isFull(database, holdDue('is not null'), [now, names]),
    ]
    return more || alone || inLine
  }

  /** Holds a job that a worker was given, if its service is switched off. @returns whether it is held */
  async hold(id: string, name: string): Promise<boolean> {
    if (!this.#isHeld(name)) return false
    const { clock, database } = this.#options
    await database.rows(HOLD_GIVEN, [new Date(clock.now()), id])
    return true
  }

  close(): void {
    this.#end()
  }

  #isHeld(name: string): boolean {
    const service = this.#options.serviceOf.get(name)
    return service !== undefined && !this.#options.switches.isOn(service)
  }

  #names(): string[] {
    return [...this.#options.serviceOf.keys()].filter((name) => this.#isHeld(name))
  }
}

async function isFull(sql: Sql, text: string, values: readonly SqlValue[]): Promise<boolean> {
  return (await sql.rows(text, values)).length === AT_ONCE
}
