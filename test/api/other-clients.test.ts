import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { walk, type NamedOperation } from '../../src/core/operation.ts'
import { api } from '../../src/registry/api.ts'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import { World } from '../support/world.ts'

/** What clients send that were written for other APIs. */

let app: App
let world: World
let workspaceId: string

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('owner', { plan: 'business' })
  await world.user('admin', { admin: true })
  workspaceId = await world.workspace('acme', 'owner')
})
afterAll(() => app?.stop())

describe('an API key as a bearer token', () => {
  const me = (headers: Record<string, string>) => app.send('GET /api/users/me', { headers })

  test('is the same as in X-API-Key', async () => {
    const key = world.key('owner')
    const [bearer, header] = [await me({ Authorization: `Bearer ${key}` }), await me({ 'X-API-Key': key })]
    expect([bearer.status, bearer.body]).toEqual([200, header.body])
    const body = { workspaceId, title: 'By bearer' }
    const made = await app.send('POST /api/streams', { headers: { Authorization: `bearer ${key}` }, body })
    expect(made.status, made.text).toBe(201)
  })

  test('keeps its limits, and ends when it is revoked', async () => {
    const { apiKey } = await world.user('owner')
    const body = { name: 'limited', scopes: ['streams:read'] }
    const { data } = (await app.send('POST /api/users/me/api-keys', { apiKey, body })).body
    const headers = { Authorization: `Bearer ${data.apiKey}` }
    const streams = () => app.send('GET /api/streams', { headers, query: { workspaceId } })
    expect((await streams()).status).toBe(200)
    const posts = await app.send('GET /api/posts', { headers, query: { workspaceId } })
    expect([posts.status, posts.body.code]).toEqual([403, 'forbidden'])
    await app.send('DELETE /api/users/me/api-keys/{id}', { apiKey, path: { id: data._id } })
    await expect.poll(async () => (await streams()).body.code).toBe('invalid_credential')
  })

  test('is refused with what is wrong with it', async () => {
    const short = await me({ Authorization: `Bearer ${world.key('owner').slice(0, -1)}` })
    expect([short.status, short.body.code]).toEqual([401, 'invalid_credential'])
    expect(short.body.message).toBe('The API key is malformed. Send the whole key, which starts with `crier_`.')
    const unknown = await me({ Authorization: `Bearer crier_${'x'.repeat(43)}` })
    expect([unknown.status, unknown.body.code]).toEqual([401, 'invalid_credential'])
  })
})

describe('a multipart body', () => {
  const uploads = walk(api).filter((op) => op.upload?.kind === 'multipart' && op.body !== undefined)

  async function sendParts(op: NamedOperation, parts: readonly (readonly [string, string | Blob])[]) {
    const form = new FormData()
    for (const [name, value] of parts) form.append(name, value)
    const path = op.pattern.replaceAll(/\{(\w+)\}/g, (_all, name: string) => op.example.path?.[name] ?? name)
    const headers = { 'X-API-Key': world.key(op.access === 'admin' ? 'admin' : 'owner') }
    const reply = await fetch(app.url + path, { method: op.method, headers, body: form })
    return { status: reply.status, body: (await reply.json()) as { message: string; errors?: { path: string }[] } }
  }

  test.each(uploads.map((op) => [op.name, op] as const))(
    'of %s: its fields come before the file',
    async (_name, op) => {
      const { required = [] } = op.body as { required?: string[] }
      const file = ['file', new Blob(['x'.repeat(1_000_000)])] as const
      for (const name of required) {
        const { body, status } = await sendParts(op, [file, [name, workspaceId]])
        expect(status).toBe(400)
        expect(body.errors).toContainEqual({
          path: `/body/${name}`,
          code: 'required',
          message: 'is required, before the file',
        })
      }
    },
  )

  test('refuses an optional field after the file', async () => {
    const op = uploads.find(({ name }) => name === 'uploadAsset') as NamedOperation
    const parts = [
      ['workspaceId', workspaceId],
      ['file', new Blob([PIXEL])],
      ['altText', 'x'],
    ] as const
    const { body, status } = await sendParts(op, parts)
    expect([status, body.message]).toEqual([
      400,
      'The field altText comes after the file. Send all fields before the file.',
    ])
  })

  test('refuses to repeat a field that takes one value', async () => {
    const op = uploads.find(({ name }) => name === 'uploadAsset') as NamedOperation
    const parts = [
      ['workspaceId', workspaceId],
      ['name', 'a'],
      ['name', 'b'],
      ['file', new Blob(['x'])],
    ] as const
    const { body, status } = await sendParts(op, parts)
    expect([status, body.errors]).toEqual([
      400,
      [{ path: '/body/name', code: 'repeated', message: 'must not be repeated: it takes one value' }],
    ])
  })
})

describe('a field of another API', () => {
  const messages = (errors: { path: string; message: string }[]) =>
    Object.fromEntries(errors.map(({ message, path }) => [path, message]))

  test('is refused with the field that was meant, in a body', async () => {
    const body = {
      workspaceId,
      text: 'Hello',
      accounts: [],
      scheduledAt: '2026-12-24T18:00:00Z',
      timezon: 'UTC',
      other: 1,
    }
    const reply = await app.send('POST /api/posts', { apiKey: world.key('owner'), body })
    expect([reply.status, reply.body.code]).toEqual([400, 'validation_failed'])
    expect(messages(reply.body.errors)).toEqual({
      '/body/text': 'is not a known field; did you mean content?',
      '/body/accounts': 'is not a known field; did you mean targets, a list of objects with `accountId`?',
      '/body/scheduledAt': 'is not a known field; did you mean scheduledFor?',
      '/body/timezon': 'is not a known field; did you mean timezone?',
      '/body/other': 'is not a known field; leave it out',
    })
  })

  test('is refused with the parameter that was meant, in every list', async () => {
    const lists = walk(api).filter((op) => {
      const { properties = {} } = (op.query ?? {}) as { properties?: object }
      return 'cursor' in properties && !('page' in properties) && op.access === 'user'
    })
    expect(lists.length).toBeGreaterThan(5)
    for (const op of lists) {
      const query = { page: 2, per_page: 10 }
      const path = op.example.path && { path: op.example.path }
      const reply = await app.send(op.route as string, { apiKey: world.key('owner'), query, ...path })
      expect(messages(reply.body.errors), op.name).toMatchObject({
        '/query/page': 'is not a known field; did you mean cursor, `pagination.nextCursor` of the previous page?',
        '/query/per_page': 'is not a known field; did you mean limit?',
      })
    }
  })

  test('is one of 20 errors at most', async () => {
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`scheduledFo${index}`, 1]))
    const reply = await app.send('POST /api/posts', { apiKey: world.key('owner'), body: { workspaceId, ...many } })
    expect([reply.status, reply.body.errors.length]).toEqual([400, 20])
  })
})
