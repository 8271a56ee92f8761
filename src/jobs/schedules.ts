import type { RepeatOptions } from 'bullmq'
import { sql } from 'kysely'
import { HOUR, type Clock } from '../core/clock.ts'
import type { AnyJob } from '../core/job.ts'
import { anyOf, atMost } from '../db/condition.ts'
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import type { Row } from '../db/row.ts'
import type { JobService } from './service.ts'
import { jobSchedules, type JobSchedule } from './tables.ts'

type DueSchedule = Pick<Row<typeof JobSchedule>, 'name' | 'nextAt'>

/** Writes the next times of schedules that are new, that have changed, or whose times were written in the future. */
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

/** Computes the next time of a cron expression, as BullMQ does. */
export type NextTime = (after: number, options: RepeatOptions) => number | undefined

/**
 * Adds the jobs of schedules when their time has come. When that is stands in the database, so that of all nodes one
 * adds the job; a time that passed while no node ran is made up for once. A time that was written under a clock an hour
 * ahead, or more, is none to wait for: it is set right at the next start, or at once by a node whose own clock went back.
 */
export class Schedules {
  readonly #database: Database
  readonly #clock: Clock
  readonly #jobs: JobService
  readonly #declared: readonly AnyJob[]
  /** When it was looked last; nothing before the times were made known. */
  #lookedAt = Number.POSITIVE_INFINITY

  constructor(database: Database, clock: Clock, jobs: JobService) {
    this.#database = database
    this.#clock = clock
    this.#jobs = jobs
    this.#declared = [...jobs.declared.values()].filter((declared) => declared.cron !== undefined)
  }

  get isEmpty(): boolean {
    return this.#declared.length === 0
  }

  /** Adds the jobs of schedules that are due. @returns how many */
  async run(nextTime: NextTime): Promise<number> {
    const now = this.#clock.now()
    if (now < this.#lookedAt - HOUR) await this.#prepare(nextTime, now)
    this.#lookedAt = now
    const due = await jobSchedules.find(
      this.#database,
      { nextAt: atMost(new Date(now)), name: anyOf(this.#declared.map(({ name }) => name)) },
      { columns: ['name', 'nextAt'] },
    )
    let added = 0
    for (const row of due) if (await this.#add(row, nextTime, now)) added += 1
    return added
  }

  /** Makes the times known of schedules that are new, or whose stored time is none to wait for. */
  async #prepare(nextTime: NextTime, now: number): Promise<void> {
    const rows = this.#declared.map((declared) =>
      jobSchedules.toColumns({
        name: declared.name,
        cron: cronOf(declared),
        nextAt: timeAfter(now, declared, nextTime),
        updatedAt: new Date(now),
      }),
    )
    await writeTimes.run(this.#database, { rows: JSON.stringify(rows) })
  }

  async #add({ name, nextAt }: DueSchedule, nextTime: NextTime, now: number): Promise<boolean> {
    const declared = this.#jobs.declared.get(name)
    if (declared === undefined) return false
    return this.#database.transaction(async (tx) => {
      const changes = { nextAt: timeAfter(now, declared, nextTime), updatedAt: new Date(now) }
      const moved = await jobSchedules.update(tx, { name, nextAt }, changes)
      // Another node was faster.
      if (moved === 0) return false
      await this.#jobs.add(tx, declared, {}, { key: 'schedule' })
      return true
    })
  }
}

function timeAfter(after: number, { cron = '', name, timeZone = 'UTC' }: AnyJob, nextTime: NextTime): Date {
  const at = nextTime(after, { pattern: cron, tz: timeZone })
  if (at === undefined) throw new Error(`the schedule ${name} has no next time: ${cron}`)
  return new Date(at)
}

function cronOf({ cron = '', timeZone = 'UTC' }: AnyJob): string {
  return `${cron} ${timeZone}`
}
