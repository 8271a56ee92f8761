import type { Static } from 'typebox'
import { mergedPages, type PageRequest } from '../core/page.ts'
import type { Sql } from '../core/sql.ts'
import { anyOf, atMost, greaterThan, oneOf, type Where } from '../db/condition.ts'
import type { Row, RowInput } from '../db/row.ts'
import { redacted } from './redact.ts'
import type { JobState, JobView } from './schemas.ts'
import { finishedJobs, outbox, type FinishedJob, type OutboxRow } from './tables.ts'

/** A job in any state. */
export type JobRow = Omit<Row<typeof FinishedJob>, 'startedAt' | 'finishedAt'> & {
  readonly state: JobState
  readonly data: unknown
  readonly reason: string | null
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly updatedAt: string
}

interface Filter {
  readonly queue?: readonly string[] | undefined
  readonly name?: readonly string[] | undefined
  readonly workspaceId?: readonly string[] | undefined
  readonly state?: readonly JobState[] | undefined
}

/** Waiting and delayed jobs that are not held. A failed job waits in its queue until its next attempt. */
const OPEN = { state: anyOf(['waiting', 'queued'] as const) }

/** Jobs that wait for a worker, their time, or their service. */
export const WAITING = { state: anyOf(['waiting', 'held', 'queued'] as const) }

/** The condition for jobs in a state of the API, other than done. */
export function conditionOf(state: OpenState, now: Date): Where<RowInput<typeof OutboxRow>> {
  if (state === 'dead' || state === 'held') return { state }
  if (state === 'active') return { state: 'running' }
  return { ...OPEN, runAt: state === 'delayed' ? greaterThan(now) : atMost(now) }
}

/** A page of `limit + 1` jobs, newest first. */
export async function listJobs(
  database: Sql,
  { state, queue, name, workspaceId }: Filter,
  page: PageRequest,
  now: Date,
): Promise<JobRow[]> {
  const filter = {
    ...(queue !== undefined && { queue: oneOf(queue) }),
    ...(name !== undefined && { name: oneOf(name) }),
    ...(workspaceId !== undefined && { workspaceId: oneOf<string | null>(workspaceId) }),
  }
  const open = new Set(state)
  const withDone = open.delete('done') || state === undefined
  const conditions = state === undefined ? [{}] : [...open].map((one) => conditionOf(one as OpenState, now))
  // The order matters: a job that ends between the statements is found twice, rather than not at all.
  const pages = await Promise.all(conditions.map((inState) => outbox.page(database, { ...filter, ...inState }, page)))
  const jobs = pages.map((rows) => rows.map((row) => openJob(row, now)))
  const done = withDone ? await finishedJobs.page(database, filter, page) : []
  return mergedPages([...jobs, done.map(doneJob)], page)
}

type OpenState = Exclude<JobState, 'done'>

export async function findJob(database: Sql, id: string, now: Date): Promise<JobRow | undefined> {
  const open = await outbox.first(database, { id })
  if (open !== undefined) return openJob(open, now)
  const done = await finishedJobs.first(database, { id })
  return done && doneJob(done)
}

function openJob(row: Row<typeof OutboxRow>, now: Date): JobRow {
  return { ...row, state: stateOf(row, now), finishedAt: null }
}

function doneJob(row: Row<typeof FinishedJob>): JobRow {
  return { ...row, state: 'done', data: null, reason: null, updatedAt: row.finishedAt }
}

function stateOf({ state, runAt }: Row<typeof OutboxRow>, now: Date): JobState {
  if (state === 'dead' || state === 'held') return state
  if (state === 'running') return 'active'
  return Date.parse(runAt) > now.getTime() ? 'delayed' : 'waiting'
}

export function jobView(
  row: JobRow,
  maxAttempts: number | undefined,
  service: string | undefined,
): Static<typeof JobView> {
  const sealed = typeof (row.data as { sealed?: unknown } | null)?.sealed === 'string'
  return {
    _id: row.id,
    queue: row.queue,
    name: row.name,
    service: service ?? null,
    state: row.state,
    workspaceId: row.workspaceId,
    attempts: row.attempts,
    maxAttempts: maxAttempts ?? null,
    error: row.reason,
    data: sealed ? null : redacted(row.data),
    sealed,
    runAt: row.runAt,
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}
