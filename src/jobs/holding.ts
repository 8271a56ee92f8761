import { sql } from 'kysely'
import type { Clock } from '../core/clock.ts'
import type { WatchedSwitches } from '../core/service-switch.ts'
import { anyOf } from '../db/condition.ts'
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import { notWaitedFor } from './ledger.ts'
import { outbox } from './tables.ts'

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

interface Held {
  readonly now: Date
  /** The names of held jobs. */
  readonly names: readonly string[]
}

/**
 * Holds due rows of held jobs. One statement for each of the two partial indexes of waiting rows. States are literals,
 * because PostgreSQL does not use these indexes with parameters.
 */
const holdDue = (line: 'is' | 'is not') =>
  query({ outbox }, (db, $: Held) =>
    db
      .with('due', (due) =>
        due
          .selectFrom('outbox')
          .select('id')
          .where(sql<boolean>`state = 'waiting'`)
          .where('line', line, null)
          .where('runAt', '<=', sql<string>`${$.now}`)
          .where('name', '=', sql<string>`any(${$.names})`)
          .orderBy('runAt')
          .limit(sql.lit(AT_ONCE))
          .forUpdate()
          .skipLocked(),
      )
      .updateTable('outbox as o')
      .from(['due', notWaitedFor])
      .set({ state: 'held', updatedAt: $.now })
      .whereRef('o.id', '=', 'due.id'),
  )

const holdAlone = holdDue('is')
const holdInLine = holdDue('is not')

const release = query({ outbox }, (db, $: Held) =>
  db
    .with('picked', (picked) =>
      picked
        .selectFrom('outbox')
        .select('id')
        .where(sql<boolean>`state = 'held'`)
        .where('name', '<>', sql<string>`all(${$.names})`)
        .limit(sql.lit(AT_ONCE))
        .forUpdate()
        .skipLocked(),
    )
    .updateTable('outbox as o')
    .from(['picked', notWaitedFor])
    .set({ state: 'waiting', updatedAt: $.now })
    .whereRef('o.id', '=', 'picked.id'),
)

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
      if ((await release.run(database, { now, names })) === AT_ONCE) {
        this.#releaseAt = 0
        more = true
      }
    }
    if (names.length === 0) return more
    const alone = await holdAlone.run(database, { now, names })
    const inLine = await holdInLine.run(database, { now, names })
    return more || alone === AT_ONCE || inLine === AT_ONCE
  }

  /** Holds a job that a worker was given, if its service is switched off. @returns whether it is held */
  async hold(id: string, name: string): Promise<boolean> {
    if (!this.#isHeld(name)) return false
    const { clock, database } = this.#options
    // If another attempt still runs, it can end the job.
    const given = { id, state: anyOf(['queued', 'running'] as const) }
    await outbox.update(database, given, { state: 'held', updatedAt: new Date(clock.now()) })
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
