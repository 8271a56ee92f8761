import type { RepeatOptions } from 'bullmq'
import { HOUR, type Clock } from '../core/clock.ts'
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
    const due = await this.#database.rows<DueSchedule>(
      'select name, next_at from job_schedules where next_at <= $1 and name = any($2)',
      [new Date(now), this.#declared.map(({ name }) => name)],
    )
    let added = 0
    for (const row of due) if (await this.#add(row, nextTime, now)) added += 1
    return added
  }

  /** Makes the times known of schedules that are new, or whose stored time is none to wait for. */
  async #prepare(nextTime: NextTime, now: number): Promise<void> {
    const rows = this.#declared.map((declared) => ({
      name: declared.name,
      cron: cronOf(declared),
      next_at: timeAfter(now, declared, nextTime).toISOString(),
      updated_at: new Date(now).toISOString(),
    }))
    await this.#database.run(
      `insert into job_schedules (name, cron, next_at, updated_at)
       select name, cron, next_at, updated_at from json_populate_recordset(null::job_schedules, $1::json)
       on conflict (name) do update set cron = excluded.cron, next_at = excluded.next_at,
         updated_at = excluded.updated_at
       where job_schedules.cron <> excluded.cron
         or job_schedules.updated_at > excluded.updated_at + interval '1 hour'`,
      [JSON.stringify(rows)],
    )
  }

  async #add({ name, next_at }: DueSchedule, nextTime: NextTime, now: number): Promise<boolean> {
    const declared = this.#jobs.declared.get(name)
    if (declared === undefined) return false
    return this.#database.transaction(async (tx) => {
      const moved = await tx.run(
        'update job_schedules set next_at = $3, updated_at = $4 where name = $1 and next_at = $2',
        [name, next_at, timeAfter(now, declared, nextTime), new Date(now)],
      )
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
