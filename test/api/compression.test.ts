import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'

let app: App
let owner: SeededUser
let workspaceId: string

beforeAll(async () => {
  app = await startApp({ env: { RATE_LIMITS: 'off' } })
  owner = await seedUser(app, 'owner', { plan: 'business' })
  workspaceId = await seedWorkspace(app, 'Compression', owner)
  const posts = Array.from({ length: 200 }, (_, index) => ({ content: `Post ${index}: we are live at noon.` }))
  const made = await app.send('POST /api/posts/bulk', { apiKey: owner.apiKey, body: { workspaceId, posts } })
  expect(made.status, made.text).toBe(201)
})
afterAll(() => app.stop())

interface Raw {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** Sends a request, and returns the bytes as they came. */
function raw(
  path: string,
  accept: string | undefined,
  { body, method = 'GET' }: { body?: object; method?: string } = {},
) {
  const headers = {
    'X-API-Key': owner.apiKey,
    ...(accept !== undefined && { 'Accept-Encoding': accept }),
    ...(body && { 'Content-Type': 'application/json' }),
  }
  return new Promise<Raw>((resolve, reject) => {
    const sent = httpRequest(app.url + path, { method, headers }, (reply) => {
      buffer(reply)
        .then((bytes) => resolve({ status: reply.statusCode ?? 0, headers: reply.headers, bytes }))
        .catch(reject)
    })
    sent.on('error', reject)
    sent.end(body && JSON.stringify(body))
  })
}

const posts = (limit: number) => `/api/posts?workspaceId=${workspaceId}&limit=${limit}`

test.each([
  ['a short list at once', 10],
  ['a long one in a thread', 100],
])('a client that takes gzip gets %s', async (_what, limit) => {
  const plain = await raw(posts(limit), undefined)
  const small = await raw(posts(limit), 'br;q=1, gzip;q=0.8')
  expect(plain.headers['content-encoding']).toBeUndefined()
  expect(small.headers).toMatchObject({ 'content-encoding': 'gzip', vary: expect.stringContaining('Accept-Encoding') })
  expect(plain.headers.vary).toContain('Accept-Encoding')
  expect(Number(small.headers['content-length'])).toBe(small.bytes.length)
  expect(small.bytes.length).toBeLessThan(plain.bytes.length / 5)
  expect(JSON.parse(gunzipSync(small.bytes).toString())).toEqual(JSON.parse(plain.bytes.toString()))
})

test.each([[undefined], ['identity'], ['gzip;q=0'], ['br']])(
  'with Accept-Encoding %s, nothing is compressed',
  async (accept) => {
    const { bytes, headers } = await raw(posts(50), accept)
    expect(headers['content-encoding']).toBeUndefined()
    expect(JSON.parse(bytes.toString())).toMatchObject({ status: true })
  },
)

test('a short reply is not worth it', async () => {
  const { headers } = await raw(posts(1), 'gzip')
  expect([headers['content-encoding'], headers.vary]).toEqual([undefined, undefined])
})

test('HEAD names the length that GET would have', async () => {
  const [get, head] = [await raw(posts(10), 'gzip'), await raw(posts(10), 'gzip', { method: 'HEAD' })]
  expect([head.status, head.bytes.length]).toEqual([200, 0])
  expect(head.headers['content-length']).toBe(get.headers['content-length'])
})

test('public lists are compressed the second time, too', async () => {
  const first = await raw('/api/platforms', 'gzip')
  const second = await raw('/api/platforms', 'gzip')
  for (const reply of [first, second]) {
    expect(reply.headers['content-encoding']).toBe('gzip')
    expect(JSON.parse(gunzipSync(reply.bytes).toString())).toMatchObject({ status: true })
  }
})

test('replies with tokens are not compressed', async () => {
  const email = 'a'.repeat(60) + '@example.com'
  const { headers } = await raw('/api/auth/login', 'gzip', {
    method: 'POST',
    body: { email, password: 'x'.repeat(1_000) },
  })
  expect(headers['content-encoding']).toBeUndefined()
})
