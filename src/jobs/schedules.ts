import type { RepeatOptions } from 'bullmq'
import type { Clock } from '../core/clock.ts'
import type { AnyJob } from '../core/job.ts'
import type { Database } from '../db/database.ts'
import type { JobService } from './service.ts'

interface DueSchedule {
  readonly name: string
  readonly next_at: string
}

/** Computes the next time of a cron expression, as BullMQ does. */
export type NextTime = (after: number, options: RepeatOptions) => number | undefined

/**
 * Adds the jobs of schedules when their time has come. When that is stands in the database, so that of all nodes one
 * adds the job; a time that passed while no node ran is made up for once.
 */
export class Schedules {
  readonly #database: Database
  readonly #clock: Clock
  readonly #jobs: JobService
  readonly #declared: readonly AnyJob[]
  #nextTime: NextTime | undefined

  constructor(database: Database, clock: Clock, jobs: JobService) {
    this.#database = database
    this.#clock = clock
    this.#jobs = jobs
    this.#declared = [...jobs.declared.values()].filter((declared) => declared.cron !== undefined)
  }

  get isEmpty(): boolean {
    return this.#declared.length === 0
  }

  /** Makes the times known of schedules that are new, or whose expression has changed. */
  async prepare(nextTime: NextTime): Promise<void> {
    this.#nextTime = nextTime
    const now = this.#clock.now()
    const rows = this.#declared.map((declared) => ({
      name: declared.name,
      cron: cronOf(declared),
      next_at: this.#next(declared, now).toISOString(),
      updated_at: new Date(now).toISOString(),
    }))
    await this.#database.run(
      `insert into job_schedules (name, cron, next_at, updated_at)
       select name, cron, next_at, updated_at from json_populate_recordset(null::job_schedules, $1::json)
       on conflict (name) do update set cron = excluded.cron, next_at = excluded.next_at,
         updated_at = excluded.updated_at where job_schedules.cron <> excluded.cron`,
      [JSON.stringify(rows)],
    )
  }

  /** Adds the jobs of schedules that are due. @returns how many */
  async run(): Promise<number> {
    const names = this.#declared.map(({ name }) => name)
    const now = new Date(this.#clock.now())
    const due = await this.#database.rows<DueSchedule>(
      'select name, next_at from job_schedules where next_at <= $1 and name = any($2)',
      [now, names],
    )
    let added = 0
    for (const row of due) if (await this.#add(row, now)) added += 1
    return added
  }

  async #add({ name, next_at }: DueSchedule, now: Date): Promise<boolean> {
    const declared = this.#jobs.declared.get(name)
    if (declared === undefined) return false
    return this.#database.transaction(async (tx) => {
      const moved = await tx.run(
        'update job_schedules set next_at = $3, updated_at = $4 where name = $1 and next_at = $2',
        [name, next_at, this.#next(declared, now.getTime()), now],
      )
      // Another node was faster.
      if (moved === 0) return false
      await this.#jobs.add(tx, declared, {}, { key: 'schedule' })
      return true
    })
  }

  #next(declared: AnyJob, after: number): Date {
    const at = this.#nextTime?.(after, { pattern: declared.cron ?? '', tz: declared.timeZone ?? 'UTC' })
    if (at === undefined) throw new Error(`the schedule ${declared.name} has no next time: ${declared.cron}`)
    return new Date(at)
  }
}

function cronOf({ cron = '', timeZone = 'UTC' }: AnyJob): string {
  return `${cron} ${timeZone}`
}
