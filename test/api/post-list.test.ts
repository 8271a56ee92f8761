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

test('a search of many posts finds frequent and rare words, page by page', async () => {
  // The posts are newer than the others. Each tenth has a frequent word, and the oldest three a rare one.
  const rows = await world.app.database.rows<{ attname: string }>(
    `select attname from pg_attribute where attrelid = 'posts'::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
  )
  const id = `('01ffffff-0000-7000-8000-' || lpad(k::text, 12, '0'))`
  const changes: Record<string, string> = {
    id: `${id}::uuid`,
    view: `jsonb_set(p.view::jsonb, '{_id}', to_jsonb(${id}))::text::json`,
    search_text: `'copy ' || case when k % 10 = 0 then 'often' else '' end || case when k <= 3 then ' seldom' else '' end`,
  }
  const names = rows.map(({ attname }) => attname)
  await world.app.database.run(
    `insert into posts (${names.join(', ')}) select ${names.map((name) => changes[name] ?? `p.${name}`).join(', ')}
     from posts p, generate_series(1, 1200) k where p.id = $1`,
    [ids['draft']],
  )
  const pages = async (q: string) => {
    const sizes: number[] = []
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const query = { workspaceId: world.workspaceId, q, limit: 20, ...(cursor && { cursor }) }
      const { body } = await world.send('GET /api/posts', { query })
      sizes.push(body.data.length)
      seen.push(...body.data.map(({ _id }: { _id: string }) => _id))
      cursor = body.pagination.nextCursor ?? undefined
    } while (cursor !== undefined)
    return { sizes, distinct: new Set(seen).size }
  }
  expect(await pages('often')).toEqual({ sizes: [20, 20, 20, 20, 20, 20], distinct: 120 })
  expect(await pages('seldom')).toEqual({ sizes: [3], distinct: 3 })
  expect(await pages('nowhere')).toEqual({ sizes: [0], distinct: 0 })
})
