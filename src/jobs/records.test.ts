import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import type { Coordination } from '../coordination/coordination.ts'
import { DAY, HOUR, ManualClock, MINUTE, SECOND } from '../core/clock.ts'
import type { WorkspaceEvent } from '../core/event.ts'
import { uuidv7 } from '../tools/id.ts'
import { job, jobsByName, schedule } from '../core/job.ts'
import { createLog } from '../core/log.ts'
import { Type } from '../core/schema.ts'
import { SealedBox } from '../tools/sealed-box.ts'
import { Database } from '../db/database.ts'
import { entities } from '../registry/entities.ts'
import { QueueService } from './queue-service.ts'
import { Schedules } from './schedules.ts'
import { JobService } from './service.ts'

// The tables of jobs, without queues and workers.

const plain = job({
  name: 'test.plain',
  summary: 'x',
  queue: 'default',
  data: Type.Object({}),
  seenBy: 'media:read',
  run: async () => undefined,
})
const hourly = schedule({ name: 'test.hourly', summary: 'x', cron: '0 * * * *', run: async () => undefined })
const log = createLog({ level: 'silent' })

let made: TestDatabase
let database: Database
let clock: ManualClock
let notices: [string, unknown][]
let service: JobService
let queues: QueueService

beforeAll(async () => {
  made = await createDatabase()
  database = await Database.connect({ url: made.url, poolSize: 3, entities, log })
})
beforeEach(() => {
  clock = new ManualClock(Date.parse('2026-11-01T12:30:00Z'))
  notices = []
  service = serviceOf(clock)
  queues = new QueueService({ database, clock, log, ...parts() })
})
afterEach(() => database.run('truncate outbox, finished_jobs, finished_job_counts, job_schedules'))
afterAll(async () => {
  await database.close()
  await made.drop()
})

const parts = () => ({
  coordination: { publish: (...notice) => void notices.push(notice) } as Partial<Coordination> as Coordination,
  declared: service.declared,
  serviceOf: new Map([[plain.name, 'tests']]),
})

function serviceOf(time: ManualClock): JobService {
  return new JobService({
    database,
    clock: time,
    coordination: { publish: () => undefined } as Partial<Coordination> as Coordination,
    box: new SealedBox('a secret of tests', 'jobs'),
    declared: jobsByName([plain, hourly]),
  })
}

const workspaceId = uuidv7(Date.now())
const add = (options: { runAt?: Date } = {}) => service.add(database, plain, {}, { ...options, workspaceId })
const ids = async (table: string) =>
  (await database.rows<{ id: string }>(`select id from ${table}`)).map(({ id }) => id)

async function begin(id: string): Promise<string> {
  const row = await service.outbox.start(id, uuidv7(clock.now()))
  return row?.attemptId ?? ''
}

async function finish(id: string): Promise<void> {
  await service.outbox.finish(id, await begin(id))
}

async function kill(id: string): Promise<void> {
  await service.outbox.fail({ id, attemptId: await begin(id) }, 'broken', undefined)
}

test('records of done jobs are kept for a day, and those of dead ones for thirty', async () => {
  const [done, dead, waiting] = [await add(), await add(), await add()]
  await finish(done)
  await kill(dead)
  clock.advance(DAY - 1)
  await queues.forget()
  expect([await ids('finished_jobs'), (await ids('outbox')).length]).toEqual([[done], 2])
  clock.advance(1)
  await queues.forget()
  expect([await ids('finished_jobs'), (await ids('outbox')).length]).toEqual([[], 2])
  clock.advance(29 * DAY - 1)
  await queues.forget()
  expect(await ids('outbox')).toHaveLength(2)
  clock.advance(1)
  await queues.forget()
  expect(await ids('outbox')).toEqual([waiting])
  // A dead job was reported when it died.
  expect(notices.filter(([channel]) => channel.startsWith('ev:'))).toEqual([])
})

test('an administrator deletes jobs by state and age, and all of a queue but those that run', async () => {
  const make = async () => {
    const [done, dead, running] = [await add(), await add(), await add()]
    await finish(done)
    await kill(dead)
    await begin(running)
    await add()
    await add({ runAt: new Date(clock.now() + HOUR) })
    return running
  }
  const running = await make()
  clock.advance(MINUTE)
  const clean = (state: 'done' | 'dead' | 'waiting' | 'delayed', olderThan: number) =>
    queues.clean({ queue: 'default', state, olderThan })
  expect([await clean('done', 61), await clean('dead', 61)]).toEqual([0, 0])
  expect([await ids('finished_jobs'), await ids('outbox')].map(({ length }) => length)).toEqual([1, 4])
  expect(await clean('done', 60)).toBe(1)
  expect([await ids('finished_jobs'), await ids('outbox')].map(({ length }) => length)).toEqual([0, 4])
  expect([await clean('dead', 60), await clean('waiting', 60), await clean('delayed', 60)]).toEqual([1, 1, 1])
  expect(await ids('outbox')).toEqual([running])
  const other = await make()
  expect(await queues.clear('mail')).toBe(0)
  expect(await queues.clear('default')).toBe(4)
  expect((await ids('outbox')).toSorted()).toEqual([running, other].toSorted())
})

test('members are told that an administrator has deleted their job', async () => {
  const id = await add()
  expect(await queues.drain('default')).toBe(1)
  const [, [event]] = notices.find(([channel]) => channel === `ev:${workspaceId}`) as [string, [WorkspaceEvent]]
  expect(event.data).toMatchObject({ jobId: id, state: 'dead', error: 'deleted by an administrator' })
  expect(notices).toContainEqual(['jobs.removed', { queue: 'default', ids: [id] }])
})

test('jobs are listed by their state, and counted', async () => {
  const later = new Date(clock.now() + 1)
  const [done, dead, running, waiting] = [
    await add(),
    await add(),
    await add(),
    await add({ runAt: new Date(clock.now()) }),
  ]
  const delayed = await add({ runAt: later })
  await finish(done)
  await kill(dead)
  await begin(running)
  const listed = async (query: Parameters<QueueService['list']>[0]) =>
    (await queues.list(query)).items.map(({ _id }) => _id)
  const states = { done, dead, active: running, waiting, delayed }
  for (const [state, id] of Object.entries(states) as [keyof typeof states, string][]) {
    expect([state, await listed({ state: [state] })]).toEqual([state, [id]])
    expect((await queues.list({ state: [state] })).items[0]).toMatchObject({
      _id: id,
      state,
      name: 'test.plain',
      workspaceId,
    })
  }
  const [alive, ended] = [await queues.list({ state: ['dead'] }), await queues.list({ state: ['done'] })]
  const view = { service: 'tests', maxAttempts: 5, attempts: 1, sealed: false }
  expect(alive.items).toMatchObject([{ ...view, error: 'broken', data: {}, finishedAt: null }])
  expect(ended.items).toMatchObject([{ ...view, error: null, data: null, finishedAt: expect.any(String) }])
  expect(await listed({})).toEqual([delayed, waiting, running, dead, done])
  expect(await listed({ queue: ['mail'] })).toEqual([])
  expect(await listed({ name: ['test.hourly'] })).toEqual([])
  expect(await listed({ workspaceId: [uuidv7(clock.now())] })).toEqual([])
  expect(
    await listed({ queue: ['default'], name: ['test.plain'], workspaceId: [workspaceId], state: ['done'] }),
  ).toEqual([done])
  const first = await queues.list({ limit: 2 })
  expect(first.items.map(({ _id }) => _id)).toEqual([delayed, waiting])
  const second = await queues.list({ limit: 3, cursor: first.nextCursor ?? '' })
  expect([second.items.map(({ _id }) => _id), second.nextCursor]).toEqual([[running, dead, done], null])
  const [counted] = (await queues.stats()).filter(({ queue }) => queue === 'default')
  expect(counted).toMatchObject({ waiting: 1, delayed: 1, active: 1, dead: 1, oldestWaitingSeconds: 0 })
  expect(counted?.throughput).toEqual({ lastMinute: 1, lastHour: 1, lastDay: 1 })
  const none = { waiting: 0, delayed: 0, active: 0, dead: 0, oldestWaitingSeconds: 0, waitMs: null, runMs: null }
  const nothing = { lastMinute: 0, lastHour: 0, lastDay: 0 }
  expect((await queues.stats()).find(({ queue }) => queue === 'mail')).toMatchObject({ ...none, throughput: nothing })
  clock.advance(MINUTE)
  const afterwards = (await queues.stats()).find(({ queue }) => queue === 'default')
  expect(afterwards).toMatchObject({ waiting: 2, delayed: 0, oldestWaitingSeconds: 60 })
  expect(afterwards?.throughput).toEqual({ lastMinute: 0, lastHour: 1, lastDay: 1 })
})

test('a job of a service that is off, or that this version does not have, is listed as well', async () => {
  const [held, unknown] = [await add(), await add()]
  await database.run(`update outbox set state = 'held' where id = $1`, [held])
  await database.run(`update outbox set name = 'test.newer' where id = $1`, [unknown])
  expect((await queues.list({ state: ['held'] })).items).toMatchObject([{ _id: held, service: 'tests' }])
  expect((await queues.list({ name: ['test.newer'] })).items).toMatchObject([{ service: null, maxAttempts: null }])
  expect((await queues.stats()).find(({ queue }) => queue === 'default')).toMatchObject({ waiting: 1, held: 1 })
})

test('the times of jobs are measured in milliseconds, with one decimal, over a quarter of an hour', async () => {
  for (const [waited, ran] of [
    [100, 1_000],
    [200.06, 2_000],
    [1_000, 4_000],
  ] as const) {
    const id = await add()
    await finish(id)
    await database.run(
      `update finished_jobs set run_at = $2::timestamptz - $3 * interval '1 ms', started_at = $2,
         finished_at = $2::timestamptz + $4 * interval '1 ms' where id = $1`,
      [id, new Date(clock.now()), waited, ran],
    )
  }
  const measured = async () => {
    const found = (await queues.stats()).find(({ queue }) => queue === 'default')
    return [found?.waitMs, found?.runMs]
  }
  clock.advance(5 * SECOND)
  expect(await measured()).toEqual([
    { p50: 200.1, p95: 920, p99: 984 },
    { p50: 2_000, p95: 3_800, p99: 3_960 },
  ])
  clock.advance(14 * MINUTE + 58 * SECOND)
  expect(await measured()).toMatchObject([{ p50: 1_000 }, { p50: 4_000 }])
  clock.advance(SECOND)
  expect(await measured()).toEqual([null, null])
})

test('counts show how many workers this node was configured to have', async () => {
  const concurrencies = async (bounds: { default?: { concurrency: number } }) => {
    const configured = new QueueService({ database, clock, log, ...parts(), bounds })
    return new Map((await configured.stats()).map(({ concurrency, queue }) => [queue, concurrency]))
  }
  const usual = await concurrencies({})
  const own = await concurrencies({ default: { concurrency: 77 } })
  expect(own).toEqual(new Map([...usual, ['default', 77]]))
  expect(usual.get('default')).not.toBe(77)
})

test('only dead jobs can be retried', async () => {
  const [dead, waiting] = [await add(), await add()]
  await kill(dead)
  clock.advance(HOUR)
  const runAt = new Date(clock.now()).toISOString()
  expect(await queues.retry(dead)).toMatchObject({ _id: dead, state: 'waiting', attempts: 0, runAt })
  expect(notices.filter(([channel]) => channel === 'jobs.added')).toHaveLength(1)
  await expect(queues.retry(waiting)).rejects.toMatchObject({ code: 'conflict' })
  await expect(queues.retry(uuidv7(clock.now()))).rejects.toMatchObject({ code: 'not_found' })
  expect(notices.filter(([channel]) => channel === 'jobs.added')).toHaveLength(1)
})

test('an attempt knows whether it was the one that ended its job', async () => {
  const [done, dead, waiting] = [await add(), await add(), await add()]
  await finish(done)
  await kill(dead)
  const { outbox } = service
  expect(await outbox.ended(done)).toMatchObject({ id: done, name: 'test.plain', state: 'done', reason: null })
  expect(await outbox.ended(dead)).toMatchObject({ id: dead, state: 'dead', reason: 'broken' })
  expect(await outbox.ended(waiting)).toBeUndefined()
  const isDone = await Promise.all(
    [
      { id: done, attempts: 1 },
      { id: done, attempts: 2 },
      { id: dead, attempts: 1 },
    ].map((attempt) => outbox.isDoneBy(attempt)),
  )
  expect(isDone).toEqual([true, false, false])
})

test('an attempt that was replaced by a newer one neither ends its job nor hands it back', async () => {
  const id = await add()
  const [old, newest] = [await begin(id), await begin(id)]
  const { outbox } = service
  expect(await outbox.handBack({ id, attemptId: old })).toBe(false)
  expect(await outbox.fail({ id, attemptId: old }, 'broken', undefined)).toBe(false)
  expect(await outbox.finish(id, old)).toBe(false)
  await expect(outbox.finishIn(database, { id, attemptId: old })).rejects.toThrow('a newer attempt has started')
  expect(await database.rows('select state, attempts from outbox')).toEqual([{ state: 'running', attempts: 2 }])
  expect(await outbox.handBack({ id, attemptId: newest })).toBe(true)
  expect(await database.rows('select state, attempts from outbox')).toEqual([{ state: 'queued', attempts: 1 }])
})

test('rows that were claimed, lost or emptied from the queues wait again', async () => {
  const [one, two] = [await add(), await add()]
  const { outbox } = service
  const states = async () => {
    const rows = await database.rows<{ id: string; state: string }>('select id, state from outbox')
    return Object.fromEntries(rows.map(({ id, state }) => [id, state]))
  }
  expect((await outbox.claimDue(10)).map(({ id }) => id)).toEqual([one, two])
  expect(await outbox.unclaim([one])).toBe(1)
  expect(await states()).toEqual({ [one]: 'waiting', [two]: 'queued' })
  const later = new Date(clock.now() + 1)
  const given = await outbox.queuedBefore(later, undefined, 10)
  expect(given).toMatchObject([{ id: two, queue: 'default', state: 'queued', attempts: 0 }])
  expect(await outbox.queuedBefore(later, two, 10)).toEqual([])
  expect(await outbox.requeueLost(given.map((row) => ({ ...row, attempts: 1 })))).toBe(0)
  expect(await outbox.requeueLost(given)).toBe(1)
  expect(await states()).toEqual({ [one]: 'waiting', [two]: 'waiting' })
  await outbox.claimDue(10)
  expect(await outbox.requeueAll()).toBe(2)
  expect(await outbox.claimDue(1)).toMatchObject([{ id: one, added: 3 }])
})

test('rows are claimed in the order of their times, and only those that are due', async () => {
  const now = clock.now()
  const late = await add({ runAt: new Date(now + SECOND) })
  const [second, first] = [await add({ runAt: new Date(now) }), await add({ runAt: new Date(now - 1) })]
  expect(await service.outbox.nextDue()).toBe(now - 1)
  expect((await service.outbox.claimDue(10)).map(({ id }) => id)).toEqual([first, second])
  expect(await service.outbox.nextDue()).toBe(now + SECOND)
  clock.advance(SECOND)
  expect((await service.outbox.claimDue(10)).map(({ id }) => id)).toEqual([late])
  expect(await service.outbox.nextDue()).toBeUndefined()
})

test('a schedule adds its job once per due time, whichever node looks first', async () => {
  const [one, two] = [service, serviceOf(clock)].map((jobs) => new Schedules(database, clock, jobs))
  expect(one?.isEmpty).toBe(false)
  expect([await one?.run(), await two?.run()]).toEqual([0, 0])
  clock.advance(30 * MINUTE - 1)
  expect([await one?.run(), await two?.run()]).toEqual([0, 0])
  clock.advance(1)
  const added = await Promise.all([one?.run(), two?.run()])
  expect((added[0] ?? 0) + (added[1] ?? 0)).toBe(1)
  expect(await ids('outbox')).toHaveLength(1)
  // While that job waits, the next time adds no second one.
  clock.advance(3 * HOUR)
  await one?.run()
  expect(await ids('outbox')).toHaveLength(1)
})

test('times that missed count once, and a time from a clock that was ahead is corrected', async () => {
  const ahead = new ManualClock(clock.now() + 3 * DAY)
  await new Schedules(database, ahead, serviceOf(ahead)).run()
  const next = async () => (await database.row<{ at: Date }>('select next_at as at from job_schedules'))?.at
  expect(await next()).toBe('2026-11-04T13:00:00.000Z')
  const schedules = new Schedules(database, clock, service)
  await schedules.run()
  expect(await next()).toBe('2026-11-01T13:00:00.000Z')
  clock.advance(5 * HOUR)
  expect(await schedules.run()).toBe(1)
  expect(await next()).toBe('2026-11-01T18:00:00.000Z')
  // This node's own clock is set back.
  clock.advance(-5 * HOUR)
  expect(await schedules.run()).toBe(0)
  expect(await next()).toBe('2026-11-01T13:00:00.000Z')
})

test('throughput is the same before and after finished jobs are counted by periods', async () => {
  const ages = [30_000, 5 * MINUTE, 25 * MINUTE, 55 * MINUTE, 65 * MINUTE, 5 * HOUR, DAY - MINUTE, DAY + MINUTE]
  for (const age of ages) {
    await database.run(
      `insert into finished_jobs (id, name, queue, attempts, run_at, started_at, finished_at, created_at)
       values ($1, 'test.plain', 'mail', 1, $2, $2, $2, $2)`,
      [uuidv7(clock.now() - age), new Date(clock.now() - age)],
    )
  }
  const throughput = async () => (await queues.stats()).find(({ queue }) => queue === 'mail')?.throughput
  const expected = { lastMinute: 1, lastHour: 4, lastDay: 7 }
  expect(await throughput()).toEqual(expected)
  await queues.forget()
  const { count } = (await database.row<{ count: number }>(
    `select sum(job_count)::integer as count from finished_job_counts where queue = 'mail'`,
  )) as { count: number }
  expect(count).toBeGreaterThan(3)
  expect(await throughput()).toEqual(expected)
  await queues.forget()
  expect(await throughput()).toEqual(expected)
  await queues.clear('mail')
  expect(await throughput()).toEqual({ lastMinute: 0, lastHour: 0, lastDay: 0 })
})
