/**
 * Posts compared with a server handwritten for the same two routes, on the same PostgreSQL: `npm run bench:posts`.
 *
 * 1. A list of 20 posts with three targets each. 2. A draft with three targets. 3. Checks of a text post for three
 *    platforms on one core, as createPost and validatePost make them, without HTTP and database.
 *
 * The sides alternate for several rounds; the figures are medians. A failed request, or a reply that differs from the
 * baseline's, ends the run.
 */
import { bodyOf, contentFor } from '../../src/domains/publishing/posts/content.ts'
import { findPlatform } from '../../src/platforms/registry.ts'
import { check } from '../../src/platforms/rules/engine.ts'
import { effectiveLimits } from '../../src/platforms/rules/limits.ts'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { COLUMNS, compare } from './support/compare.ts'
import { machine, start } from './support/process.ts'
import { startBenchServer } from './support/workspace.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const SECONDS = Number(process.env['SECONDS'] ?? 5)
const PLATFORMS = ['mastodon', 'linkedin', 'x']
const TEXT = 'We are live on Friday at noon. Bring your questions, and tell a friend: https://example.com/live #live'

const server = await startBenchServer({ SANDBOX: '1', SANDBOX_PORT: '0' })
const { apiKey, call, crier, pool, url, workspaceId } = server

try {
  const targets: object[] = []
  for (const platform of PLATFORMS) {
    const made = await call('/api/social-accounts', { workspaceId, platform, sandbox: true })
    targets.push({ accountId: (made as never as { data: { _id: string } }).data._id })
  }
  const post = { workspaceId, content: TEXT, targets }
  for (let count = 0; count < 200; count += 1) await call('/api/posts', post)
  const { rows } = await pool.query<{ id: string }>('select id from users limit 1')
  const port = await freeLoopbackPort()
  const hand = await start(
    [new URL('./baselines/handwritten-posts.ts', import.meta.url).pathname, String(port)],
    /ready/,
    { DATABASE_URL: server.databaseUrl, API_KEY: apiKey, USER_ID: rows[0]?.id ?? '' },
  )
  try {
    console.log(`Machine: ${machine()}\n`)
    console.log(COLUMNS)
    const handUrl = `http://127.0.0.1:${port}`
    const headers = { 'X-API-Key': apiKey, 'Content-Type': 'application/json' }
    const list = (base: string) => (connections: number) => ({
      url: `${base}/api/posts?workspaceId=${workspaceId}&limit=20`,
      headers,
      connections,
      seconds: SECONDS,
    })
    const create = (base: string) => (connections: number) => ({
      url: `${base}/api/posts`,
      method: 'POST',
      body: JSON.stringify(post),
      headers,
      connections,
      seconds: SECONDS,
    })
    for (const connections of [32, 128]) {
      await compare({
        title: 'list of 20 posts',
        ours: { name: 'Crier', running: crier, load: list(url) },
        baseline: { name: 'handwritten', running: hand, load: list(handUrl) },
        connections,
        by: 'perSecond',
        rounds: ROUNDS,
      })
    }
    await compare({
      title: 'draft with three targets',
      ours: { name: 'Crier', running: crier, load: create(url) },
      baseline: { name: 'handwritten', running: hand, load: create(handUrl) },
      connections: 32,
      by: 'perSecond',
      rounds: ROUNDS,
      varying: ['_id', 'createdAt', 'updatedAt'],
    })
  } finally {
    await hand.stop()
  }
} finally {
  await server.stop()
}

const body = bodyOf({ content: TEXT })
const checked = PLATFORMS.map((key) => {
  const platform = findPlatform(key)
  if (platform === undefined) throw new Error(`there is no platform ${key}`)
  return { platform, limits: effectiveLimits(platform) }
})
const checkAll = () => {
  for (const { limits, platform } of checked) check(platform, limits, contentFor(body, null, new Map()))
}
for (let count = 0; count < 20_000; count += 1) checkAll()
const before = process.cpuUsage()
for (let count = 0; count < 50_000; count += 1) checkAll()
const { system, user } = process.cpuUsage(before)
console.log(
  `\nchecks of a text post for three platforms: ${Math.round(50_000 / ((system + user) / 1e6))} per CPU second`,
)
