import { afterAll, beforeAll, expect, test } from 'vitest'
import { HOUR, ManualClock } from '../../src/core/clock.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'

/** Two nodes with one database and one Redis. Slots are decided by the workspace's actor, wherever it runs. */

let redis: TestRedis
let here: App
let there: App
let owner: SeededUser
let workspaceId: string
let accountId: string
const clock = new ManualClock(Date.parse('2026-11-30T08:00:00Z'))

beforeAll(async () => {
  redis = await startRedis()
  const options = { clock, jobTimes: QUICK, redisUrl: redis.url, env: { RATE_LIMITS: 'off' } }
  here = await startApp(options)
  there = await startApp({ ...options, databaseUrl: here.databaseUrl })
  owner = await seedUser(here, 'owner')
  workspaceId = await seedWorkspace(here, 'Nodes', owner)
  const account = { workspaceId, platform: 'mastodon', sandbox: true }
  accountId = (await here.send('POST /api/social-accounts', { apiKey: owner.apiKey, body: account })).body.data._id
  const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']
  const slots = days.flatMap((weekday) => ['09:00', '15:00'].map((time) => ({ weekday, time })))
  const queue = { workspaceId, timezone: 'UTC', slots }
  const made = await here.send('PUT /api/posts/queue', { apiKey: owner.apiKey, body: queue })
  expect(made.status, made.text).toBe(200)
})
afterAll(async () => {
  await there?.stop()
  await here?.stop()
  await redis?.stop()
})

/** A busy server refuses requests before they have an effect, and asks the client to repeat them. */
async function queued(app: App): Promise<PostData> {
  const body = { workspaceId, content: 'queued', targets: [{ accountId }], queue: true }
  const reply = await waitFor(async () => {
    const answer = await app.send('POST /api/posts', { apiKey: owner.apiKey, body })
    return answer.status === 503 ? undefined : answer
  })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}

/** The first slots of the queue. */
function slots(count: number): string[] {
  const first = Date.parse('2026-11-30T09:00:00Z')
  return Array.from({ length: count }, (_, index) => {
    return new Date(first + Math.floor(index / 2) * 24 * HOUR + (index % 2) * 6 * HOUR).toISOString()
  })
}

test('fifty posts at once at two nodes get fifty slots, and the next ones follow when the actor has moved', async () => {
  const made = await Promise.all(Array.from({ length: 50 }, (_, index) => queued(index % 2 === 0 ? here : there)))
  const times = made.map(({ scheduledFor }) => scheduledFor ?? '')
  expect(times.toSorted()).toEqual(slots(50))
  // A slot becomes free before the actor moves, and the other node finds it.
  const [freed] = made
  const path = { id: freed?._id ?? '' }
  const cancelled = await here.send('POST /api/posts/{id}/cancel', { apiKey: owner.apiKey, path })
  expect(cancelled.status, cancelled.text).toBe(200)
  await here.node.stop()
  const after = await Promise.all(Array.from({ length: 10 }, () => queued(there)))
  const free = [freed?.scheduledFor ?? '', ...slots(59).slice(50)]
  expect(after.map(({ scheduledFor }) => scheduledFor ?? '').toSorted()).toEqual(free.toSorted())
})
