import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { createDatabase } from '../support/postgres.ts'
import { startRedis } from '../support/redis.ts'
import { waitFor } from '../support/wait.ts'
import { jobsTrial } from './jobs-trial.ts'

/** A small version of `npm run soak:jobs`: workers die at every step, and what they stand on goes away. */

const DEATHS = { claimed: 1, started: 1, 'after effect': 1, finished: 1 }
const TIMES = { lockMs: 800, stalledMs: 300, pollMs: 300, sweepMs: 300, graceMs: 1_000, drainMs: 500 }

test.each(['postgres', 'redis'] as const)('on %s no job is lost, and single effects are single', async (kind) => {
  const database = await createDatabase()
  const once = await mkdtemp(join(tmpdir(), 'crier-deaths-'))
  const redis = kind === 'redis' ? await startRedis() : undefined
  try {
    const report = await jobsTrial({
      databaseUrl: database.url,
      store: redis === undefined ? { kind: 'postgres', url: database.url } : { kind: 'redis', url: redis.url },
      jobs: 200,
      workers: 2,
      times: TIMES,
      deaths: DEATHS,
      once,
      timeoutMs: 120_000,
      meanwhile: async () => {
        await waitFor(() => readdirSync(once).length > 0, { timeoutMs: 60_000 })
        await cutSessions(database.url)
        await lose(redis?.url)
        await redis?.kill()
        await delay(1_000)
        await redis?.restart()
      },
    })
    expect(report.deaths).toEqual({ claimed: 1, started: 1, 'after effect': 1, finished: 1 })
    expect(report).toMatchObject({ lost: 0, doubled: 0, missing: 0, deadWithoutReason: 0, dead: 2, done: 198 })
  } finally {
    await redis?.stop()
    await database.drop()
    await rm(once, { recursive: true, force: true })
  }
})

/** As when PostgreSQL restarts: every session ends, transactions in the middle are rolled back. */
async function cutSessions(url: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  await client.end()
}

async function lose(url: string | undefined): Promise<void> {
  if (url === undefined) return
  const client = new Redis(url)
  await client.flushall()
  client.disconnect()
}
