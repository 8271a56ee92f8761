/**
 * Publishes thousands of posts while everything fails: `npm run soak:publishing`.
 *
 * Two nodes share a PostgreSQL, a Redis and a sandbox of all platforms. Their posts are due at random times. Meanwhile the
 * platforms refuse, lose and delay replies, nodes are killed and frozen past their leases, Redis is emptied and restarted,
 * and PostgreSQL crashes. At the end, each target is compared with what its platform has:
 *
 * - no post is there twice, and the state of each target is true;
 * - no target is silent: each has ended, or says why it waits, or what the user must decide;
 * - nothing was published before the time of its target, and no call was begun after its late limit.
 *
 * Exits with 1 otherwise. A table lists all outcomes. MINUTES (10) or SECONDS set how long posts are due, TARGETS (5000)
 * how many; LOGS names a file for the output of the nodes.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createLog } from '../../src/core/log.ts'
import { PLATFORMS } from '../../src/platforms/registry.ts'
import type { Fault } from '../../sandbox/faults.ts'
import { openDataDirectory } from '../../src/setup/data-directory.ts'
import { startEmbeddedPostgres } from '../../src/setup/embedded-postgres.ts'
import { machine } from '../bench/support/process.ts'
import { PublishingWorld, type WantedTarget } from '../faults/publishing-world.ts'
import { startRedis } from '../support/redis.ts'
import { judge, settled, type PublishedTarget } from './support/publications.ts'

const SECONDS = Number(process.env['SECONDS'] ?? Number(process.env['MINUTES'] ?? 10) * 60)
const TARGETS = Number(process.env['TARGETS'] ?? 5_000)
/** How long targets may take to end after the last fault. */
const DRAIN_MS = 6 * 60_000
/** How many posts an account gets in a run. Platforms limit posts; TikTok accepts 15 a day. */
const POSTS_OF = (platform: string) => (platform === 'tiktok' ? 14 : 40)
/** YouTube accepts 100 uploads a day from all accounts of an app. Posts beyond that skip YouTube. */
const MAX_OF: Readonly<Record<string, number>> = { youtube: 90 }
const publishers = PLATFORMS.filter(({ publishing }) => publishing !== undefined).map(({ key }) => key)
/** How many posts each platform gets, with `most` for those without a limit. */
const postsFor = (platform: string, most: number) => Math.min(most, MAX_OF[platform] ?? most)
const targetsFor = (most: number) => publishers.reduce((sum, platform) => sum + postsFor(platform, most), 0)
let most = Math.ceil(TARGETS / publishers.length)
while (targetsFor(most) < TARGETS) most += 1
const POSTS = most
const postsOf = (platform: string) => postsFor(platform, POSTS)
/** How many targets there are: at least TARGETS. */
const EXPECTED = targetsFor(POSTS)

const FAULTS: readonly Omit<Fault, 'path' | 'times'>[] = [
  { kind: 'refuse' },
  { kind: 'cut' },
  { kind: 'cut_body' },
  { kind: 'hold' },
  { kind: 'stall' },
  { kind: 'slow', delayMs: 3_000 },
  { kind: 'status', status: 503 },
  { kind: 'status_after', status: 502 },
  { kind: 'status', status: 429, retryAfter: 3 },
]

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T
const log = createLog({ level: 'silent' })
const folder = await mkdtemp(join(tmpdir(), 'crier-soak-publishing-'))
const directory = await openDataDirectory(folder)
const postgres = await startEmbeddedPostgres({ dataDirectory: directory, log })
const redis = await startRedis()
const { LOGS: logFile } = process.env
const world = await PublishingWorld.start({
  databaseUrl: postgres.url,
  redisUrl: redis.url,
  ...(logFile && { logFile }),
})
const said: string[] = []
/** Whether the faults are over. */
const state = { isOver: false }

function say(what: string): void {
  said.push(what)
  console.log(`${new Date().toISOString()} ${what}`)
}

/** Keeps two nodes running. */
async function replace(): Promise<void> {
  while (!state.isOver && world.nodes.length < 2) {
    await world.node().catch((error: Error) => console.log(`a node did not start: ${error.message}`))
  }
}

/** A fault at a random platform, five times a second. */
async function disturbPlatforms(): Promise<void> {
  while (!state.isOver) {
    await delay(200)
    world.sandbox.fakes.get(pick(publishers))?.faults.add({ path: '', times: 1, ...pick(FAULTS) })
  }
}

async function crashPostgres(): Promise<void> {
  const [pid] = (await readFile(join(folder, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')
  process.kill(Number(pid), 'SIGKILL')
}

async function flushRedis(): Promise<void> {
  const client = new Redis(redis.url)
  await client.flushall()
  client.disconnect()
}

const DISTURBANCES: Readonly<Record<string, () => Promise<void>>> = {
  'a node is killed': async () => {
    await world.nodes[0]?.kill()
    await replace()
  },
  'Redis is emptied': flushRedis,
  'PostgreSQL crashes': crashPostgres,
  'Redis is away for 5 s': async () => {
    await redis.kill()
    await delay(5_000)
    await redis.restart()
  },
  // Longer than the lease of its publications.
  'a node is frozen for 75 s': async () => {
    const [node] = world.nodes
    node?.signal('SIGSTOP')
    await delay(75_000)
    node?.signal('SIGCONT')
  },
}

/** All disturbances in turn, with pauses, for as long as posts are due. */
async function disturbNodes(endsAt: number): Promise<void> {
  const order = Object.keys(DISTURBANCES)
  for (let next = 0; Date.now() < endsAt; next += 1) {
    await delay(10_000)
    const name = order[next % order.length] ?? ''
    say(name)
    await DISTURBANCES[name]?.()
  }
}

async function scheduleAll(): Promise<number> {
  const accounts = new Map<string, WantedTarget[]>()
  for (const platform of publishers) {
    const count = Math.ceil(postsOf(platform) / POSTS_OF(platform))
    const list: WantedTarget[] = []
    for (let made = 0; made < count; made += 1) list.push(await world.target(platform))
    accounts.set(platform, list)
  }
  say(`${[...accounts.values()].flat().length} accounts are connected`)
  const begin = Date.now() + 20_000 + POSTS * 60
  let next = 0
  const scheduleSome = async () => {
    for (let post = next++; post < POSTS; post = next++) {
      const text = `soak ${post} end`
      const targets = publishers
        .filter((key) => post < postsOf(key))
        .map((key) => accounts.get(key)?.[Math.floor(post / POSTS_OF(key))])
      const at = begin + Math.floor(Math.random() * SECONDS * 1_000)
      await world.post({
        content: text,
        title: text,
        scheduledFor: new Date(at).toISOString(),
        lateMinutes: pick([1, 5, 60, 60]),
        targets,
      })
    }
  }
  await Promise.all(Array.from({ length: 8 }, scheduleSome))
  if (Date.now() > begin) throw new Error('the posts took too long to schedule')
  return begin
}

let found: { violations: readonly string[]; table: string } = { violations: ['the run has not ended'], table: '' }
try {
  await Promise.all([world.node(), world.node()])
  await world.seed()
  await world.seedMedia()
  const begin = await scheduleAll()
  const endsAt = begin + SECONDS * 1_000
  say(`${POSTS} posts with ${EXPECTED} targets are due within ${SECONDS} s`)
  await delay(begin - Date.now())
  const platforms = disturbPlatforms()
  await disturbNodes(endsAt)
  state.isOver = true
  await platforms
  for (const { faults } of world.sandbox.fakes.values()) faults.clear()
  state.isOver = false
  await replace()
  state.isOver = true
  say('the faults are over')
  const deadline = Date.now() + DRAIN_MS
  const read = async () =>
    (await world.pool.query<PublishedTarget>(settled)).rows.map((row) => ({
      ...row,
      published: world.publishedAt(row.platform, row.text),
    }))
  let rows = await read().catch(() => [])
  while (Date.now() < deadline && (rows.length === 0 || rows.some(({ isEnded }) => !isEnded))) {
    await delay(2_000)
    rows = await read().catch(() => [])
  }
  found = judge(rows, EXPECTED, Date.now())
} finally {
  state.isOver = true
  await world.stop()
  await redis.stop()
  await postgres.stop()
  directory.close()
  await rm(folder, { recursive: true, force: true })
}
console.log(
  `\nMachine: ${machine()}, load ${loadavg()
    .map((load) => load.toFixed(1))
    .join(' ')}`,
)
const counts = Map.groupBy(said, (what) => what)
console.log(
  [...counts]
    .filter(([what]) => what in DISTURBANCES)
    .map(([what, all]) => `${what}: ${all.length}`)
    .join('; '),
)
console.log(`\n${found.table}\n`)
for (const violation of found.violations.slice(0, 50)) console.error(violation)
console.log(`${found.violations.length} violations`)
process.exit(found.violations.length === 0 ? 0 : 1)
