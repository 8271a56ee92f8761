import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createWebhook, updateWebhook } from '../../src/domains/talk/webhooks/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** Protection from other users of the machine, from caches, and from content sniffing. */

let app: App
let world: World

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.workspace('acme', 'ada')
})
afterAll(() => app?.stop())

test('no file or folder of the data folder is accessible to other users and groups', async () => {
  const before = process.umask(0)
  try {
    const workspaceId = world.id('acme')
    const file = { name: 'pixel.png', content: PIXEL, type: 'image/png' }
    const added = await world.as('ada').call('POST /api/assets/upload', { body: { workspaceId }, file })
    expect(added.status, added.text).toBe(201)
    // The thumbnail is made in the work folder and stored beside the file.
    const thumbnail = { path: { id: added.body.data._id as string } }
    await waitFor(async () => {
      const { body } = await world.as('ada').call('GET /api/assets/{id}', thumbnail)
      return body.data.thumbnail.status === 'ready'
    })
    expect((await world.as('ada').call('POST /api/users/me/picture', { file })).status).toBe(201)
    const body = { workspaceId, name: 'pixel.png', size: PIXEL.length, type: 'image/png' }
    const { url } = (await world.as('ada').call('POST /api/assets/signed-upload', { body })).body.data
    const headers = { 'Content-Type': 'image/png', 'Content-Range': `bytes 0-9/${PIXEL.length}` }
    expect((await fetch(url, { method: 'PUT', body: PIXEL.subarray(0, 10), headers })).status).toBe(200)
  } finally {
    process.umask(before)
  }
  const entries = await readdir(app.dataDir, { recursive: true, withFileTypes: true })
  const seen = new Set<string>()
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    const [top = ''] = path.slice(app.dataDir.length + 1).split('/')
    seen.add(top)
    const mode = (await stat(path)).mode & 0o777
    // Inside the work folder, which is closed to other users, tools choose their own modes.
    if (top === 'work' && path !== join(app.dataDir, 'work')) continue
    expect(mode & ~(entry.isDirectory() ? 0o700 : 0o600), `${path} is ${mode.toString(8)}`).toBe(0)
  }
  expect([...seen]).toEqual(expect.arrayContaining(['storage', 'outbox', 'secrets', 'work']))
})

test('every page forbids content sniffing', async () => {
  const guides = ['/docs/getting-started', '/docs/operations', '/docs/proxies', '/docs/states']
  const paths = ['/docs', '/docs/errors', '/docs/start.js', '/docs/sockets', '/api/openapi.json', '/api/asyncapi.json']
  for (const path of [
    ...paths,
    ...guides,
    '/reset-password',
    '/passkey',
    '/invitations/x',
    '/preview/x',
    '/nothing',
    '/api/nothing',
  ]) {
    for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS']) {
      const { headers } = await fetch(app.url + path, { method })
      expect(headers.get('x-content-type-options'), `${method} ${path}`).toBe('nosniff')
      expect(headers.get('cache-control'), `${method} ${path}`).toMatch(/^no-(store|cache)$/)
    }
  }
})

test('forbids caching of replies that carry a token', async () => {
  const { email, password } = await world.user('ada')
  const login = await app.send('POST /api/auth/login', { body: { email, password } })
  const { refreshToken } = login.body.data
  const refreshed = await app.send('POST /api/auth/refresh', { body: { refreshToken } })
  const wrong = await app.send('POST /api/auth/login', { body: { email, password: 'wrong' } })
  for (const { headers, status } of [login, refreshed, wrong, await world.as('ada').call('GET /api/users/me')])
    expect(headers.get('cache-control'), String(status)).toBe('no-store')
})

test('no webhook sends to a private address', async () => {
  await world.user('ada')
  const create = (url: string) =>
    world.as('ada').call(createWebhook, { body: { workspaceId: world.id('acme'), url, events: ['*'] } })
  const refusal = { status: 400, body: { errors: [{ path: '/body/url', code: 'url_refused' }] } }
  const urls = ['http://127.0.0.1/', 'https://10.1.2.3/x', 'http://[::1]/', 'http://169.254.169.254/', 'http://0x7f.1/']
  for (const url of [...urls, 'https://localhost/', 'https://example.com:22/']) {
    expect(await create(url), url).toMatchObject(refusal)
  }
  const { body } = await create('https://example.com/')
  const path = { id: body.data._id as string }
  expect(await world.as('ada').call(updateWebhook, { path, body: { url: 'http://192.168.0.1/' } })).toMatchObject(
    refusal,
  )
})
