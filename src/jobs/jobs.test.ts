import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { startJobNode, type JobNode, type JobNodeOptions } from '../../test/support/jobs.ts'
import { createDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { startRedis, type TestRedis } from '../../test/support/redis.ts'
import { waitFor } from '../../test/support/wait.ts'
import { uuidv7 } from '../tools/id.ts'
import { UnrecoverableError, job, schedule, type AnyJob, type JobContext } from '../core/job.ts'
import { Type } from '../core/schema.ts'
import type { StoreChoice } from './stores.ts'

type Run = (context: JobContext<{ n: number }>) => Promise<void>
let meet: Run = async () => undefined
const seen: number[] = []

const data = Type.Object({ n: Type.Integer() })
const quick = { firstMs: 5, maxMs: 20 }
const count = job({
  name: 'test.count',
  summary: 'Counts',
  queue: 'default',
  data,
  attempts: 3,
  backoff: quick,
  timeoutMs: 30_000,
  run: async (context) => {
    seen.push(context.data.n)
    await meet(context)
  },
})
const secret = job({
  name: 'test.secret',
  summary: 'Fail with a secret in the error',
  queue: 'default',
  data: Type.Object({ token: Type.String() }),
  sealed: true,
  attempts: 1,
  run: async ({ data: { token } }) => {
    seen.push(token.length)
    throw new UnrecoverableError(`no answer from rtmp://me:${token}@example.com`)
  },
})
const heavy = job({ ...count, name: 'test.heavy', queue: 'media', backoff: { firstMs: 400, maxMs: 400 } })
const jobs: AnyJob[] = [count, secret, heavy]
const [ADA, BOB, CYD] = ['a', 'b', 'c'].map((end) => `01939c5e-7a3b-7c21-9f58-00000000000${end}`) as [
  string,
  string,
  string,
]

describe.each(['postgres', 'redis'] as const)('jobs on %s', (kind) => {
  let databaseOf: TestDatabase
  let redis: TestRedis | undefined
  let store: StoreChoice
  const nodes: JobNode[] = []

  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedis() : undefined
    databaseOf = await createDatabase()
    store = redis === undefined ? { kind: 'postgres', url: databaseOf.url } : { kind: 'redis', url: redis.url }
    // Loads the library, so that tests do not wait for it.
    const first = await start()
    await first.runtime?.backend()
    await first.stop()
    nodes.length = 0
  })
  afterAll(async () => {
    await redis?.stop()
    await databaseOf.drop()
  })

  async function start(options: Partial<JobNodeOptions> = {}): Promise<JobNode> {
    const node = await startJobNode({ databaseUrl: databaseOf.url, store, jobs, ...options })
    nodes.push(node)
    return node
  }

  afterEach(async () => {
    await nodes[0]?.database.run('truncate outbox, finished_jobs, job_schedules')
    for (const node of nodes.splice(0)) await node.stop()
    seen.length = 0
    meet = async () => undefined
  })

  const left = async ({ database }: JobNode) =>
    database.rows<{ state: string; attempts: number; reason: string | null; data: unknown; name: string }>(
      'select state, attempts, reason, data, name from outbox',
    )
  const finished = async ({ database }: JobNode) =>
    database.rows<{ name: string; attempts: number }>('select * from finished_jobs')

  test('runs committed jobs once, and no rolled-back jobs', async () => {
    const node = await start()
    const id = await node.jobs.add(node.database, count, { n: 1 })
    await node.database.transaction(async (tx) => {
      for (let n = 2; n <= 50; n += 1) await node.jobs.add(tx, count, { n })
    })
    await expect(
      node.database.transaction(async (tx) => {
        await node.jobs.add(tx, count, { n: 99 })
        throw new Error('no')
      }),
    ).rejects.toThrow('no')
    await waitFor(async () => (await finished(node)).length === 50)
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1))
    expect(await left(node)).toEqual([])
    // As if its worker was killed before it could report the end. The next worker that gets the job reports it.
    const backend = await node.runtime?.backend()
    await backend?.add('default', [{ id, name: count.name, workspaceId: null, again: false }])
    // Any of the other jobs may have been handed over twice, which is reported in the same way.
    const ended = () => node.ended.find((one) => one.id === id)
    await waitFor(() => ended() !== undefined)
    expect(ended()).toMatchObject({ name: 'test.count', state: 'done' })
  })

  test('retries after a delay, and keeps dead jobs with reason and payload', async () => {
    // Without the sweep, which would find jobs that were not retried.
    const node = await start({ times: { sweepMs: 3_600_000 } })
    meet = async ({ data: { n }, attempt }) => {
      if (n === 1 && attempt.number < 3) throw new Error('not yet')
      if (n === 2) throw new TypeError('never')
      if (n === 3) throw new UnrecoverableError('no use')
    }
    for (const n of [1, 2, 3]) await node.jobs.add(node.database, count, { n })
    await waitFor(async () => (await left(node)).filter(({ state }) => state === 'dead').length === 2)
    await waitFor(async () => (await finished(node)).length === 1)
    expect(await finished(node)).toMatchObject([{ attempts: 3 }])
    expect((await left(node)).toSorted((a, b) => a.attempts - b.attempts)).toEqual([
      { name: 'test.count', state: 'dead', attempts: 1, reason: 'UnrecoverableError: no use', data: { n: 3 } },
      { name: 'test.count', state: 'dead', attempts: 3, reason: 'TypeError: never', data: { n: 2 } },
    ])
  })

  test('refuses data that does not match the schema, when adding and when reading', async () => {
    const node = await start()
    await expect(node.jobs.add(node.database, count, { n: 'x' } as never)).rejects.toThrow(
      /test\.count is not valid.*\/n/,
    )
    await node.jobs.add(node.database, count, { n: 7 }, { runAt: new Date(Date.now() + 60_000) })
    await node.database.run(`update outbox set data = '{"n": "old"}', run_at = now()`)
    await waitFor(async () => (await left(node))[0]?.state === 'dead')
    expect((await left(node))[0]?.reason).toMatch(/stored data is not valid/)
    // A job of a newer version, whose nodes get time to start.
    const id = await node.jobs.add(node.database, count, { n: 8 }, { runAt: new Date(Date.now() + 60_000) })
    await node.database.run(`update outbox set name = 'test.newer', run_at = now() where id = $1`, [id])
    const newer = () =>
      node.database.row(`select 1 from outbox where reason ~ 'this version has no job test.newer'
      and state = 'queued' and run_at > now() + interval '20 seconds'`)
    await waitFor(async () => (await newer()) !== undefined)
    expect(seen).toEqual([])
  })

  test('runs the remaining jobs of a queue that this version no longer has', async () => {
    const node = await start()
    const insert = `insert into outbox (id, name, queue, data, state, run_at, attempts, added, created_at, updated_at)
      select gen_random_uuid(), 'test.count', 'gone', '{"n":1}', state, now(), 0, 0, now(), now() - interval '1 minute'
      from unnest(array['waiting', 'queued']) state`
    await node.database.run(insert)
    await node.jobs.add(node.database, count, { n: 2 })
    await waitFor(async () => (await finished(node)).length === 3)
  })

  test('encrypts sealed data and hides secrets in reasons', async () => {
    const node = await start()
    await node.jobs.add(node.database, secret, { token: 'hunter2hunter2' })
    await waitFor(async () => (await left(node))[0]?.state === 'dead')
    expect(seen).toEqual([14])
    expect(JSON.stringify(await left(node)) + node.logs.join('')).not.toContain('hunter2')
  })

  test('runs no job before its time, and only one of the waiting jobs with the same key', async () => {
    const node = await start()
    const at = Date.now() + 3_000
    const times: number[] = []
    meet = async () => void times.push(Date.now())
    const options = { runAt: new Date(at), key: 'one' }
    await Promise.all([1, 2, 3].map((n) => node.jobs.add(node.database, count, { n }, options)))
    await waitFor(() => times.length > 0)
    expect(times[0]).toBeGreaterThanOrEqual(at)
    await waitFor(async () => (await left(node)).length === 0)
    // The job has started, so another one with its key can be added.
    await node.jobs.add(node.database, count, { n: 4 }, { key: 'one' })
    await waitFor(() => times.length === 2)
  })

  test('commits an effect once, and no effect of an attempt that has lost its job', async () => {
    const node = await start({ times: { lockMs: 30_000 } })
    await node.database.run('create table effects (n integer)')
    const write: Run = ({ data: { n }, effect }) =>
      effect(async (tx) => void (await tx.run('insert into effects values ($1)', [n])))
    let lost: unknown
    meet = async (context) => {
      const {
        attempt,
        data: { n },
      } = context
      if (n === 1 && attempt.number === 1) {
        // As if this worker was considered lost: another one starts the next attempt.
        await node.jobs.outbox.start(attempt.jobId, uuidv7(Date.now()))
        await write(context).catch((error: unknown) => (lost = error))
        throw lost
      }
      // Fails after its effect was committed. The job is done.
      await write(context)
      if (n === 2) throw new Error('too late')
    }
    await node.jobs.add(node.database, count, { n: 1 })
    await node.jobs.add(node.database, count, { n: 2 })
    await waitFor(() => node.runs.length === 2)
    expect(node.runs.map(({ outcome }) => outcome).toSorted()).toEqual(['done', 'lost'])
    expect(lost).toMatchObject({ name: 'AttemptLostError' })
    expect(await node.database.rows('select n from effects')).toEqual([{ n: 2 }])
    expect(await left(node)).toMatchObject([{ state: 'running', attempts: 2 }])
  })

  test('ends in a transaction of its caller, unless that rolls back or the job was lost', async () => {
    const node = await start({ times: { lockMs: 30_000 } })
    let lost: unknown
    meet = async ({ attempt, complete, data: { n } }) => {
      if (n === 1) await node.jobs.outbox.start(attempt.jobId, uuidv7(Date.now()))
      const committed = node.database.transaction(async (tx) => {
        await complete(tx)
        if (n === 2 && attempt.number === 1) throw new Error('rolled back')
      })
      await committed.catch((error: unknown) => {
        if (n === 1) lost = error
        throw error
      })
    }
    for (const n of [1, 2, 3]) await node.jobs.add(node.database, count, { n })
    await waitFor(() => node.runs.length === 4)
    expect(node.runs.map(({ outcome }) => outcome).toSorted()).toEqual(['again', 'done', 'done', 'lost'])
    expect(lost).toMatchObject({ name: 'AttemptLostError' })
    expect(new Set((await finished(node)).map(({ attempts }) => attempts))).toEqual(new Set([1, 2]))
    expect(await left(node)).toMatchObject([{ state: 'running', attempts: 2 }])
  })

  test('times out an attempt, also one that ignores its signal', async () => {
    const slow = { ...count, name: 'test.slow', timeoutMs: 100, attempts: 1 } as const
    const node = await start({ jobs: [slow] })
    meet = async ({ data: { n }, signal }) => {
      await new Promise((resolve) => {
        if (n === 1) signal.addEventListener('abort', resolve)
      })
      signal.throwIfAborted()
    }
    for (const n of [1, 2]) await node.jobs.add(node.database, slow, { n })
    await waitFor(async () => (await left(node)).filter(({ state }) => state === 'dead').length === 2)
    for (const { reason } of await left(node)) expect(reason).toBe('TimeoutError: took longer than 100 ms')
  })

  test('hands back running jobs on shutdown, and an idle node finishes them without waiting for locks or sweeps', async () => {
    // Longer than the test waits, so no job is recovered by an expired lock or a sweep.
    const times = { lockMs: 600_000, sweepMs: 600_000, graceMs: 600_000 }
    const first = await start({ times })
    meet = ({ data: { n }, signal }) =>
      new Promise((resolve, reject) => {
        if (n > 10) resolve()
        else signal.addEventListener('abort', () => reject(signal.reason as Error))
      })
    for (let n = 1; n <= 10; n += 1) await first.jobs.add(first.database, count, { n })
    await waitFor(() => seen.length === 10)
    const second = await start({ times })
    await waitFor(async () => {
      await second.jobs.add(second.database, count, { n: 11 })
      return second.runs.length > 0
    })
    const others = () => seen.filter((n) => n > 10).length
    await waitFor(async () => (await finished(second)).length === others() && (await left(second)).length === 10)
    meet = async () => undefined
    await nodes.shift()?.stop()
    await waitFor(async () => (await left(second)).length === 0)
    expect(new Set((await finished(second)).map(({ attempts }) => attempts))).toEqual(new Set([1]))
  })

  test('keeps the rate limit of a queue across nodes', async () => {
    const perMs = 3_000
    const queues = { default: { concurrency: 3, rate: { max: 4, perMs } } }
    const node = await start({ queues })
    await start({ queues })
    const began: number[] = []
    let atOnce = 0
    let most = 0
    meet = async () => {
      began.push(performance.now())
      most = Math.max(most, (atOnce += 1))
      await new Promise((resolve) => setImmediate(resolve))
      atOnce -= 1
    }
    await node.database.transaction(async (tx) => {
      for (let n = 1; n <= 10; n += 1) await node.jobs.add(tx, count, { n })
    })
    await waitFor(async () => (await finished(node)).length === 10)
    // Four, four and two, in three periods. A start is recorded after it is counted, at most a period later.
    const since = (index: number) => (began[index] ?? 0) - (began[0] ?? 0)
    expect(since(8)).toBeGreaterThan(perMs)
    expect(most).toBeLessThanOrEqual(6)
  })

  test.runIf(kind === 'redis')('stops in time while the store is unavailable, and loses no job', async () => {
    const node = await start()
    meet = ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    await node.jobs.add(node.database, count, { n: 1 })
    await waitFor(() => seen.length === 1)
    await redis?.kill()
    // Committed while no node can be notified.
    for (const n of [2, 3]) await node.jobs.add(node.database, count, { n })
    await nodes.shift()?.stop()
    await redis?.restart()
    meet = async () => undefined
    const next = await start()
    await waitFor(async () => (await finished(next)).length === 3)
    expect(await left(next)).toEqual([])
    expect(seen.toSorted((a, b) => a - b)).toEqual([1, 1, 2, 3])
  })

  test.runIf(kind === 'redis')(
    'detects that its store was emptied, also when another node starts afterwards',
    async () => {
      const node = await start()
      await (await node.runtime?.backend())?.store.wasEmptied()
      const other = await start({ times: { sweepMs: 60_000, pollMs: 60_000 } })
      // Too young to be found by the sweep.
      const insert = `insert into outbox (id, name, queue, data, state, run_at, attempts, added, created_at, updated_at)
      values (gen_random_uuid(), 'test.count', 'default', '{"n":1}', 'queued', now(), 0, 1, now(), now() + interval '1 hour')`
      await node.database.run(insert)
      const client = new Redis(redis?.url ?? '')
      await client.flushall()
      await other.runtime?.backend()
      client.disconnect()
      const lines = () => node.logs.filter((line) => line.includes('were emptied'))
      await waitFor(() => lines().length === 1)
      await waitFor(async () => (await finished(node)).length === 1)
    },
  )

  test.runIf(kind === 'redis')(
    'a queue that is first used while the store is unavailable works afterwards',
    async () => {
      const rare = job({ name: 'test.rare', summary: 'Rare', queue: 'media', data, run: async () => undefined })
      const node = await start({ jobs: [count, rare] })
      await node.jobs.add(node.database, count, { n: 1 })
      await waitFor(async () => (await finished(node)).length === 1)
      await redis?.kill()
      await node.jobs.add(node.database, rare, { n: 2 })
      await waitFor(() => node.logs.some((line) => line.includes('could not be added to their queues')))
      await redis?.restart()
      await waitFor(async () => (await finished(node)).length === 2)
    },
  )

  describe('fair queues', () => {
    const queues = { media: { concurrency: 1 } }
    /** Workspaces in the order in which their jobs ran. */
    let served: string[] = []
    /** Jobs end when it opens. */
    let gate = Promise.withResolvers<void>()

    beforeEach(() => {
      served = []
      gate = Promise.withResolvers()
      meet = async ({ workspaceId = 'none' }) => {
        served.push(workspaceId)
        await gate.promise
      }
    })
    afterEach(() => gate.resolve())

    const add = async (node: JobNode, workspaceId: string, howMany: number) => {
      await node.database.transaction(async (tx) => {
        for (let n = 1; n <= howMany; n += 1) await node.jobs.add(tx, heavy, { n }, { workspaceId })
      })
    }

    test('run the first job of a workspace before the backlog of another one', async () => {
      const node = await start({ queues })
      await add(node, ADA, 30)
      await waitFor(() => served.length === 1)
      await add(node, BOB, 1)
      await add(node, CYD, 3)
      gate.resolve()
      await waitFor(async () => (await finished(node)).length === 34)
      // One was running, and a few were already in the backend.
      expect(served.indexOf(BOB)).toBeLessThan(8)
      expect(served.indexOf(CYD)).toBeLessThan(8)
      expect(served.lastIndexOf(CYD)).toBeLessThan(16)
      expect(await left(node)).toEqual([])
    })

    test('do not run retries of a workspace before the jobs of others', async () => {
      const node = await start({ queues })
      meet = async ({ attempt, workspaceId = 'none' }) => {
        if (workspaceId === ADA && attempt.number === 1) throw new Error('not yet')
        served.push(workspaceId)
        await gate.promise
      }
      await add(node, ADA, 20)
      await waitFor(() => served.length === 1)
      const due = () => node.database.rows('select id from outbox where attempts = 1 and run_at <= now()')
      await waitFor(async () => (await due()).length === 19)
      await add(node, BOB, 1)
      gate.resolve()
      await waitFor(async () => (await finished(node)).length === 21)
      expect(served.indexOf(BOB)).toBeLessThan(8)
    })

    test('add few jobs to the backend at a time, also with two nodes', async () => {
      const node = await start({ queues })
      await start({ queues })
      await add(node, ADA, 30)
      await waitFor(() => served.length === 2)
      const given = () => node.database.rows(`select id from outbox where state = 'queued'`)
      await waitFor(async () => (await given()).length === 4)
      gate.resolve()
      await waitFor(async () => (await finished(node)).length === 30)
    })

    test('have a line for jobs without a workspace', async () => {
      const node = await start({ queues })
      await add(node, ADA, 10)
      await waitFor(() => served.length === 1)
      await node.jobs.add(node.database, heavy, { n: 1 })
      gate.resolve()
      await waitFor(async () => (await finished(node)).length === 11)
      expect(served.indexOf('none')).toBeLessThan(8)
    })

    test('jobs of a queue that is no longer fair still run', async () => {
      const node = await start({ queues })
      gate.resolve()
      await node.jobs.add(node.database, count, { n: 1 }, { runAt: new Date(Date.now() + 60_000), workspaceId: ADA })
      await node.database.run('update outbox set line = workspace_id, run_at = now()')
      await waitFor(async () => (await finished(node)).length === 1)
    })
  })

  test('keeps the concurrency of a queue', async () => {
    const node = await start({ queues: { default: { concurrency: 3 } } })
    const release = Promise.withResolvers<void>()
    meet = () => release.promise
    for (let n = 1; n <= 5; n += 1) await node.jobs.add(node.database, count, { n })
    await waitFor(() => node.runtime?.running === 3)
    // The waiting jobs are in the queue and stay there.
    await waitFor(async () => (await left(node)).filter(({ state }) => state === 'queued').length === 2)
    expect(node.runtime?.running).toBe(3)
    // One of them gets lost there. The sweep checks both, and must not change the other.
    await node.database.run(`update outbox set updated_at = now() - interval '1 hour' where state = 'queued'`)
    const [lost, other] = await node.database.rows<{ id: string; added: number }>(
      `select id, added from outbox where state = 'queued' order by id`,
    )
    const backend = await node.runtime?.backend()
    await backend?.remove('default', [lost?.id ?? ''])
    const again = `select 1 from outbox where id = $1 and added > $2 and state = 'queued'`
    await waitFor(async () => (await node.database.row(again, [lost?.id ?? '', lost?.added ?? 0])) !== undefined)
    const old = `select id from outbox where updated_at < now() - interval '50 minutes'`
    expect(await node.database.rows(old)).toEqual([{ id: other?.id }])
    release.resolve()
    await waitFor(async () => (await finished(node)).length === 5)
  })

  test('starts no worker during a shutdown', async () => {
    // Without the sweep, which could wait for the lock first.
    const node = await start({ times: { sweepMs: 3_600_000 } })
    const backend = await node.runtime?.backend()
    const started = vi.spyOn(backend as NonNullable<typeof backend>, 'work')
    let closing: Promise<void> | undefined
    await node.database.transaction(async (tx) => {
      // The node asks which queues have jobs, and gets the answer when it is closing.
      await tx.run('lock table outbox in access exclusive mode')
      await node.jobs.add(tx, count, { n: 1 })
      await tx.run(`update outbox set state = 'queued'`)
      const asked = `select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%as q (queue)%'`
      // On another connection, because a transaction keeps the first view of the activity that it reads.
      await waitFor(async () => (await node.database.row(asked)) !== undefined)
      closing = node.runtime?.close()
    })
    await closing
    expect(started).not.toHaveBeenCalled()
  })

  test('connects to no queues after a shutdown', async () => {
    const node = await start()
    await node.runtime?.close()
    await expect(node.runtime?.backend()).rejects.toThrow('the node is shutting down')
  })

  test('runs a schedule on one node only', async () => {
    let runs = 0
    const every = schedule({
      name: 'test.every',
      summary: 'Run every second',
      cron: '* * * * * *',
      run: async () => void (runs += 1),
    })
    const adder = await start({ idle: true })
    // Stored with a wrong clock. Without a correction, nothing would run for a year.
    await adder.database.run(`insert into job_schedules (name, cron, next_at, updated_at)
      values ('test.every', '* * * * * * UTC', now() + interval '1 year', now() + interval '1 year')`)
    const first = await start({ jobs: [every] })
    await start({ jobs: [every] })
    await waitFor(() => runs >= 2)
    const ran = runs
    const slots = await first.database.rows('select id from finished_jobs union all select id from outbox')
    const [row] = await first.database.rows<{ next_at: string }>('select next_at from job_schedules')
    // Not in a year any more. How late the newest run is depends on the machine.
    expect(Date.parse(row?.next_at ?? '')).toBeLessThan(Date.now() + 60_000)
    expect(ran).toBeLessThanOrEqual(slots.length)
  })
})
