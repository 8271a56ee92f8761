import { DAY, HOUR, MINUTE } from '../core/clock.ts'
import { QUEUE_NAMES } from '../core/job.ts'
import type { Sql } from '../core/sql.ts'
import { atMost, lessThan } from '../db/condition.ts'
import { finishedJobCounts } from './tables.ts'

/** The largest count of jobs in a state. More are not counted, because that would take long when most jobs wait. */
const MAX_COUNTED = 10_000

export interface QueueCounts {
  readonly queue: string
  readonly waiting: number
  readonly held: number
  readonly delayed: number
  readonly active: number
  readonly dead: number
  /** For how many seconds the oldest waiting job has been due. */
  readonly oldest: number | null
}

const countOf = (condition: string) => `
    (select count(*) from (
      select 1 from outbox o where o.queue = q.queue and ${condition} limit ${MAX_COUNTED}) counted)`

const OPEN = `o.state in ('waiting', 'queued')`

// Written by hand: each count reads a range of a partial index, whose condition must be a literal.
const COUNTS = `
  select q.queue,${countOf(`${OPEN} and o.run_at <= $2`)} as waiting,${countOf(`o.state = 'held'`)} as held,
    ${countOf(`${OPEN} and o.run_at > $2`)} as delayed,
    (select count(*) from outbox o where o.queue = q.queue and o.state = 'running') as active,
    ${countOf(`o.state = 'dead'`)} as dead,
    (select extract(epoch from $2::timestamptz - o.run_at)::double precision from outbox o
      where o.queue = q.queue and ${OPEN} and o.run_at <= $2 order by o.run_at limit 1) as oldest
  from unnest($1::text[]) q (queue)`

/** How many jobs of each queue are in each state, at most 10,000. */
export function countsByQueue(sql: Sql, now: number): Promise<QueueCounts[]> {
  return sql.rows<QueueCounts>(COUNTS, [QUEUE_NAMES, new Date(now)])
}

/** The length of a period for which finished jobs are counted together. */
const PERIOD = 10 * MINUTE

/** A job can be recorded a while after the time that the record has, because its transaction takes time. */
const SETTLED = 10 * MINUTE

export interface Throughput {
  readonly queue: string
  readonly day: number
  readonly hour: number
  readonly minute: number
}

// Written by hand: whole periods are in `finished_job_counts`, the ends of the ranges are counted in the index.
const THROUGHPUT = `
  with counted as (select coalesce(max(start_at) + interval '10 minutes', '-infinity') as until from finished_job_counts),
  parts as (
    select queue, job_count as day, case when start_at >= $4 then job_count else 0 end as hour, 0 as minute
    from finished_job_counts where start_at >= $2
    union all
    select queue, count(*), count(*) filter (where finished_at > $3), count(*) filter (where finished_at > $5)
    from finished_jobs where finished_at >= greatest((select until from counted), $2) group by queue
    union all
    select queue, 0, count(*), 0 from finished_jobs
    where finished_at > $3 and finished_at < least((select until from counted), $4) group by queue
    union all
    select queue, count(*), 0, 0 from finished_jobs where finished_at > $1 and finished_at < $2 group by queue
  )
  select queue, sum(day)::integer as day, sum(hour)::integer as hour, sum(minute)::integer as minute
  from parts group by queue`

/** How many jobs of each queue have finished in the last day, hour and minute. */
export function throughputByQueue(sql: Sql, now: number): Promise<Throughput[]> {
  const [dayAgo, hourAgo] = [now - DAY, now - HOUR]
  const times = [dayAgo, nextPeriod(dayAgo), hourAgo, nextPeriod(hourAgo), now - MINUTE]
  return sql.rows<Throughput>(
    THROUGHPUT,
    times.map((time) => new Date(time)),
  )
}

function nextPeriod(time: number): number {
  return Math.ceil(time / PERIOD) * PERIOD
}

const COUNT_PERIOD = `
  insert into finished_job_counts (start_at, queue, job_count)
  select $1, q.queue, (
    select count(*) from finished_jobs f where f.queue = q.queue and f.finished_at >= $1 and f.finished_at < $2)
  from unnest($3::text[]) q (queue) on conflict do nothing`

/** Counts the jobs of periods that have ended, and forgets periods of more than a day ago. */
export async function countPeriods(sql: Sql, now: number): Promise<void> {
  const last = await finishedJobCounts.first(sql, {}, { columns: ['startAt'], orderBy: ['startAt desc'] })
  const oldest = nextPeriod(now - DAY)
  const first = last === undefined ? oldest : Math.max(oldest, Date.parse(last.startAt) + PERIOD)
  for (let start = first; start + PERIOD + SETTLED <= now; start += PERIOD) {
    await sql.run(COUNT_PERIOD, [new Date(start), new Date(start + PERIOD), QUEUE_NAMES])
  }
  await finishedJobCounts.delete(sql, { startAt: lessThan(new Date(oldest)) })
}

/** Forgets the counts of a queue, of jobs that finished before a time. */
export async function forgetPeriods(sql: Sql, queue: string, before: Date | undefined): Promise<void> {
  const until = before && { startAt: atMost(new Date(before.getTime() - PERIOD)) }
  await finishedJobCounts.update(sql, { queue, ...until }, { jobCount: 0 })
}

export interface Latencies {
  readonly queue: string
  readonly waitMs: number[] | null
  readonly runMs: number[] | null
}

const PERCENTILES = `percentile_cont(array[0.5, 0.95, 0.99]::double precision[]) within group`

// Written by hand: the newest jobs of each queue, found by its own range of the index.
const LATENCIES = `
  select q.queue,
    ${PERCENTILES} (order by (greatest(0, extract(epoch from f.started_at - f.run_at)) * 1000)::double precision) as "waitMs",
    ${PERCENTILES} (order by (extract(epoch from f.finished_at - f.started_at) * 1000)::double precision) as "runMs"
  from unnest($1::text[]) q (queue) cross join lateral (
    select run_at, started_at, finished_at from finished_jobs
    where queue = q.queue and finished_at > $2 order by finished_at desc limit 1000) f
  group by q.queue`

/**
 * How long jobs waited and ran, in milliseconds: 50, 95 and 99 %. Of each queue the newest 1,000 jobs of the last 15
 * minutes are measured.
 */
export function latenciesByQueue(sql: Sql, now: number): Promise<Latencies[]> {
  return sql.rows<Latencies>(LATENCIES, [QUEUE_NAMES, new Date(now - 15 * MINUTE)])
}
