/**
 * How late posts start when many are due at once, and whether publishing costs memory: `npm run bench:publishing`.
 *
 * 1. 1,000 targets of one workspace, due in the same second, on each store of jobs. Times have whole seconds. The lateness is that of the
 *    start of the call which publishes, as the node logs it for the user. Medians of several rounds.
 * 2. The memory of the process after 10,000 publications and after 100,000 (MEMORY=1; about an hour).
 *
 * One node, PostgreSQL, Redis and the platform run on this machine. STORES (postgres,redis), DUE (1000) and ROUNDS (3) set
 * the size. A target that is not published ends the run.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createLog } from '../../src/core/log.ts'
import { openDataDirectory } from '../../src/setup/data-directory.ts'
import { startEmbeddedPostgres } from '../../src/setup/embedded-postgres.ts'
import { PublishingWorld } from '../faults/publishing-world.ts'
import { startRedis } from '../support/redis.ts'
import { machine, median, proportionalBytes } from './support/process.ts'

const DUE = Number(process.env['DUE'] ?? 1_000)
const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const STORES = (process.env['STORES'] ?? 'postgres,redis').split(',')
const MEMORY = process.env['MEMORY'] === '1'
/** Platforms that publish a text by one call. */
const PLATFORM = 'bluesky'
const ACCOUNTS = 20
const log = createLog({ level: 'silent' })
const at = (sorted: readonly number[], share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0)

/** Schedules posts for the same second. @returns how late each call began, sorted; milliseconds */
async function round(world: PublishingWorld, accounts: readonly string[], count: number): Promise<number[]> {
  const begin = Math.ceil((Date.now() + 5_000 + count * 50) / 1_000) * 1_000
  const scheduledFor = new Date(begin).toISOString()
  let next = 0
  const scheduleSome = async () => {
    for (let n = next++; n < count; n = next++) {
      await world.post({
        content: `Number ${n} of ${begin}`,
        scheduledFor,
        targets: [{ accountId: accounts[n % accounts.length] }],
      })
    }
  }
  await Promise.all(Array.from({ length: 16 }, scheduleSome))
  if (Date.now() > begin - 1_000) throw new Error('the posts took too long to schedule')
  const query = `select t.status, t.scheduled_at as due, (
      select (c->>'at')::timestamptz from post_attempts a, jsonb_array_elements(a.calls::jsonb) c
      where a.target_id = t.id and c->>'method' = 'POST' and c->>'url' like '%putRecord%' order by 1 limit 1) as called
    from post_targets t where t.scheduled_at = $1`
  for (;;) {
    await delay(500)
    const left = await world.pool.query<{ left: number }>(
      `select count(*)::int as left from post_targets where status in ('scheduled', 'publishing')`,
    )
    if (left.rows[0]?.left === 0) break
    if (Date.now() > begin + 120_000) throw new Error(`${left.rows[0]?.left} targets are not published`)
  }
  const { rows } = await world.pool.query<{ status: string; due: Date; called: Date | null }>(query, [new Date(begin)])
  const bad = rows.filter(({ called, status }) => status !== 'published' || called === null)
  if (rows.length !== count || bad.length > 0) throw new Error(`${bad.length} of ${rows.length} are not published`)
  return rows.map(({ called, due }) => (called?.getTime() ?? 0) - due.getTime()).toSorted((a, b) => a - b)
}

async function withWorld<T>(store: string, work: (world: PublishingWorld) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'crier-bench-publishing-'))
  const directory = await openDataDirectory(folder)
  const postgres = await startEmbeddedPostgres({ dataDirectory: directory, log })
  const redis = store === 'redis' ? await startRedis() : undefined
  const world = await PublishingWorld.start({ databaseUrl: postgres.url, ...(redis && { redisUrl: redis.url }) })
  try {
    await world.node()
    await world.seed()
    return await work(world)
  } finally {
    await world.stop()
    await redis?.stop()
    await postgres.stop()
    directory.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function accountsOf(world: PublishingWorld): Promise<string[]> {
  const made: string[] = []
  while (made.length < ACCOUNTS) made.push(await world.account(PLATFORM))
  return made
}

console.log(
  `Machine: ${machine()}, load ${loadavg()
    .map((load) => load.toFixed(1))
    .join(' ')}\n`,
)
console.log(`| store | targets | lateness p50 | p90 | p99 | max, ms |\n|---|---|---|---|---|---|`)
for (const store of STORES) {
  await withWorld(store, async (world) => {
    const accounts = await accountsOf(world)
    await round(world, accounts, 100)
    const rounds: number[][] = []
    for (let n = 0; n < ROUNDS; n += 1) rounds.push(await round(world, accounts, DUE))
    const figures = [0.5, 0.9, 0.99, 0.9999].map((share) => median(rounds.map((sorted) => at(sorted, share))))
    console.log(`| ${store} | ${DUE} | ${figures.join(' | ')} |`)
  })
}
if (MEMORY) {
  await withWorld('redis', async (world) => {
    const accounts = await accountsOf(world)
    const bytes = () => (proportionalBytes(world.nodes[0]?.pid ?? 0) / 1_048_576).toFixed(0)
    let published = 0
    for (const goal of [1_000, 10_000, 100_000]) {
      while (published < goal) {
        await round(world, accounts, Math.min(2_000, goal - published))
        published += Math.min(2_000, goal - published)
      }
      console.log(`after ${goal} publications: ${bytes()} MB`)
    }
  })
}
