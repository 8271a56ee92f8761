import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { World } from '../support/world.ts'

/** Requests that are refused, and would cost much if the whole of them was looked at. */

let app: App
let world: World
let workspaceId: string

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  workspaceId = await world.workspace('acme', 'ada')
})
afterAll(() => app?.stop())

const many = <T>(count: number, item: (index: number) => T) => Array.from({ length: count }, (_, index) => item(index))
const call = (route: string, options: object) => world.as('ada').call(route, options)
const problems = async (route: string, options: object) => {
  const reply = await call(route, options)
  expect(reply.status, reply.text).toBe(400)
  return (reply.body.errors as { code: string; path: string }[]).map(({ code, path }) => `${path} ${code}`)
}

test('5,000 scopes of a role are one error', async () => {
  const body = { name: 'Editor', scopes: many(5_000, (index) => `posts:${index}`) }
  expect(await problems('POST /api/team/{workspaceId}/roles', { path: { workspaceId }, body })).toEqual([
    '/body/scopes maxItems',
  ])
})

test('9,000 unknown fields are 20 errors, and 15,000 media are one', async () => {
  const unknown = Object.fromEntries(many(9_000, (index) => [`f${index}`, 1]))
  const found = await problems('POST /api/posts', { body: { ...unknown, workspaceId } })
  expect(found).toHaveLength(20)
  expect(found.every((one) => one.endsWith('unknown_field'))).toBe(true)
  const media = many(15_000, () => 'x')
  expect(await problems('POST /api/posts', { body: { workspaceId, content: 'Hi', media } })).toEqual([
    '/body/media maxItems',
  ])
})

test('a project with too many layers names its pages, and one with invalid layers the first 20 errors', async () => {
  const layer = { kind: 'text', left: 0, top: 0, width: 10, height: 10 }
  const project = (pageCount: number, layerCount: number) => {
    const page = { width: 100, height: 100, background: '#000000', layers: many(layerCount, () => layer) }
    return { workspaceId, name: 'Tour', projectData: { schemaVersion: 1, pages: many(pageCount, () => page) } }
  }
  const route = 'POST /api/studio/projects'
  expect(await problems(route, { body: project(30, 200) })).toEqual(['/body/projectData/pages maxItems'])
  expect(await problems(route, { body: project(2, 200) })).toEqual([
    '/body/projectData/pages/0/layers maxItems',
    '/body/projectData/pages/1/layers maxItems',
  ])
  const invalid = await problems(route, { body: project(20, 100) })
  expect(invalid).toHaveLength(20)
  expect(invalid.at(-1)).toBe('/body/projectData/pages/0/layers/6/fontSize required')
})

test('a rule with too few occurrences is refused', async () => {
  const body = {
    workspaceId,
    recurrence: { rrule: 'FREQ=MONTHLY;BYDAY=1MO;BYMONTHDAY=20' },
    scheduledFor: '2026-12-31T09:00',
    timezone: 'Europe/Berlin',
    count: 100,
  }
  const reply = await call('POST /api/posts/series/preview', { body })
  expect(reply.status).toBe(400)
  expect(reply.body.message).toContain('The rule has too few occurrences: none after 2026-12-31')
  const rare = { ...body, recurrence: { rrule: 'FREQ=DAILY;BYMONTHDAY=29;BYMONTH=2,4;BYDAY=MO' } }
  const found = (await call('POST /api/posts/series/preview', { body: rare })).body.data
  expect(found.ended).toBe('horizon')
  expect(found.occurrences.length).toBeLessThan(25)
})

test('a sheet with 60,000 columns is refused by its header', async () => {
  const body = { workspaceId, csv: `content${',x'.repeat(30_000)}\nHi` }
  const reply = await call('POST /api/posts/bulk', { body })
  expect(reply.status).toBe(400)
  expect(reply.body.errors).toEqual([
    { path: '/body/csv', code: 'too_many_columns', message: 'A file can have at most 300 columns.' },
  ])
})

test('a body of too many fields and items is refused before it is parsed', async () => {
  const reply = await call('POST /api/posts/bulk', { body: { workspaceId, posts: many(400_000, () => []) } })
  expect(reply.status).toBe(413)
  expect(reply.body.message).toContain('more than 250000 fields and list items')
})
