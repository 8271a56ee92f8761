import { afterAll, beforeAll, expect, test } from 'vitest'
import { ManualClock, SECOND } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { signIn } from '../support/people.ts'
import { seedMember } from '../support/seed.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
let workspaceId: string
const clock = new ManualClock()

beforeAll(async () => {
  app = await startApp({ clock })
  world = new World(app)
  workspaceId = await world.workspace('acme', 'ada')
  await world.workspace('other', 'eve')
  await world.as('ada').call('POST /api/posts', { body: { workspaceId, content: 'In the file' } })
})
afterAll(() => app.stop())

const file = () => `/api/posts/export?workspaceId=${workspaceId}&format=csv`
const make = (by: object, path = file()) => app.send('POST /api/auth/download-links', { ...by, body: { path } })
const ada = () => ({ apiKey: world.key('ada') })
const linkOf = async (by: object = ada(), path?: string): Promise<string> => {
  const reply = await make(by, path)
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data.url
}
const open = (url: string, init: RequestInit = {}) => fetch(url, { headers: { Accept: '*/*' }, ...init })

test('a link downloads a file once, without a header', async () => {
  const url = await linkOf()
  expect(url.startsWith(app.config.PUBLIC_URL)).toBe(true)
  const reply = await open(url)
  expect([reply.status, reply.headers.get('referrer-policy')]).toEqual([200, 'no-referrer'])
  expect(reply.headers.get('content-disposition')).toContain('attachment')
  expect(await reply.text()).toContain('In the file')
  const again = await open(url)
  expect([again.status, ((await again.json()) as { code: string }).code]).toEqual([401, 'invalid_credential'])
})

test('ten requests at once get the file once', async () => {
  const url = await linkOf()
  const replies = await Promise.all(Array.from({ length: 10 }, () => open(url)))
  expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, ...Array(9).fill(401)])
})

test('a link works for a minute, and a HEAD does not use it up', async () => {
  const url = await linkOf()
  expect((await open(url, { method: 'HEAD' })).status).toBe(401)
  clock.advance(59 * SECOND)
  expect((await open(url)).status).toBe(200)
  const late = await linkOf()
  clock.advance(60 * SECOND)
  expect((await open(late)).status).toBe(401)
})

test('a link is for its path and query only', async () => {
  const other = world.id('other')
  for (const change of [
    (url: string) => url.replace('format=csv', 'format=json'),
    (url: string) => url.replace(workspaceId, other),
    (url: string) => url.replace('/api/posts/export', `/api/workspaces/${workspaceId}`),
    (url: string) => `${url}&format=csv`,
    (url: string) => url.replace(/download=.*/, 'download=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'),
  ]) {
    const url = await linkOf()
    const reply = await open(change(url))
    expect([400, 401]).toContain(reply.status)
    expect(await reply.text()).not.toContain('In the file')
    expect((await open(url)).status, 'it was not used up').toBe(200)
  }
})

test('is made only for files that need a credential', async () => {
  const refused = [
    `/api/workspaces/${workspaceId}`,
    '/api/posts',
    '/api/health',
    '/api/nowhere',
    `${file()}&download=abc`,
    `${file()}#x`,
    '/api/../../etc/passwd',
    '/api/posts/export/',
  ]
  for (const path of refused) {
    const reply = await make(ada(), path)
    expect([reply.status, reply.body.errors?.[0]?.path], path).toEqual([400, '/body/path'])
  }
  for (const path of ['https://evil.example/api/posts/export', '//evil.example/api/posts/export', 'posts']) {
    expect((await make(ada(), path)).status, path).toBe(400)
  }
  expect((await make({})).status).toBe(401)
})

test('needs the scopes when it is used', async () => {
  const member = await world.member('acme', 'grace', { scopes: ['posts:read'] })
  const url = await linkOf({ apiKey: member.apiKey })
  await seedMember(app, workspaceId, member, { scopes: ['streams:read'] })
  expect((await open(url)).status).toBe(403)
  const stranger = await linkOf({ apiKey: world.key('eve') })
  expect((await open(stranger)).status).toBe(404)
})

test('keeps the limits of an API key, and ends with it', async () => {
  const limited = await world.as('ada').call('POST /api/users/me/api-keys', {
    body: { name: 'streams', scopes: ['streams:read'] },
  })
  expect(limited.status, limited.text).toBe(201)
  const { _id: id, apiKey } = limited.body.data
  const url = await linkOf({ apiKey })
  expect((await open(url)).status).toBe(403)
  const other = await linkOf({ apiKey })
  await world.as('ada').call('DELETE /api/users/me/api-keys/{id}', { path: { id } })
  expect((await open(other)).status).toBe(401)
})

test('ends with the session that has made it', async () => {
  const person = await signIn(app)
  const url = await linkOf({ token: person.accessToken })
  await app.send('POST /api/auth/logout', { token: person.accessToken, body: {} })
  expect((await open(url)).status).toBe(401)
})

test('is in no log and no table', async () => {
  const url = await linkOf()
  const token = /download=([\w-]+)$/.exec(url)?.[1] ?? 'missing'
  await open(url)
  await linkOf()
  const rows = await app.database.rows('select * from download_links')
  expect(rows.length).toBeGreaterThan(0)
  expect(JSON.stringify([app.logs, rows])).not.toContain(token)
})

test('twenty unused links are the most', async () => {
  const replies = []
  for (let made = 0; made < 25; made += 1) replies.push((await make({ apiKey: world.key('eve') })).status)
  expect(replies.filter((status) => status === 201).length).toBeLessThanOrEqual(20)
  expect(replies.at(-1)).toBe(409)
  clock.advance(61 * SECOND)
  expect((await make({ apiKey: world.key('eve') })).status).toBe(201)
})
