import { afterAll, beforeAll, expect, test } from 'vitest'
import { HOUR } from '../../src/core/clock.ts'
import { PostWorld } from '../support/post-world.ts'

let world: PostWorld
const ids: Record<string, string> = {}

beforeAll(async () => {
  world = await PostWorld.start('post-list')
  const [mastodon, x] = [await world.account(), await world.account('x')]
  const both = [{ accountId: mastodon }, { accountId: x }]
  const posts: Record<string, object> = {
    draft: { content: 'The harbour at night', labels: ['city'] },
    late: { content: 'Harbour tour', targets: both, labels: ['city', 'tour'], scheduledFor: world.later(9 * HOUR) },
    early: { content: 'Tour of the mill', targets: both.slice(1), labels: ['tour'], scheduledFor: world.later(HOUR) },
    middle: { content: 'Mill', title: 'A harbour?', targets: both.slice(0, 1), scheduledFor: world.later(5 * HOUR) },
  }
  for (const [name, post] of Object.entries(posts)) ids[name] = (await world.create(post))._id
})
afterAll(() => world.stop())

async function found(query: object): Promise<string[]> {
  const reply = await world.send('GET /api/posts', { query: { workspaceId: world.workspaceId, ...query } })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.data.map(({ _id }: { _id: string }) => Object.keys(ids).find((name) => ids[name] === _id))
}

test('all filters of the list work alone and together', async () => {
  const x = await world.account('x')
  expect(await found({})).toEqual(['middle', 'early', 'late', 'draft'])
  expect(await found({ status: 'draft' })).toEqual(['draft'])
  expect(await found({ platform: 'x' })).toEqual(['early', 'late'])
  expect(await found({ accountId: x })).toEqual(['early', 'late'])
  expect(await found({ label: 'city' })).toEqual(['late', 'draft'])
  expect(await found({ q: 'harb' })).toEqual(['middle', 'late', 'draft'])
  expect(await found({ q: 'tour' })).toEqual(['early', 'late'])
  expect(await found({ q: 'mill tour' })).toEqual(['early'])
  expect(await found({ from: world.later(2 * HOUR), to: world.later(6 * HOUR) })).toEqual(['middle'])
  const all = { status: 'scheduled', platform: 'x', accountId: x, label: 'tour', q: 'harbour', from: world.later(0) }
  expect(await found(all)).toEqual(['late'])
  expect(await found({ ...all, to: world.later(HOUR) })).toEqual([])
  expect(await found({ q: '!!! "' })).toEqual([])
})

test('a filter with several values finds what matches any of them', async () => {
  const [mastodon, x] = [await world.account(), await world.account('x')]
  expect(await found({ status: ['draft', 'scheduled'] })).toEqual(['middle', 'early', 'late', 'draft'])
  expect(await found({ status: 'draft,failed' })).toEqual(['draft'])
  expect(await found({ platform: ['x', 'mastodon'] })).toEqual(['middle', 'early', 'late'])
  expect(await found({ accountId: [mastodon, x], label: 'tour' })).toEqual(['early', 'late'])
  expect(await found({ accountId: `${mastodon},${x}`, sort: 'scheduledFor', from: world.later(0) })).toEqual([
    'early',
    'middle',
    'late',
  ])
  expect(await found({ label: ['city', 'tour'] })).toEqual(['early', 'late', 'draft'])
  // A comma of a text is encoded.
  expect(await found({ label: 'city,tour' })).toEqual([])
})

test('a calendar is sorted by time, page by page', async () => {
  expect(await found({ sort: 'scheduledFor' })).toEqual(['early', 'middle', 'late'])
  const query = { workspaceId: world.workspaceId, sort: 'scheduledFor', limit: 2 }
  const first = (await world.send('GET /api/posts', { query })).body
  expect(first.data).toHaveLength(2)
  expect(await found({ ...query, cursor: first.pagination.nextCursor })).toEqual(['late'])
  expect(await found({ sort: 'scheduledFor', q: 'tour' })).toEqual(['early', 'late'])
})
