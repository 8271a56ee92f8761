import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Front, FrontReply, FrontRequest } from '../support/fronts.ts'
import { PIXEL } from '../support/pixel.ts'
import { PAGE, startBehindProxies, type ProxyStage } from '../support/proxy-stage.ts'
import { declaredStatuses, STATUS_CASES } from '../support/statuses.ts'

/** Crier behind nginx and HAProxy with the configurations of docs/proxies.md: clients get the replies that Crier sends. */

let stage: ProxyStage

beforeAll(async () => {
  stage = await startBehindProxies()
})
afterAll(() => stage?.stop())

/** Headers of one connection, those that proxies write themselves, and those that differ between requests. */
const PASSING = new Set(['connection', 'date', 'keep-alive', 'server', 'transfer-encoding', 'x-request-id'])

/** A reply without what differs between requests. */
function comparable({ bytes, headers, status, text }: FrontReply, method: string): object {
  const mask = (given: string) =>
    given
      .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}/g, '<id>')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replaceAll(/"requestId":"[^"]*"/g, '"requestId":"<id>"')
      .replaceAll(/r=\d+;t=\d+/g, '<rest>')
  const { 'content-length': length, ...rest } = headers
  if (length !== undefined && method !== 'HEAD') expect(Number(length)).toBe(bytes)
  const kept = Object.entries(rest).filter(([name]) => !PASSING.has(name))
  return {
    status,
    headers: Object.fromEntries(kept.map(([name, value]) => [name, mask(value)])),
    text: mask(text),
    hasLength: length !== undefined,
    ...(method === 'HEAD' && { length }),
  }
}

/** Sends a request and then another one, which must get its own reply, over the same connection unless that has ended. */
async function sendTwice(front: Front, request: FrontRequest): Promise<FrontReply> {
  const reply = await front.send(request)
  const id = randomUUID()
  const next = await front.send({ method: 'GET', path: '/api/health', headers: { 'x-request-id': id } })
  expect([front.name, next.status, next.headers['x-request-id']]).toEqual([front.name, 200, id])
  expect([front.name, next.reused]).toEqual([front.name, !reply.isLast])
  return reply
}

/** Sends the request over each front. @returns the reply, which is the same everywhere */
async function sendEverywhere(make: () => FrontRequest | Promise<FrontRequest>): Promise<FrontReply> {
  let first: { reply: FrontReply; seen: object } | undefined
  for (const front of stage.fronts) {
    const request = await make()
    const reply = await sendTwice(front, request)
    const seen = comparable(reply, request.method)
    first ??= { reply, seen }
    expect({ front: front.name, ...seen }).toEqual({ front: front.name, ...first.seen })
  }
  return first!.reply
}

test('each declared status has a request', async () => {
  expect(new Set(Object.keys(STATUS_CASES).map(Number))).toEqual(await declaredStatuses(stage.app))
})

test.each(Object.entries(STATUS_CASES))('%s is the same behind each proxy', async (status, make) => {
  const reply = await sendEverywhere(() => make(stage))
  expect(reply.status, reply.text).toBe(Number(status))
  if (status === '204' || status === '304') expect(reply.headers).not.toHaveProperty('content-length')
})

test.each(['200', '206', '302', '304', '401', '404', '409', '416', '426', '500'])(
  'so is the HEAD of what gets %s',
  async (status) => {
    const reply = await sendEverywhere(async () => ({
      ...(await STATUS_CASES[Number(status)]!(stage)),
      method: 'HEAD',
    }))
    // A GET that changes something refuses HEAD.
    expect([reply.status, reply.text]).toEqual([status === '302' ? 405 : Number(status), ''])
  },
)

test.each([
  ['/api/ideas', PAGE, 204],
  ['/api/ideas', 'https://other.example.com', 403],
  ['/api/streams/whip/0123456789abcdef/0123456789abcdef0123456789abcdef', PAGE, 204],
  ['/docs', '', 204],
])('so is a preflight of %s from %s', async (path, origin, status) => {
  const headers = { 'access-control-request-method': 'PATCH', ...(origin && { origin }) }
  const reply = await sendEverywhere(() => ({ method: 'OPTIONS', path, headers }))
  expect([reply.status, reply.headers['access-control-allow-origin']]).toEqual([
    status,
    status === 204 && origin ? origin : undefined,
  ])
})

test.each(['/', '/docs', '/docs/proxies', '/docs/scalar.js', '/api/openapi.json', '/reset-password'])(
  'so is the page %s, also if the client has it',
  async (path) => {
    const headers = { 'accept-encoding': 'gzip' }
    const reply = await sendEverywhere(() => ({ method: 'GET', path, headers }))
    expect(reply.status).toBe(path === '/' ? 302 : 200)
    const { etag } = reply.headers
    if (etag === undefined) return
    const known = await sendEverywhere(() => ({ method: 'GET', path, headers: { ...headers, 'if-none-match': etag } }))
    expect(known.status).toBe(304)
  },
)

test('a head that is too large gets 431', async () => {
  for (const front of stage.fronts) {
    const { status } = await front.send({ method: 'GET', path: '/api/health', headers: { cookie: 'x'.repeat(5_000) } })
    expect([front.name, status]).toEqual([front.name, 431])
  }
})

const FORM = { 'content-type': 'multipart/form-data; boundary=x' }
const JSON_TYPE = { 'content-type': 'application/json' }
const key = () => ({ 'x-api-key': stage.world.key('ada') })

/** A multipart body up to the content of its file. */
function formHead(workspaceId = stage.world.id('acme')): string {
  const field = `--x\r\nContent-Disposition: form-data; name="workspaceId"\r\n\r\n${workspaceId}\r\n`
  return `${field}--x\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n`
}
const picture = () => Buffer.concat([Buffer.from(formHead()), PIXEL, Buffer.from('\r\n--x--\r\n')])

const MB = 1_000_000
const BLOCK = Buffer.alloc(MB, 'x')
async function* megabytes(count: number, head = ''): AsyncGenerator<Uint8Array> {
  if (head !== '') yield Buffer.from(head)
  for (let sent = 0; sent < count; sent += 1) yield BLOCK
}

describe('a body that is refused before its end', () => {
  const upload = '/api/assets/upload'
  const none = '01900000-0000-7000-8000-00000000dead'

  test.each<[what: string, path: string, headers: () => object, size: number, head: () => string, code: string]>([
    ['JSON that is dropped', '/api/streams', () => ({ ...key(), ...JSON_TYPE }), 15, () => '', '413 payload_too_large'],
    [
      'JSON that is not read',
      '/api/streams',
      () => ({ ...key(), ...JSON_TYPE }),
      60,
      () => '',
      '413 payload_too_large',
    ],
    ['a body without a route', '/api/nothing', () => JSON_TYPE, 60, () => '', '404 route_not_found'],
    ['an upload without a credential', upload, () => FORM, 60, () => '', '401 unauthorized'],
    [
      'an upload of another type',
      upload,
      () => ({ ...key(), ...JSON_TYPE }),
      60,
      () => '',
      '415 unsupported_media_type',
    ],
    ['an upload to no workspace', upload, () => ({ ...key(), ...FORM }), 60, () => formHead(none), '404 not_found'],
    ['a file of no known kind', upload, () => ({ ...key(), ...FORM }), 60, formHead, '415 unsupported_file'],
  ])('%s', async (_what, path, headers, size, head, expected) => {
    for (const front of stage.fronts) {
      for (const length of [{ 'content-length': String(head().length + size * MB) }, {}]) {
        const all = { ...headers(), ...length } as Record<string, string>
        const reply = await front.send({ method: 'POST', path, headers: all, body: megabytes(size, head()) })
        // nginx may end the connection without saying so.
        front.close()
        expect((await front.send({ method: 'GET', path: '/api/health' })).status).toBe(200)
        const got = `${reply.status} ${/"code":"(\w+)"/.exec(reply.text)?.[1]}`
        expect([front.name, length, got]).toEqual([front.name, length, expected])
      }
    }
  })
})

test('a client that waits for 100 Continue is asked for the body', async () => {
  const title = JSON.stringify({ workspaceId: stage.world.id('acme'), title: 'Launch' })
  for (const front of stage.fronts.filter(({ isHttp2 }) => !isHttp2)) {
    for (const [path, headers, body, status] of [
      ['/api/streams', JSON_TYPE, title, 201],
      ['/api/assets/upload', FORM, picture(), 201],
      ['/api/streams', JSON_TYPE, 'x'.repeat(200_000), 413],
    ] as const) {
      const request = { method: 'POST', path, headers: { ...key(), ...headers }, body, expects: true }
      const reply = await sendTwice(front, request)
      expect([front.name, reply.continued, reply.status]).toEqual([front.name, true, status])
    }
  }
})

test('bodies without a length arrive', async () => {
  async function* parts(whole: Buffer): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < whole.length; at += 40) yield whole.subarray(at, at + 40)
  }
  const stream = Buffer.from(JSON.stringify({ workspaceId: stage.world.id('acme'), title: 'In parts' }))
  for (const front of stage.fronts) {
    for (const [path, headers, body, expected] of [
      ['/api/streams', JSON_TYPE, stream, '"title":"In parts"'],
      ['/api/assets/upload', FORM, picture(), `"size":${PIXEL.length}`],
    ] as const) {
      const request = { method: 'POST', path, headers: { ...key(), ...headers }, body: parts(body) }
      const reply = await sendTwice(front, request)
      expect([front.name, reply.status, reply.text]).toEqual([front.name, 201, expect.stringContaining(expected)])
    }
  }
})
