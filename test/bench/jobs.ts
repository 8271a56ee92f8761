/**
 * Jobs compared with bare BullMQ on the same store, in one run: `npm run bench:jobs`.
 *
 * 1. Throughput, from rows waiting in the outbox to finished and recorded jobs, against `addBulk` and a bare worker of the
 *    same concurrency. Both use the same connections and settings; the sides alternate, and the figures are medians.
 * 2. Delay of scheduled jobs, from the due time to the start.
 *
 * JOBS, ROUNDS and BACKENDS (postgres,redis) set the size. A job that fails or runs twice ends the run.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Type } from 'typebox'
import { job, QUEUES } from '../../src/core/job.ts'
import { createLog } from '../../src/core/log.ts'
import { Database } from '../../src/db/database.ts'
import { entities } from '../../src/registry/entities.ts'
import { openStore, type StoreChoice } from '../../src/jobs/stores.ts'
import { openDataDirectory } from '../../src/setup/data-directory.ts'
import { startEmbeddedPostgres } from '../../src/setup/embedded-postgres.ts'
import { findRedisServer, startPrivateRedis } from '../../src/setup/redis-server.ts'
import { startJobNode } from '../support/jobs.ts'
import { toolPath } from '../support/tools.ts'
import { machine, median } from './support/process.ts'

const JOBS = Number(process.env['JOBS'] ?? 3_000)
const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const BACKENDS = (process.env['BACKENDS'] ?? 'postgres,redis').split(',')
const DELAYED = 1_000
const SPREAD_MS = 5_000
const CONCURRENCY = QUEUES.default.concurrency

const log = createLog({ level: 'silent' })
let ran = 0
let lateness: number[] = []
const work = job({
  name: 'bench.work',
  summary: 'Nothing',
  queue: 'default',
  data: Type.Object({ due: Type.Number() }),
  run: async ({ data: { due } }) => {
    ran += 1
    if (due > 0) lateness.push(Date.now() - due)
  },
})

interface Setup {
  readonly databaseUrl: string
  readonly database: Database
  readonly store: StoreChoice
}

async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await done())) await delay(5)
}

/** Jobs per second of BullMQ with default settings. */
async function bare({ database, store: choice }: Setup): Promise<number> {
  const store = await openStore(choice, database, log)
  const { Queue, Worker } = store.library
  const name = `bare-${Math.random().toString(36).slice(2)}`
  const options = { prefix: store.prefix, drainDelay: store.drainDelay }
  const queue = new Queue(name, { ...options, connection: store.connection } as never, store.factory as never)
  let count = 0
  const worker = new Worker(
    name,
    (async () => void (count += 1)) as never,
    { ...options, connection: store.workerConnection, concurrency: CONCURRENCY } as never,
    store.factory as never,
  )
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
  let completed = 0
  worker.on('completed', () => (completed += 1))
  let failure: Error | undefined
  worker.on('failed', (_job: unknown, error: Error) => (failure = error))
  const began = performance.now()
  for (let first = 0; first < JOBS; first += 500) {
    await queue.addBulk(
      Array.from({ length: Math.min(500, JOBS - first) }, () => ({
        name: 'work',
        data: { due: 0 },
        opts: { attempts: 5, removeOnComplete: true },
      })),
    )
  }
  await until(() => completed === JOBS || failure !== undefined)
  if (failure) throw failure
  if (count !== JOBS) throw new Error(`bare BullMQ ran ${count} of ${JOBS} jobs`)
  const perSecond = JOBS / ((performance.now() - began) / 1_000)
  await worker.close()
  await queue.close()
  await store.close()
  return perSecond
}

async function ours({ databaseUrl, store }: Setup): Promise<number> {
  const adder = await startJobNode({ databaseUrl, store, jobs: [work], idle: true })
  await adder.database.run('truncate outbox, finished_jobs')
  await adder.database.transaction(async (tx) => {
    for (let n = 0; n < JOBS; n += 1) await adder.jobs.add(tx, work, { due: 0 }, { runAt: new Date(Date.now() + 3e9) })
  })
  // One uncounted job, so that the connection and the worker are ready, as for bare BullMQ.
  const node = await startJobNode({ databaseUrl, store, jobs: [work], times: { pollMs: 5_000, sweepMs: 10_000 } })
  ran = 0
  await node.jobs.add(node.database, work, { due: 0 })
  await until(() => node.runs.length === 1)
  const began = performance.now()
  await node.database.run('update outbox set run_at = now()')
  node.jobs.wake()
  await until(() => node.runs.length === JOBS + 1)
  const perSecond = JOBS / ((performance.now() - began) / 1_000)
  if (ran !== JOBS + 1) throw new Error(`Crier ran ${ran} times for ${JOBS + 1} jobs`)
  await node.stop()
  await adder.stop()
  return perSecond
}

async function late({ databaseUrl, store }: Setup): Promise<number[]> {
  const node = await startJobNode({ databaseUrl, store, jobs: [work], times: { pollMs: 5_000, sweepMs: 10_000 } })
  await node.jobs.add(node.database, work, { due: 0 })
  await until(() => node.runs.length === 1)
  lateness = []
  const start = Date.now() + 3_000
  await node.database.transaction(async (tx) => {
    for (let n = 0; n < DELAYED; n += 1) {
      const due = start + Math.floor(Math.random() * SPREAD_MS)
      await node.jobs.add(tx, work, { due }, { runAt: new Date(due) })
    }
  })
  await until(() => lateness.length === DELAYED)
  await node.stop()
  return lateness.toSorted((a, b) => a - b)
}

const at = (sorted: readonly number[], share: number) => sorted[Math.floor(sorted.length * share)] ?? 0

const folder = mkdtempSync(join(tmpdir(), 'crier-bench-'))
const dataDirectory = await openDataDirectory(folder)
const postgres = await startEmbeddedPostgres({ dataDirectory, log })
const { command, env } = toolPath('redis-server')
const binary = findRedisServer(`${command.replace(/\/[^/]*$/, '')}:${process.env['PATH'] ?? ''}`)
if (env) Object.assign(process.env, env)
const redis = binary === undefined ? undefined : await startPrivateRedis({ dataDirectory, binary, log })
const database = await Database.connect({ url: postgres.url, poolSize: 2, entities, log })
await database.migrate()
console.log(machine())
console.log(
  '| store | jobs/s, outbox to done | bare BullMQ | ratio | delay p50 / p99 / max, ms |\n|---|---|---|---|---|',
)
for (const kind of BACKENDS) {
  if (kind === 'redis' && redis === undefined) throw new Error('no redis-server on PATH')
  const url = kind === 'redis' ? (redis?.url ?? '') : postgres.url
  const setup: Setup = { databaseUrl: postgres.url, database, store: { kind: kind as 'postgres' | 'redis', url } }
  await ours(setup)
  await bare(setup)
  const rounds: [number, number][] = []
  for (let round = 0; round < ROUNDS; round += 1) rounds.push([await ours(setup), await bare(setup)])
  const sorted = await late(setup)
  const ratio = median(rounds.map(([a, b]) => a / b))
  console.log(
    `| ${kind} | ${median(rounds.map(([a]) => a)).toFixed(0)} | ${median(rounds.map(([, b]) => b)).toFixed(0)} | **${(ratio * 100).toFixed(0)} %** | ${at(sorted, 0.5)} / ${at(sorted, 0.99)} / ${sorted.at(-1)} |`,
  )
}
await database.close()
await redis?.stop()
await postgres.stop()
dataDirectory.close()
rmSync(folder, { recursive: true, force: true })
