import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import type { Coordination } from '../coordination/coordination.ts'
import { ManualClock } from '../core/clock.ts'
import type { WorkspaceEvent } from '../core/event.ts'
import { job, jobsByName } from '../core/job.ts'
import { createLog } from '../core/log.ts'
import { Type } from '../core/schema.ts'
import type { Sql } from '../core/sql.ts'
import type { StartedRow } from './ledger.ts'
import { JobObserver } from './observer.ts'
import type { JobRun } from './runner.ts'

const seen = job({
  name: 'test.seen',
  summary: 'x',
  queue: 'media',
  data: Type.Object({}),
  seenBy: 'media:read',
  run: async () => undefined,
})
const hidden = job({ ...seen, name: 'test.hidden', seenBy: undefined as never })

function start() {
  const clock = new ManualClock()
  const events: [string, WorkspaceEvent][] = []
  const lines: { readonly level: number; readonly [field: string]: unknown }[] = []
  const metrics = new Registry()
  const media = { queue: 'media', waiting: 3, held: 5, delayed: 2, active: 1, dead: 4, oldest: null }
  const counted = { fails: false, rows: [media] }
  const rows = async () => {
    if (counted.fails) throw new Error('the database is away')
    return counted.rows
  }
  const publish = (channel: string, message: unknown) =>
    void events.push(...(message as WorkspaceEvent[]).map((event): [string, WorkspaceEvent] => [channel, event]))
  const observer = new JobObserver({
    clock,
    coordination: { publish } as unknown as Coordination,
    declared: jobsByName([seen, hidden]),
    sql: { rows } as unknown as Sql,
    metrics,
    log: createLog({ level: 'debug', destination: { write: (line: string) => void lines.push(JSON.parse(line)) } }),
  })
  const data = () => events.map(([, event]) => event.data as { percent?: number; detail?: string | null })
  const values = async (name: string) =>
    (await metrics.getMetricsAsJSON()).find((one) => one.name === name)?.values as
      | readonly { value: number; labels: Record<string, unknown>; metricName?: string }[]
      | undefined
  return { clock, counted, data, events, lines, metrics, observer, values }
}

const row = (changes: Partial<StartedRow> = {}): StartedRow => ({
  id: 'job-1',
  attemptId: 'attempt-1',
  name: 'test.seen',
  queue: 'media',
  workspaceId: 'w1',
  line: null,
  data: {},
  attempts: 1,
  runAt: '2026-11-01T12:00:00.000Z',
  ...changes,
})

const run = (changes: Partial<JobRun> = {}): JobRun => ({
  row: row(),
  outcome: 'done',
  reason: undefined,
  waitedMs: 1_500,
  ranMs: 2_500,
  ...changes,
})

test('reports progress twice a second, and its end at once', () => {
  const { clock, data, events, observer } = start()
  observer.progress(row(), 10, 'first')
  clock.advance(499)
  observer.progress(row(), 20, undefined)
  clock.advance(1)
  observer.progress(row(), 30, undefined, 'We play')
  observer.progress(row({ id: 'job-2' }), 40, undefined)
  observer.progress(row(), 100, undefined)
  observer.progress(row(), 100, undefined)
  expect(data()).toMatchObject([
    { jobId: 'job-1', name: 'test.seen', percent: 10, detail: 'first', partialText: null },
    { jobId: 'job-1', percent: 30, detail: null, partialText: 'We play' },
    { jobId: 'job-2', percent: 40 },
    { jobId: 'job-1', percent: 100 },
  ])
  expect(events[0]).toMatchObject(['ev:w1', { workspaceId: 'w1', seq: 0, scope: 'media:read', type: 'job.progress' }])
})

test('limits progress to 0 to 100, and ignores other values', () => {
  const { clock, data, observer } = start()
  for (const percent of [-5, Number.NaN, 250]) {
    observer.progress(row(), percent, undefined)
    clock.advance(1_000)
  }
  expect(data().map(({ percent }) => percent)).toEqual([0, 100])
})

test('starts again with the next attempt', () => {
  const { data, observer } = start()
  observer.progress(row(), 10, undefined)
  observer.ended(run({ outcome: 'again' }))
  observer.progress(row(), 20, undefined)
  expect(data().map(({ percent }) => percent)).toEqual([10, 20])
})

test('reports the end of a job to sockets, but not an attempt that will be retried', () => {
  const { events, observer } = start()
  for (const outcome of ['again', 'lost', 'handed back'] as const) observer.ended(run({ outcome }))
  expect(events).toEqual([])
  observer.ended(run())
  observer.ended(run({ outcome: 'dead', reason: 'no disk' }))
  observer.endedBefore({ id: 'job-9', name: 'test.seen', workspaceId: 'w1', attempts: 1, state: 'done', reason: null })
  expect(events.map(([, { data, type }]) => ({ type, data }))).toMatchObject([
    { type: 'job.finished', data: { jobId: 'job-1', state: 'done', error: null } },
    { type: 'job.finished', data: { jobId: 'job-1', state: 'dead', error: 'no disk' } },
    { type: 'job.finished', data: { jobId: 'job-9', state: 'done', error: null } },
  ])
})

test('reports nothing of jobs that nobody may see', () => {
  const { events, observer } = start()
  observer.ended(run({ row: row({ workspaceId: null }) }))
  observer.ended(run({ row: row({ name: 'test.hidden' }) }))
  observer.ended(run({ row: row({ name: 'test.of-another-version' }) }))
  expect(events).toEqual([])
})

test('measures attempts in seconds, and the wait before the first one only', async () => {
  const { observer, values } = start()
  observer.ended(run({ outcome: 'again' }))
  observer.ended(run({ row: row({ attempts: 2 }), waitedMs: 9_000, ranMs: 500 }))
  const sumOf = async (name: string) => (await values(name))?.find(({ metricName }) => metricName === `${name}_sum`)
  expect(await sumOf('crier_job_run_seconds')).toMatchObject({ value: 3, labels: { queue: 'media' } })
  expect(await sumOf('crier_job_wait_seconds')).toMatchObject({ value: 1.5, labels: { queue: 'media' } })
  expect(await values('crier_job_attempts_total')).toMatchObject([
    { value: 1, labels: { job: 'test.seen', outcome: 'again' } },
    { value: 1, labels: { job: 'test.seen', outcome: 'done' } },
  ])
})

test('counts held jobs when metrics are read, and keeps the last counts without a database', async () => {
  const { counted, lines, values } = start()
  const states = [
    { labels: { queue: 'media', state: 'waiting' }, value: 3 },
    { labels: { queue: 'media', state: 'held' }, value: 5 },
    { labels: { queue: 'media', state: 'delayed' }, value: 2 },
    { labels: { queue: 'media', state: 'active' }, value: 1 },
    { labels: { queue: 'media', state: 'dead' }, value: 4 },
  ]
  expect(await values('crier_jobs_held')).toEqual(states)
  counted.fails = true
  expect(await values('crier_jobs_held')).toEqual(states)
  expect(lines).toMatchObject([{ msg: 'jobs could not be counted for metrics' }])
  // A queue without jobs is not counted any more.
  Object.assign(counted, { fails: false, rows: [] })
  expect(await values('crier_jobs_held')).toEqual([])
})

test('writes one line per attempt: an error for a dead job, a warning for one that runs again', () => {
  const { lines, observer } = start()
  for (const outcome of ['done', 'handed back', 'again', 'lost', 'dead'] as const) observer.ended(run({ outcome }))
  expect(lines.map(({ level }) => level)).toEqual([30, 30, 40, 40, 50])
  observer.ended(run({ row: row({ workspaceId: null }), ranMs: 12.34, waitedMs: 1.6, reason: 'why' }))
  expect(lines[0]).toMatchObject({ job: 'test.seen', id: 'job-1', queue: 'media', workspaceId: 'w1', attempt: 1 })
  expect(lines[0]).not.toHaveProperty('reason')
  expect(lines[5]).toMatchObject({ ms: 12.3, waitedMs: 2, reason: 'why' })
  expect(lines[5]).not.toHaveProperty('workspaceId')
})
