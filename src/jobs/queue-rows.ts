import type { Static } from 'typebox'
import { redacted } from './redact.ts'
import type { JobState, JobView } from './schemas.ts'

export interface JobRow {
  readonly id: string
  readonly queue: string
  readonly name: string
  readonly state: JobState
  readonly workspace_id: string | null
  readonly data: unknown
  readonly attempts: number
  readonly reason: string | null
  readonly run_at: string
  readonly started_at: string | null
  readonly finished_at: string | null
  readonly created_at: string
  readonly updated_at: string
}

export interface CountRow {
  readonly queue: string
  readonly waiting: number
  readonly delayed: number
  readonly active: number
  readonly dead: number
  /** Seconds since the oldest waiting job was due. */
  readonly oldest: number | null
}

export interface FinishedRow {
  readonly queue: string
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly wait_ms: readonly number[] | null
  readonly run_ms: readonly number[] | null
}

/** The state that people see. $1 is now. A failed job waits in its queue for the time of its next attempt. */
const STATE = `case when state = 'dead' then 'dead' when state = 'running' then 'active'
  when run_at > $1 then 'delayed' else 'waiting' end`

const HELD = `select id, queue, name, ${STATE} as state, workspace_id, data, attempts, reason, run_at, started_at,
    null::timestamptz as finished_at, created_at, updated_at from outbox`

const DONE = `select id, queue, name, 'done' as state, workspace_id, null::jsonb as data, attempts, null::text as reason,
    run_at, started_at, finished_at, created_at, finished_at as updated_at from finished_jobs`

const WHERE = `where ($2::text is null or queue = $2) and ($4::text is null or name = $4)
  and ($5::uuid is null or workspace_id = $5) and ($6::uuid is null or id < $6)`

/** Ids begin with the time they were made at, so their order is that of creation. */
export const LIST = `
  select * from (
    (${HELD} ${WHERE} and ($3::text is null or ${STATE} = $3) order by id desc limit $7)
    union all
    (${DONE} ${WHERE} and ($3::text is null or $3 = 'done') order by id desc limit $7)
  ) as jobs order by id desc limit $7`

export const ONE = `
  select * from (${HELD} where id = $2 union all ${DONE} where id = $2) as job limit 1`

export const COUNTS = `
  select queue,
    count(*) filter (where state in ('waiting', 'queued') and run_at <= $1) as waiting,
    count(*) filter (where state in ('waiting', 'queued') and run_at > $1) as delayed,
    count(*) filter (where state = 'running') as active,
    count(*) filter (where state = 'dead') as dead,
    extract(epoch from $1 - min(run_at) filter (where state in ('waiting', 'queued') and run_at <= $1)) as oldest
  from outbox group by queue`

const SHARES = 'array[0.5, 0.95, 0.99]::double precision[]'

/** $1 to $3: a day, an hour and a minute ago; $4: since when latencies count. */
export const FINISHED = `
  select queue, count(*) as day, count(*) filter (where finished_at > $2) as hour,
    count(*) filter (where finished_at > $3) as minute,
    percentile_cont(${SHARES}) within group (order by greatest(0, extract(epoch from started_at - run_at)) * 1000)
      filter (where finished_at > $4) as wait_ms,
    percentile_cont(${SHARES}) within group (order by extract(epoch from finished_at - started_at) * 1000)
      filter (where finished_at > $4) as run_ms
  from finished_jobs where finished_at > $1 group by queue`

/** $2: a queue, or all; $4: not those that have changed since, or all. Never those that run. */
export const REMOVE = `
  delete from outbox where ($2::text is null or queue = $2) and state <> 'running' and ${STATE} = any($3)
    and ($4::timestamptz is null or updated_at <= $4) returning id, name, queue, workspace_id, state`

export const FORGET_FINISHED = `
  delete from finished_jobs where ($1::text is null or queue = $1) and ($2::timestamptz is null or finished_at <= $2)`

export interface RemovedRow {
  readonly id: string
  readonly name: string
  readonly queue: string
  readonly workspace_id: string | null
  readonly state: string
}

export function jobView(row: JobRow, maxAttempts: number | undefined): Static<typeof JobView> {
  const sealed = typeof (row.data as { sealed?: unknown } | null)?.sealed === 'string'
  return {
    _id: row.id,
    queue: row.queue,
    name: row.name,
    state: row.state,
    workspaceId: row.workspace_id,
    attempts: row.attempts,
    maxAttempts: maxAttempts ?? null,
    error: row.reason,
    data: sealed ? null : redacted(row.data),
    sealed,
    runAt: row.run_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
