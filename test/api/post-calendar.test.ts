import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PostWorld } from '../support/post-world.ts'
import { seedUser, seedWorkspace } from '../support/seed.ts'

let world: PostWorld
beforeAll(async () => void (world = await PostWorld.start('post-calendar')))
afterAll(() => world.stop())

/** A new workspace, so that calendars do not depend on other tests. */
async function workspace(name: string): Promise<PostWorld> {
  const { app, clock } = world
  const owner = await seedUser(app, `calendar-${name}`, { plan: 'business' })
  return new PostWorld({ app, clock, owner, workspaceId: await seedWorkspace(app, name, owner) })
}

const YEAR = new Date().getFullYear() + 1
const calendar = (of: PostWorld, query: object) =>
  of.send('GET /api/posts/calendar', {
    query: {
      workspaceId: of.workspaceId,
      timezone: 'Europe/Berlin',
      from: `${YEAR}-03-01`,
      to: `${YEAR}-04-30`,
      ...query,
    },
  })

interface Entry {
  readonly postId: string
  readonly localTime: string
}
interface Day {
  readonly day: string
  readonly startsAt: string
  readonly count: number
  readonly freeSlots: readonly string[]
  readonly accounts: readonly { accountId: string; postCount: number }[]
}

test('a post with two times is listed at each, with filters, counts and pages', async () => {
  const mine = await workspace('entries')
  const [one, two] = [await mine.account(), await mine.account('bluesky')]
  const { _id: both } = await mine.create({
    content: '🙂'.repeat(100),
    labels: ['spring'],
    targets: [{ accountId: one }, { accountId: two, override: { scheduledFor: `${YEAR}-03-11T09:00:00Z` } }],
    scheduledFor: `${YEAR}-03-10T23:30:00Z`,
  })
  const { _id: other } = await mine.create({
    content: 'other',
    targets: [{ accountId: one }],
    scheduledFor: `${YEAR}-03-12T12:00`,
    timezone: 'America/New_York',
  })
  const reply = await calendar(mine, {})
  expect(reply.status, reply.text).toBe(200)
  const { data } = reply.body
  expect(data.entries.map(({ localTime, postId }: Entry) => [postId, localTime])).toEqual([
    [both, `${YEAR}-03-11T00:30:00`],
    [both, `${YEAR}-03-11T10:00:00`],
    [other, expect.stringContaining(`${YEAR}-03-12T1`)],
  ])
  expect(data.entries[0]).toMatchObject({ text: '🙂'.repeat(80), accountIds: [one], platforms: ['mastodon'] })
  expect(data.entries[2].timezone).toBe('America/New_York')
  const counted = data.byDay.filter(({ count }: Day) => count > 0)
  expect(counted.map(({ count, day }: Day) => [day, count])).toEqual([
    [`${YEAR}-03-11`, 2],
    [`${YEAR}-03-12`, 1],
  ])
  expect(counted[1].accounts).toEqual([{ accountId: one, postCount: 1 }])
  const found = async (query: object) => (await calendar(mine, query)).body.data.entries.length
  expect(await found({ accountId: two })).toBe(1)
  expect(await found({ label: 'spring' })).toBe(2)
  expect(await found({ status: 'published' })).toBe(0)
  expect(await found({ authorId: mine.workspaceId })).toBe(0)
  const first = (await calendar(mine, { limit: 2 })).body.data
  expect([first.hasMore, first.entries.length]).toEqual([true, 2])
  const rest = (await calendar(mine, { limit: 2, cursor: first.nextCursor })).body.data
  expect([rest.hasMore, rest.entries.map(({ postId }: Entry) => postId)]).toEqual([false, [other]])
  await mine.send(`DELETE /api/posts/${other}`)
  expect(await found({})).toBe(2)
})

test('days follow the clock changes of the zone', async () => {
  const mine = await workspace('nights')
  const { byDay: days } = (await calendar(mine, {})).body.data
  expect(days).toHaveLength(61)
  const hours = days.slice(1).map((day: Day, at: number) => Date.parse(day.startsAt) - Date.parse(days[at].startsAt))
  expect(hours.filter((length: number) => length === 23 * 3_600_000)).toHaveLength(1)
  expect((await calendar(mine, { to: `${YEAR}-05-01` })).status).toBe(200)
  for (const query of [{ to: `${YEAR}-05-02` }, { to: `${YEAR}-02-01` }, { from: `${YEAR}-02-30` }]) {
    const { body, status } = await calendar(mine, query)
    expect([status, body.code]).toEqual([400, 'validation_failed'])
  }
})

test('free slots are those that no post uses', async () => {
  const mine = await workspace('slots')
  const accountId = await mine.account()
  const body = {
    workspaceId: mine.workspaceId,
    timezone: 'Europe/Berlin',
    slots: [{ weekday: 'monday', time: '09:00' }],
  }
  expect((await mine.send('PUT /api/posts/queue', { body })).status).toBe(200)
  const slots = async (query = {}) =>
    (await calendar(mine, query)).body.data.byDay.flatMap(({ freeSlots }: Day) => freeSlots)
  const before = await slots()
  expect(before.length).toBeGreaterThan(7)
  await mine.create({ content: 'taken', targets: [{ accountId }], scheduledFor: before[1] })
  const left = before.filter((_: string, at: number) => at !== 1)
  expect(await slots()).toEqual(left)
  expect(await slots({ accountId })).toEqual(left)
  expect(await slots({ accountId: mine.workspaceId })).toEqual(before)
})

test('300 entries are at most 20 kB when compressed', async () => {
  const mine = await workspace('size')
  const accountId = await mine.account()
  const made = Array.from({ length: 300 }, (_, index) => ({
    content: `Post number ${index} ${'has words of a common length '.repeat(4)}`,
    targets: [{ accountId }],
    scheduledFor: new Date(Date.UTC(YEAR, 2, 1 + (index % 60), 9 + Math.floor(index / 60))).toISOString(),
  }))
  for (let at = 0; at < made.length; at += 100) {
    const reply = await mine.send('POST /api/posts/bulk', {
      body: { workspaceId: mine.workspaceId, posts: made.slice(at, at + 100) },
    })
    expect(reply.status, reply.text).toBeLessThan(300)
  }
  const { body, text } = await calendar(mine, {})
  expect(body.data.entries).toHaveLength(300)
  expect(gzipSync(text, { level: 1 }).length).toBeLessThan(20_000)
})
