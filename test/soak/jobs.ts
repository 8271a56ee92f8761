/**
 * Runs 10,000 jobs on each backend while PostgreSQL, Redis and the workers fail: `npm run soak:jobs`.
 *
 * Workers kill themselves at every step and are killed at random times; Redis is emptied, and stopped for 20 s;
 * PostgreSQL crashes twice. Every job must end as done, or as dead with a reason, and every effect must happen once. Otherwise it
 * exits with 1. JOBS, WORKERS and BACKENDS (postgres,redis) set the size.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createLog } from '../../src/core/log.ts'
import { Database } from '../../src/db/database.ts'
import { entities } from '../../src/registry/entities.ts'
import { openDataDirectory } from '../../src/setup/data-directory.ts'
import { startEmbeddedPostgres } from '../../src/setup/embedded-postgres.ts'
import { jobsTrial, type TrialReport } from '../faults/jobs-trial.ts'
import { startRedis } from '../support/redis.ts'

const JOBS = Number(process.env['JOBS'] ?? 10_000)
const WORKERS = Number(process.env['WORKERS'] ?? 3)
const BACKENDS = (process.env['BACKENDS'] ?? 'postgres,redis').split(',')

const CRASHES = {
  claimed: 0.05,
  added: 0.05,
  started: 0.0005,
  'before effect': 0.0005,
  'after effect': 0.0005,
  ran: 0.0005,
  finished: 0.0005,
}
const TIMES = { lockMs: 3_000, stalledMs: 1_000, pollMs: 1_000, sweepMs: 1_000, graceMs: 5_000, drainMs: 2_000 }

async function soak(kind: 'postgres' | 'redis'): Promise<TrialReport> {
  const folder = await mkdtemp(join(tmpdir(), 'crier-soak-'))
  const directory = await openDataDirectory(folder)
  const log = createLog({ level: 'silent' })
  const postgres = await startEmbeddedPostgres({ dataDirectory: directory, log })
  const redis = kind === 'redis' ? await startRedis() : undefined
  const database = await Database.connect({ url: postgres.url, poolSize: 2, entities, log })
  await database.migrate()
  await database.close()
  const crash = async () => {
    const [pid] = (await readFile(join(folder, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')
    process.kill(Number(pid), 'SIGKILL')
  }
  try {
    return await jobsTrial({
      databaseUrl: postgres.url,
      store: redis === undefined ? { kind: 'postgres', url: postgres.url } : { kind: 'redis', url: redis.url },
      jobs: JOBS,
      workers: WORKERS,
      times: TIMES,
      crashes: CRASHES,
      timeoutMs: 300_000,
      meanwhile: async ({ killOne }) => {
        for (const fault of ['kill', 'kill', 'crash', 'kill', 'empty', 'kill', 'away', 'kill', 'crash', 'kill']) {
          await delay(1_500)
          if (fault === 'kill') killOne()
          if (fault === 'crash') await crash()
          if (fault === 'empty' && redis !== undefined) await flush(redis.url)
          if (fault === 'away' && redis !== undefined) {
            await redis.kill()
            await delay(20_000)
            await redis.restart()
          }
        }
      },
    })
  } finally {
    await redis?.stop()
    await postgres.stop()
    directory.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function flush(url: string): Promise<void> {
  const client = new Redis(url)
  await client.flushall()
  client.disconnect()
}

for (const kind of BACKENDS) {
  const report = await soak(kind as 'postgres' | 'redis')
  console.log(kind, JSON.stringify({ jobs: JOBS, ...report, seconds: Math.round(report.seconds) }))
  const { deadWithoutReason, doubled, lost, missing } = report
  if (deadWithoutReason + doubled + missing !== 0 || lost !== 0) process.exitCode = 1
}
