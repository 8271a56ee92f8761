import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { CrierProcess } from '../support/crier-process.ts'
import { createDatabase } from '../support/postgres.ts'
import { startRedis } from '../support/redis.ts'
import { waitFor } from '../support/wait.ts'
import { jobsTrial } from './jobs-trial.ts'

/** A short version of `npm run soak:jobs`: workers crash at several steps, and PostgreSQL and Redis fail. */

const CRASHES = { claimed: 1, started: 1, 'after effect': 1, finished: 1 }
const TIMES = { lockMs: 800, stalledMs: 300, pollMs: 300, sweepMs: 300, graceMs: 1_000, drainMs: 500 }

test.each(['postgres', 'redis'] as const)('loses no job on %s, and applies each effect once', async (kind) => {
  const database = await createDatabase()
  const onceFolder = await mkdtemp(join(tmpdir(), 'crier-crashes-'))
  const redis = kind === 'redis' ? await startRedis() : undefined
  try {
    const report = await jobsTrial({
      databaseUrl: database.url,
      store: redis === undefined ? { kind: 'postgres', url: database.url } : { kind: 'redis', url: redis.url },
      jobs: 200,
      workers: 2,
      times: TIMES,
      crashes: CRASHES,
      onceFolder,
      timeoutMs: 120_000,
      meanwhile: async () => {
        await waitFor(() => readdirSync(onceFolder).length > 0)
        await cutSessions(database.url)
        await flushRedis(redis?.url)
        await redis?.kill()
        await delay(1_000)
        await redis?.restart()
      },
    })
    expect(report.crashes).toEqual({ claimed: 1, started: 1, 'after effect': 1, finished: 1 })
    expect(report).toMatchObject({ lost: 0, doubled: 0, missing: 0, deadWithoutReason: 0, dead: 2, done: 198 })
  } finally {
    await redis?.stop()
    await database.drop()
    await rm(onceFolder, { recursive: true, force: true })
  }
})

test('stops while Redis is unavailable, and leaves committed jobs to other nodes', async () => {
  const database = await createDatabase()
  const redis = await startRedis()
  const folder = await mkdtemp(join(tmpdir(), 'crier-stop-'))
  const client = new Client({ connectionString: database.url })
  const env = { DATABASE_URL: database.url, REDIS_URL: redis.url, ROLES: 'api,jobs' }
  try {
    await client.connect()
    const first = await CrierProcess.start(folder, undefined, env)
    await redis.kill()
    const added = await client.query<{ id: string }>(
      `insert into outbox (id, name, queue, data, state, run_at, attempts, added, created_at, updated_at)
       values (gen_random_uuid(), 'auth.housekeeping', 'maintenance', '{}', 'waiting', now(), 0, 0, now(), now()) returning id`,
    )
    expect(await first.stop()).toBe(0)
    // That another node then runs the job is tested in src/jobs/jobs.test.ts.
    const left = await client.query('select state from outbox where id = $1', [added.rows[0]?.id])
    expect(left.rows).toEqual([{ state: 'waiting' }])
  } finally {
    await client.end()
    await redis.stop()
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  }
})

/** Terminates every session, which rolls back open transactions, like a restart of PostgreSQL. */
async function cutSessions(url: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  await client.end()
}

async function flushRedis(url: string | undefined): Promise<void> {
  if (url === undefined) return
  const client = new Redis(url)
  await client.flushall()
  client.disconnect()
}
