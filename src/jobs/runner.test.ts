import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { InProcessCoordination } from '../coordination/in-process.ts'
import { ManualClock } from '../core/clock.ts'
import { uuidv7 } from '../tools/id.ts'
import { UnrecoverableError, job, jobsByName, type AnyJob, type JobContext } from '../core/job.ts'
import { createLog } from '../core/log.ts'
import { Type } from '../core/schema.ts'
import { SealedBox } from '../tools/sealed-box.ts'
import type { Services } from '../core/services.ts'
import { Database } from '../db/database.ts'
import { entities } from '../registry/entities.ts'
import type { EndedJob, Outbox } from './outbox.ts'
import { Runner, type JobRun } from './runner.ts'
import { JobService } from './service.ts'

type Run = (context: JobContext<{ n: number }>) => Promise<void>
let meet: Run

const log = createLog({ level: 'silent' })
const data = Type.Object({ n: Type.Integer() })
const plain = job({
  name: 'test.plain',
  summary: 'x',
  queue: 'default',
  data,
  attempts: 4,
  backoff: { firstMs: 1_000, maxMs: 3_000 },
  run: (context) => meet(context),
})
/** A job of a fair queue. Its retries wait in the line of their workspace. */
const fair = job({ ...plain, name: 'test.fair', queue: 'media' })
const jobs: AnyJob[] = [plain, fair]

let made: TestDatabase
let database: Database
let clock: ManualClock

beforeAll(async () => {
  made = await createDatabase()
  database = await Database.connect({ url: made.url, poolSize: 3, entities, log })
})
afterEach(() => database.run('truncate outbox, finished_jobs'))
afterAll(async () => {
  await database.close()
  await made.drop()
})

/** A runner without queues. The test passes jobs to it and reads the results. */
function start(run: Run, isHeld = false, change: (outbox: Outbox) => Partial<Outbox> = () => ({})) {
  meet = run
  clock = new ManualClock()
  const service = new JobService({
    database,
    clock,
    coordination: new InProcessCoordination(log),
    box: new SealedBox('a secret of tests', 'jobs'),
    declared: jobsByName(jobs),
  })
  const heard = { runs: [] as JobRun[], ended: [] as EndedJob[], progress: [] as unknown[], lines: 0 }
  const logged: string[] = []
  const { outbox } = service
  const runner = new Runner({
    database,
    outbox: {
      start: (...of) => outbox.start(...of),
      finish: (...of) => outbox.finish(...of),
      finishIn: (...of) => outbox.finishIn(...of),
      ended: (...of) => outbox.ended(...of),
      isDoneBy: (...of) => outbox.isDoneBy(...of),
      fail: (...of) => outbox.fail(...of),
      handBack: (...of) => outbox.handBack(...of),
      ...change(outbox),
    } as Outbox,
    rows: service.rows,
    declared: service.declared,
    holding: { hold: async () => isHeld },
    clock,
    log: createLog({ level: 'warn', destination: { write: (line) => void logged.push(JSON.parse(line).msg) } }),
    services: () => ({}) as Services,
    onLine: () => void (heard.lines += 1),
    onRun: (one) => void heard.runs.push(one),
    onEnded: (one) => void heard.ended.push(one),
    onProgress: (_, percent, detail) => void heard.progress.push([percent, detail]),
  })
  const add = (declared = plain) => service.add(database, declared, { n: 1 })
  return { add, heard, logged, runner, outbox }
}

const rowOf = (id: string) =>
  database.row<{ state: string; attempts: number; reason: string | null }>(
    'select state, attempts, reason from outbox where id = $1',
    [id],
  )

test('reports how long a job waited and ran, and its progress while it runs', async () => {
  let late: JobContext<unknown>['progress'] | undefined
  const { add, heard, runner } = start(async ({ progress }) => {
    clock.advance(40)
    progress(50, 'half')
    late = progress
  })
  const id = await add()
  clock.advance(300)
  expect(await runner.run(id, 'test.plain')).toEqual({ kind: 'done' })
  await runner.drain(0)
  expect(heard.runs).toMatchObject([{ row: { id }, outcome: 'done', reason: undefined, waitedMs: 300, ranMs: 40 }])
  late?.(100)
  expect(heard.progress).toEqual([[50, 'half']])
  expect([heard.lines, runner.running]).toEqual([0, 0])
  expect(await rowOf(id)).toBeUndefined()
})

test('a job that is held is not started', async () => {
  const { add, heard, runner } = start(meet, true)
  const id = await add()
  expect(await runner.run(id, 'test.plain')).toEqual({ kind: 'done' })
  await runner.drain(0)
  expect(heard).toMatchObject({ runs: [], ended: [], lines: 1 })
  expect(await rowOf(id)).toMatchObject({ state: 'waiting', attempts: 0 })
})

test('a job that has already ended is not run, and its end is reported again', async () => {
  let runs = 0
  const { add, heard, runner } = start(async () => void (runs += 1))
  const id = await add()
  await runner.run(id, 'test.plain')
  await runner.drain(0)
  const { runner: other, heard: heardByOther } = start(meet)
  expect(await other.run(id, 'test.plain')).toEqual({ kind: 'done' })
  await other.drain(0)
  expect(runs).toBe(1)
  expect(heard.ended).toEqual([])
  expect(heardByOther.ended).toMatchObject([{ id, name: 'test.plain', state: 'done' }])
  expect(heardByOther.runs).toEqual([])
})

test('delays between attempts double up to the maximum, minus up to half at random, until no attempt is left', async () => {
  const { add, heard, runner } = start(async () => {
    throw new TypeError('not \0today')
  })
  const id = await add()
  for (const longest of [1_000, 2_000, 3_000]) {
    const verdict = await runner.run(id, 'test.plain')
    expect(verdict).toMatchObject({ kind: 'again', reason: 'TypeError: not today' })
    const { inMs } = verdict as { inMs: number }
    expect(inMs).toBeGreaterThanOrEqual(longest / 2)
    expect(inMs).toBeLessThanOrEqual(longest)
  }
  expect(await runner.run(id, 'test.plain')).toEqual({ kind: 'dead', reason: 'TypeError: not today' })
  expect(await rowOf(id)).toEqual({ state: 'dead', attempts: 4, reason: 'TypeError: not today' })
  await runner.drain(0)
  expect(heard.runs.map(({ outcome }) => outcome)).toEqual(['again', 'again', 'again', 'dead'])
})

test('a failure that a retry cannot fix ends the job at once, with a short reason without secrets', async () => {
  const { add, runner } = start(async () => {
    throw new UnrecoverableError(`rtmp://me:hunter2@example.com ${'x'.repeat(3_000)}`)
  })
  const id = await add()
  expect(await runner.run(id, 'test.plain')).toMatchObject({ kind: 'dead' })
  const { reason } = (await rowOf(id)) as { reason: string }
  expect(reason).toMatch(/^UnrecoverableError: rtmp:\/\/\[secret\]@example\.com x+$/)
  expect(reason).toHaveLength(2_000)
})

test('a job whose worker was lost at every attempt is given up without another run', async () => {
  let runs = 0
  const { add, outbox, runner } = start(async () => void (runs += 1))
  const id = await add()
  for (let attempt = 1; attempt <= 4; attempt += 1) await outbox.start(id, uuidv7(clock.now() + attempt))
  expect(await runner.run(id, 'test.plain')).toMatchObject({ kind: 'dead' })
  expect(runs).toBe(0)
  expect(await rowOf(id)).toMatchObject({
    state: 'dead',
    reason: 'UnrecoverableError: given up: its worker was lost 4 times',
  })
})

test('a job that only a newer version knows is tried again after half a minute to a minute', async () => {
  const { add, runner } = start(async () => undefined)
  const id = await add()
  await database.run(`update outbox set name = 'test.newer' where id = $1`, [id])
  const verdict = await runner.run(id, 'test.plain')
  expect(verdict).toMatchObject({ kind: 'again', reason: 'this version has no job test.newer' })
  const { inMs } = verdict as { inMs: number }
  expect(inMs).toBeGreaterThanOrEqual(30_000)
  expect(inMs).toBeLessThanOrEqual(60_000)
  expect(await rowOf(id)).toMatchObject({ state: 'queued', attempts: 1 })
})

test('a failed job of a fair queue leaves the queue and waits in its line again', async () => {
  const { add, heard, runner } = start(async () => {
    throw new Error('not yet')
  })
  const id = await add(fair)
  expect(await runner.run(id, 'test.plain')).toEqual({ kind: 'done' })
  expect(await rowOf(id)).toEqual({ state: 'waiting', attempts: 1, reason: 'not yet' })
  await runner.drain(0)
  expect(heard.runs).toMatchObject([{ outcome: 'again', reason: 'not yet' }])
  // Once when it started, and once when it ended: the dispatcher may hand out another.
  expect(heard.lines).toBe(2)
})

test('a shutdown waits until a job that ignores its signal is returned, and starts no other', async () => {
  const { add, heard, runner } = start(() => new Promise(() => undefined))
  const [stubborn, next] = [await add(), await add()]
  const verdict = runner.run(stubborn, 'test.plain')
  await expect.poll(() => rowOf(stubborn)).toMatchObject({ state: 'running' })
  expect(runner.running).toBe(1)
  await runner.drain(0)
  expect(await rowOf(stubborn)).toMatchObject({ state: 'queued', attempts: 0 })
  expect(await verdict).toEqual({ kind: 'handed back' })
  expect(heard.runs).toMatchObject([{ outcome: 'handed back', reason: 'ShutdownError: the node is shutting down' }])
  expect(await runner.run(next, 'test.plain')).toEqual({ kind: 'handed back' })
  expect(await rowOf(next)).toMatchObject({ attempts: 0 })
})

test('attempts whose start or end cannot be stored wait for the database together, which is logged once', async () => {
  const fails = { start: 2, finish: 2 }
  const failing = <T>(what: keyof typeof fails, store: () => Promise<T>): Promise<T> => {
    fails[what] -= 1
    return fails[what] >= 0 ? Promise.reject(new Error('the database is away')) : store()
  }
  const { add, heard, logged, runner } = start(
    async () => undefined,
    false,
    (outbox) => ({
      start: (...of) => failing('start', () => outbox.start(...of)),
      finish: (...of) => failing('finish', () => outbox.finish(...of)),
    }),
  )
  const ids = [await add(), await add()]
  await Promise.all(ids.map((id) => runner.run(id, 'test.plain')))
  await expect.poll(() => heard.runs.length).toBe(2)
  expect(heard.runs.map(({ outcome }) => outcome)).toEqual(['done', 'done'])
  const line = 'attempts could not be stored; trying again'
  expect(logged).toEqual([line, line])
})

test('the result of an attempt that cannot be stored at all is logged, and the job runs again', async () => {
  const { add, heard, logged, runner } = start(
    async () => {
      throw new Error('no disk')
    },
    false,
    () => ({ fail: () => Promise.reject(new Error('the database is away')) }),
  )
  const id = await add()
  expect(await runner.run(id, 'test.plain')).toEqual({ kind: 'again', inMs: 1_000, reason: 'no disk' })
  await expect.poll(() => heard.runs.length).toBe(1)
  expect(heard.runs).toMatchObject([{ outcome: 'again', reason: 'no disk' }])
  expect(logged).toEqual(['the result of a job could not be stored'])
})
