import { afterEach, describe, expect, test } from 'vitest'
import { listMessages } from '../../src/domains/talk/chat/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { TestChannel } from '../support/chat.ts'
import { PostWorld } from '../support/post-world.ts'
import { REDIS_FORMS, startRedisAs, waitForRole, type FormedRedis } from '../support/redis-forms.ts'
import type { TestRedis } from '../support/redis.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** Whole nodes on each form of `REDIS_URL`: queues, leases, notices and links between nodes. */

const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step()
})

/** Two nodes, of which the first has the jobs. */
async function startNodes(redis: FormedRedis): Promise<{ posts: PostWorld; other: App; channel: TestChannel }> {
  const shared = { REDIS_URL: redis.url, JWT_SECRET: 'what all nodes of a test have in common' }
  const posts = await PostWorld.start('forms', undefined, shared)
  undo.push(() => posts.stop())
  const { app } = posts
  const other = await startApp({ databaseUrl: app.databaseUrl, redisUrl: redis.url, clock: posts.clock })
  undo.push(() => other.stop())
  const world = new World(app)
  await world.workspace('acme', 'ada')
  return { posts, other, channel: await TestChannel.make(world, 'acme', 'ada') }
}

/** Publishes a scheduled post, and delivers a message that one node takes to a socket of the other, or has it read. */
async function expectToWork({ channel, other, posts }: Awaited<ReturnType<typeof startNodes>>, text: string) {
  const accountId = await posts.account()
  const post = await posts.create({ content: text, targets: [{ accountId }], scheduledFor: posts.later(60_000) })
  expect(post.status).toBe('scheduled')
  posts.clock.advance(60_000)
  await posts.ended(post._id, 'published')
  expect(await posts.published(text)).toHaveLength(1)
  const sockets = new Sockets(() => other)
  const { events } = await sockets.connect(channel.world.key('ada'))
  await channel.send('ada', text)
  const isDelivered = () => events.some(({ data, name }) => name === 'chat.change' && data.data.message?.body === text)
  // While the nodes cannot reach each other, they say that something was missed, and clients read it.
  await waitFor(() => isDelivered() || events.some(({ name }) => name === 'missed'), { what: 'the message' })
  const { body } = await channel.as('ada', other).call(listMessages, { path: channel.path })
  expect(body.data.map((message: { body: string }) => message.body)).toContain(text)
  sockets.end()
}

describe.each(REDIS_FORMS)('with %s', (form) => {
  test('nodes publish a scheduled post and deliver a chat message', async () => {
    const redis = await startRedisAs(form)
    undo.push(() => redis.stop())
    const nodes = await startNodes(redis)
    await expectToWork(nodes, 'first')
    if (form !== 'sentinels') return
    const [primary, replica] = redis.servers as [TestRedis, TestRedis]
    await primary.kill()
    await waitForRole(replica, 'role:master')
    await expectToWork(nodes, 'after the failover')
  })
})
