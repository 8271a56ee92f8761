import { Cron } from 'croner'
import { sql } from 'kysely'
import { HOUR, type Clock } from '../core/clock.ts'
import type { AnyJob } from '../core/job.ts'
import { anyOf, atMost } from '../db/condition.ts'
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import type { Row } from '../db/row.ts'
import type { JobService } from './service.ts'
import { jobSchedules, type JobSchedule } from './tables.ts'

/** Stores the next times of schedules that are new, have changed, or were written with a clock that was ahead. */
const writeTimes = query({ jobSchedules }, (db, $: { rows: string }) =>
  db
    .insertInto('jobSchedules')
    .columns(['name', 'cron', 'nextAt', 'updatedAt'])
    .expression((e) =>
      e
        .selectFrom(sql<Row<typeof JobSchedule>>`json_populate_recordset(null::job_schedules, ${$.rows}::json)`.as('s'))
        .select(['s.name', 's.cron', 's.nextAt', 's.updatedAt']),
    )
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet((e) => ({
          cron: e.ref('excluded.cron'),
          nextAt: e.ref('excluded.nextAt'),
          updatedAt: e.ref('excluded.updatedAt'),
        }))
        .where((e) =>
          e.or([
            e('jobSchedules.cron', '!=', e.ref('excluded.cron')),
            sql<boolean>`job_schedules.updated_at > excluded.updated_at + interval '1 hour'`,
          ]),
        ),
    ),
)

/**
 * Adds the jobs of schedules that are due. The next time of each schedule is in the database, so only one
 * node adds the job. If several times passed while no node ran, the job is added once. A time that was stored with a
 * clock an hour or more ahead is corrected at the next start, or at once by a node whose own clock was set back.
 */
export class Schedules {
  readonly #database: Database
  readonly #clock: Clock
  readonly #jobs: JobService
  readonly #times: ReadonlyMap<AnyJob, ScheduleTimes>
  /** When `run` was last called. Infinite before the first call, which stores the times. */
  #lookedAt = Number.POSITIVE_INFINITY

  /** @throws when an expression or time zone is invalid, or has no next time */
  constructor(database: Database, clock: Clock, jobs: JobService) {
    this.#database = database
    this.#clock = clock
    this.#jobs = jobs
    const declared = [...jobs.declared.values()].filter(({ cron }) => cron !== undefined)
    this.#times = new Map(declared.map((schedule) => [schedule, new ScheduleTimes(schedule)]))
    for (const times of this.#times.values()) times.after(clock.now())
  }

  get isEmpty(): boolean {
    return this.#times.size === 0
  }

  /** Adds the jobs of schedules that are due. @returns how many */
  async run(): Promise<number> {
    const now = this.#clock.now()
    if (now < this.#lookedAt - HOUR) await this.#prepare(now)
    this.#lookedAt = now
    const rows = await jobSchedules.find(
      this.#database,
      { nextAt: atMost(new Date(now)), name: anyOf([...this.#times.keys()].map(({ name }) => name)) },
      { columns: ['name'] },
    )
    const due = new Set(rows.map(({ name }) => name))
    let added = 0
    for (const [declared, times] of this.#times) {
      if (due.has(declared.name) && (await this.#add(declared, times.after(now), now))) added += 1
    }
    return added
  }

  /** Stores the next times of schedules that are new, have changed, or have a wrong stored time. */
  async #prepare(now: number): Promise<void> {
    const rows = [...this.#times].map(([{ name }, times]) =>
      jobSchedules.toColumns({ name, cron: times.text, nextAt: times.after(now), updatedAt: new Date(now) }),
    )
    await writeTimes.run(this.#database, { rows: JSON.stringify(rows) })
  }

  async #add(declared: AnyJob, nextAt: Date, now: number): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const stillDue = { name: declared.name, nextAt: atMost(new Date(now)) }
      const moved = await jobSchedules.update(tx, stillDue, { nextAt, updatedAt: new Date(now) })
      // Another node has added the job.
      if (moved === 0) return false
      await this.#jobs.add(tx, declared, {}, { key: 'schedule' })
      return true
    })
  }
}

/** Computes the times of a schedule. */
export class ScheduleTimes {
  /** The expression and the time zone. */
  readonly text: string
  readonly #name: string
  readonly #cron: Cron

  /** @throws when the expression or the time zone is invalid */
  constructor({ name, cron = '', timeZone = 'UTC' }: Pick<AnyJob, 'name' | 'cron' | 'timeZone'>) {
    this.text = `${cron} ${timeZone}`
    this.#name = name
    this.#cron = new Cron(cron, { timezone: timeZone })
  }

  /** The first time later than `after`. @throws when there is none */
  after(after: number): Date {
    const at = this.#cron.nextRun(new Date(after))
    if (at === null) throw new Error(`the schedule ${this.#name} has no next time: ${this.text}`)
    return at
  }
}
