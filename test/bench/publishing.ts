/**
 * How late posts start when many are due at once, and whether publishing costs memory: `npm run bench:publishing`.
 *
 * 1. 1,000 targets of one workspace, due in the same second, on each store of jobs. Times have whole seconds. The lateness is that of the
 *    start of the call which publishes, as the node logs it for the user, and of the moment at which the platform has handled it. Medians
 *    of several rounds, with the CPU time of the node for a target, from its claim to its end.
 * 2. What the platform itself takes for as many calls at once, from a bare client in its own process.
 * 3. The memory of the process after that many publications (MEMORY=10000,100000), which it makes as fast as it can: what is resident,
 *    and what is alive after a full garbage collection, at once and when the workspace's actor has been dropped as idle: data, and code that
 *    V8 has compiled. SNAPSHOTS names a folder for heap snapshots of the node at these points.
 *    `STORES= MEMORY=10000,100000 npm run bench:publishing` does only that.
 *
 * One node, PostgreSQL, Redis and the platform run on this machine. STORES (postgres,redis), DUE (1000) and ROUNDS (3) set
 * the size. LOGS names a file for the output of the node. A target that is not published ends the run.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { DEFAULT_LIMITS } from '../../actors/limits.ts'
import { createLog } from '../../src/core/log.ts'
import { openDataDirectory } from '../../src/setup/data-directory.ts'
import { startEmbeddedPostgres } from '../../src/setup/embedded-postgres.ts'
import { PublishingWorld } from '../faults/publishing-world.ts'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { startRedis } from '../support/redis.ts'
import { liveBytes, type LiveBytes } from './support/live-bytes.ts'
import { cpuSeconds, machine, median, proportionalBytes } from './support/process.ts'
import { START_ENV, START_FLAGS } from './support/start-settings.ts'

const DUE = Number(process.env['DUE'] ?? 1_000)
const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const STORES = (process.env['STORES'] ?? 'postgres,redis').split(',').filter(Boolean)
const MEMORY = (process.env['MEMORY'] ?? '').split(',').filter(Boolean).map(Number)
const { LOGS, SNAPSHOTS } = process.env
/** Platforms that publish a text by one call. */
const PLATFORM = 'bluesky'
/** The platform takes 2,500 posts an hour from an account. */
const ACCOUNTS = 100
/** When no target has been published for so long, the run ends. A platform that is slow on a loaded machine takes time. */
const STUCK_MS = 120_000
/** Posts of one bulk request. */
const BULK = 500
/** Posts that are to be published at the same time. More would be late, and then be spread as after an outage. */
const UNDER_WAY = 1_500
/** An actor is dropped 10 s after its idle time at the latest, if nothing wakes it up. */
const DROPPED_MS = DEFAULT_LIMITS.idleMs + 12_000
const log = createLog({ level: 'silent' })
const at = (sorted: readonly number[], share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0)

interface Round {
  /** How late each call began, sorted; milliseconds. */
  readonly started: readonly number[]
  /** How late the platform had each post, sorted; milliseconds. */
  readonly arrived: readonly number[]
  /** Milliseconds of CPU time of the node for each target. */
  readonly cpuMs: number
}

/** Schedules posts for the same second, and waits until they are published. */
async function round(world: PublishingWorld, accounts: readonly string[], count: number): Promise<Round> {
  const begin = Math.ceil((Date.now() + 12_000 + count * 6) / 1_000) * 1_000
  const scheduledFor = new Date(begin).toISOString()
  for (let first = 0; first < count; first += BULK) {
    const posts = Array.from({ length: Math.min(BULK, count - first) }, (_, index) => ({
      content: `Number ${first + index} of ${begin}.`,
      scheduledFor,
      targets: [{ accountId: accounts[(first + index) % accounts.length] }],
    }))
    await world.call('POST /api/posts/bulk', { body: { workspaceId: world.workspaceId, posts } })
  }
  if (Date.now() > begin - 6_000) throw new Error('the posts took too long to schedule')
  await delay(begin - 6_000 - Date.now())
  const pid = world.nodes[0]?.pid ?? 0
  const cpu = cpuSeconds(pid)
  await published(world, begin)
  const cpuMs = ((cpuSeconds(pid) - cpu) * 1_000) / count
  await sayWhatFailed(world, begin)
  const { rows } = await world.pool.query<{ status: string; called: Date | null }>(
    `select t.status, (
        select (c->>'at')::timestamptz from post_attempts a, jsonb_array_elements(a.calls::jsonb) c
        where a.target_id = t.id and c->>'method' = 'POST' and c->>'url' like '%putRecord%' order by 1 limit 1) as called
      from post_targets t where t.scheduled_at = $1`,
    [new Date(begin)],
  )
  const bad = rows.filter(({ called, status }) => status !== 'published' || called === null)
  if (rows.length !== count || bad.length > 0) throw new Error(`${bad.length} of ${rows.length} are not published`)
  const posts = world.sandbox.fakes.get(PLATFORM)?.fake.posts() ?? []
  const arrived = posts.filter(({ text }) => text.endsWith(` of ${begin}.`))
  if (arrived.length !== count) throw new Error(`the platform has ${arrived.length} of ${count} posts`)
  const late = (times: readonly number[]) => times.map((time) => time - begin).toSorted((a, b) => a - b)
  return {
    started: late(rows.map(({ called }) => called?.getTime() ?? 0)),
    arrived: late(arrived.map(({ publishedAt }) => Date.parse(publishedAt))),
    cpuMs,
  }
}

/** How many targets are still to be published. */
async function leftIn(world: PublishingWorld): Promise<number> {
  const { rows } = await world.pool.query<{ left: number }>(
    `select count(*)::int as left from post_targets where status in ('scheduled', 'publishing', 'unconfirmed')`,
  )
  return rows[0]?.left ?? 0
}

/**
 * Waits until at most `most` targets are still to be published.
 * @param begin when they are due @throws Error when none is published for too long
 */
async function published(world: PublishingWorld, begin: number, most = 0, pauseMs = 500): Promise<void> {
  const seen = { left: Infinity, at: Date.now() }
  for (;;) {
    const left = await leftIn(world)
    if (left <= most) return
    if (left < seen.left) Object.assign(seen, { left, at: Date.now() })
    if (Date.now() > Math.max(begin, seen.at) + STUCK_MS) throw new Error(await unpublished(world, left))
    await delay(pauseMs)
  }
}

/** Publishes posts as fast as the node does. */
async function publishMany(world: PublishingWorld, accounts: readonly string[], count: number): Promise<void> {
  for (let first = 0; first < count; first += BULK) {
    await published(world, Date.now(), UNDER_WAY - BULK, 50)
    const posts = Array.from({ length: Math.min(BULK, count - first) }, (_, index) => ({
      content: `Number ${first + index} of ${count}.`,
      publishNow: true,
      targets: [{ accountId: accounts[(first + index) % accounts.length] }],
    }))
    await world.call('POST /api/posts/bulk', { body: { workspaceId: world.workspaceId, posts } })
  }
  await published(world, Date.now())
}

/** Lists why attempts of a round did not publish: with a platform that always answers, each has a cause on this machine. */
async function sayWhatFailed(world: PublishingWorld, begin: number): Promise<void> {
  const { rows } = await world.pool.query<{ count: number; message: string }>(
    `select count(*)::int as count, a.problem ->> 'message' as message
     from post_attempts a join post_targets t on t.id = a.target_id
     where t.scheduled_at = $1 and a.problem is not null group by 2 order by 1 desc limit 5`,
    [new Date(begin)],
  )
  for (const { count, message } of rows) console.log(`${count} attempts ended with: ${message}`)
}

/** What is known of the targets that are not published. */
async function unpublished(world: PublishingWorld, count: number): Promise<string> {
  const { rows } = await world.pool.query(
    `select status, problem ->> 'code' as problem, scheduled_at, next_attempt_at, lease_until, attempt_count,
       (select json_agg(s.status) from post_segments s where s.target_id = t.id) as segments,
       (select json_agg(json_build_object('kind', a.kind, 'started', a.started_at, 'ended', a.ended_at,
          'outcome', a.outcome, 'problem', a.problem ->> 'message', 'calls', json_array_length(a.calls::json)) order by a.id)
        from post_attempts a where a.target_id = t.id) as attempts
     from post_targets t where status in ('scheduled', 'publishing', 'unconfirmed') order by scheduled_at limit 5`,
  )
  return `${count} targets are not published at ${new Date().toISOString()}, such as\n${rows.map((row) => JSON.stringify(row)).join('\n')}`
}

/** How long the platform takes for as many calls at once, with as many connections as a node opens. */
async function floor(world: PublishingWorld, count: number): Promise<number> {
  const url = new URL('/xrpc/com.atproto.server.describeServer', world.sandbox.settings[PLATFORM]?.apiUrl)
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const began = performance.now()
  const call = () =>
    new Promise<void>((resolve, reject) => {
      request(url, { agent }, (reply) => void reply.resume().on('end', resolve))
        .on('error', reject)
        .end()
    })
  await Promise.all(Array.from({ length: count }, call))
  agent.destroy()
  return performance.now() - began
}

async function withWorld<T>(
  store: string,
  work: (world: PublishingWorld) => Promise<T>,
  nodeOptions: readonly string[] = [],
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'crier-bench-publishing-'))
  const directory = await openDataDirectory(folder)
  const postgres = await startEmbeddedPostgres({ dataDirectory: directory, log })
  const redis = store === 'redis' ? await startRedis() : undefined
  const world = await PublishingWorld.start({
    databaseUrl: postgres.url,
    ...(redis && { redisUrl: redis.url }),
    ...(LOGS && { logFile: LOGS }),
    env: { ...START_ENV, NODE_OPTIONS: [...START_FLAGS, ...nodeOptions].join(' ') },
  })
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
console.log(
  `| store | targets | lateness of the call p50 | p90 | p99 | max, ms | at the platform p50 | p99, ms | CPU of the node, ms |`,
)
console.log('|---|---|---|---|---|---|---|---|---|')
for (const store of STORES) {
  await withWorld(store, async (world) => {
    const accounts = await accountsOf(world)
    await round(world, accounts, 100)
    const rounds: Round[] = []
    for (let n = 0; n < ROUNDS; n += 1) rounds.push(await round(world, accounts, DUE))
    const started = [0.5, 0.9, 0.99, 0.9999].map((share) => median(rounds.map((one) => at(one.started, share))))
    const arrived = [0.5, 0.99].map((share) => median(rounds.map((one) => at(one.arrived, share))))
    const cpu = median(rounds.map(({ cpuMs }) => cpuMs)).toFixed(2)
    console.log(`| ${store} | ${DUE} | ${[...started, ...arrived, cpu].join(' | ')} |`)
    console.log(`${DUE} calls of a bare client took the platform ${Math.round(await floor(world, DUE))} ms`)
  })
}
if (MEMORY.length > 0) {
  const inspector = await freeLoopbackPort()
  const options = [`--inspect=127.0.0.1:${inspector}`]
  if (SNAPSHOTS) options.push('--heapsnapshot-signal=SIGUSR2', `--diagnostic-dir=${SNAPSHOTS}`)
  const measure = async (world: PublishingWorld) => {
    const accounts = await accountsOf(world)
    const pid = world.nodes[0]?.pid ?? 0
    console.log(
      '\n| publications | alive, data + code, MB | when idle, MB | resident, MB | resident after a collection | resident when idle | publications/s |',
    )
    console.log('|---|---|---|---|---|---|---|')
    let made = 0
    for (const goal of MEMORY) {
      const began = performance.now()
      await publishMany(world, accounts, goal - made)
      const perSecond = ((goal - made) / (performance.now() - began)) * 1_000
      made = goal
      const { rows } = await world.pool.query<{ count: number }>(
        `select count(*)::int from post_targets where status = 'published'`,
      )
      if (rows[0]?.count !== goal) throw new Error(`${rows[0]?.count} of ${goal} are published`)
      const megabytes = (bytes: number) => (bytes / 1_048_576).toFixed(1)
      const kinds = ({ code, data }: LiveBytes) => `${megabytes(data)} + ${megabytes(code)}`
      const resident = [megabytes(proportionalBytes(pid))]
      const alive = kinds(await liveBytes(inspector))
      resident.push(megabytes(proportionalBytes(pid)))
      if (SNAPSHOTS) process.kill(pid, 'SIGUSR2')
      await delay(DROPPED_MS)
      const idle = kinds(await liveBytes(inspector))
      resident.push(megabytes(proportionalBytes(pid)))
      console.log(`| ${goal} | ${alive} | ${idle} | ${resident.join(' | ')} | ${perSecond.toFixed(0)} |`)
      if (SNAPSHOTS) process.kill(pid, 'SIGUSR2')
    }
  }
  await withWorld('redis', measure, options)
}
