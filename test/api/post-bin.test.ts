import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, HOUR } from '../../src/core/clock.ts'
import { PostWorld } from '../support/post-world.ts'
import { seedMember, seedUser } from '../support/seed.ts'

let world: PostWorld
beforeAll(async () => void (world = await PostWorld.start('post-bin')))
afterAll(() => world.stop())

const bin = async () => {
  const reply = await world.send('GET /api/posts/bin', { query: { workspaceId: world.workspaceId } })
  return reply.body.data as { _id: string }[]
}
const restore = (id: string) => world.on(id, 'restore')

async function scheduled(content: string, ms: number) {
  const targets = [{ accountId: await world.account() }]
  return world.create({ content, targets, scheduledFor: world.later(ms) })
}

describe('a deleted post', () => {
  test('is in the bin and comes back as a draft, with its time as a proposal', async () => {
    const before = await scheduled('comes back', HOUR)
    await world.on(before._id, 'comments', { body: { body: 'Kept' } })
    await world.on(before._id, 'DELETE ')
    expect(await bin()).toMatchObject([
      { _id: before._id, name: 'comes back', status: 'scheduled', scheduledFor: before.scheduledFor },
    ])
    const reply = await restore(before._id)
    expect(reply.body.message).toBe('Post restored as a draft. Schedule it to publish it')
    expect(reply.body.data).toMatchObject({
      status: 'draft',
      content: 'comes back',
      scheduledFor: before.scheduledFor,
      version: before.version + 1,
      targets: [{ status: 'draft', accountId: before.targets[0]?.accountId }],
    })
    expect(await world.get(before._id)).toEqual(reply.body.data)
    expect((await world.on(before._id, 'GET comments')).body.data).toHaveLength(1)
    expect(await bin()).toEqual([])
    expect((await restore(before._id)).status).toBe(404)
  })

  test('is never published by itself after it was restored, and is once it is scheduled again', async () => {
    const { _id: id } = await scheduled('not by itself', HOUR)
    await world.on(id, 'DELETE ')
    await restore(id)
    world.clock.advance(2 * HOUR)
    const other = await scheduled('published meanwhile', 60_000)
    await world.passing(other._id, ({ status }) => status === 'published')
    expect(await world.published('not by itself')).toEqual([])
    expect((await world.get(id)).status).toBe('draft')
    await world.on(id, 'reschedule', { body: { scheduledFor: world.later(60_000) } })
    await world.passing(id, ({ status }) => status === 'published')
    expect(await world.published('not by itself')).toHaveLength(1)
  })

  test('has no time any more if it has passed', async () => {
    const { _id: id } = await scheduled('too late', HOUR)
    await world.on(id, 'DELETE ')
    world.clock.advance(2 * HOUR)
    expect((await restore(id)).body.data).toMatchObject({
      status: 'draft',
      scheduledFor: null,
      targets: [{ scheduledFor: null }],
    })
  })

  test('keeps what was published', async () => {
    const targets = [{ accountId: await world.account() }]
    const { _id: id } = await world.create({ content: 'is out', targets, publishNow: true })
    const { targets: out } = await world.ended(id, 'published')
    await world.on(id, 'DELETE ')
    const reply = await restore(id)
    expect(reply.body.message).toBe('Post restored')
    expect(reply.body.data).toMatchObject({ status: 'published', targets: [{ remoteId: out[0]?.remoteId }] })
  })

  test('takes the room of its accounts only once', async () => {
    const count = () =>
      world.app.database.row<{ sum: string }>('select coalesce(sum(post_count), 0) as sum from post_counts')
    const before = await count()
    const { _id: id } = await scheduled('counted', HOUR)
    await world.on(id, 'DELETE ')
    await restore(id)
    expect(Number((await count())?.sum)).toBe(Number(before?.sum) + 1)
  })

  test('is for its workspace, those who write posts, and 30 days', async () => {
    const { _id: id } = await scheduled('thirty days', 40 * DAY)
    await world.on(id, 'DELETE ')
    const [reader, stranger] = [await seedUser(world.app, 'bin-reader'), await seedUser(world.app, 'bin-stranger')]
    await seedMember(world.app, world.workspaceId, reader, { scopes: ['posts:read'] })
    const as = ({ apiKey }: { apiKey: string }) =>
      world.app.send('POST /api/posts/{id}/restore', { apiKey, path: { id } })
    expect((await as(reader)).status).toBe(403)
    expect((await as(stranger)).status).toBe(404)
    world.clock.advance(30 * DAY + 1)
    expect((await bin()).map(({ _id }) => _id)).not.toContain(id)
    expect((await restore(id)).status).toBe(404)
  })
})
