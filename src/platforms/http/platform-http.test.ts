import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { ManualClock, SECOND } from '../../core/clock.ts'
import { Outgoing } from '../../fetch/outgoing.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { PlatformError } from '../error-kinds.ts'
import { multipart } from './multipart.ts'
import {
  kindOfStatus,
  PlatformHttp,
  type BudgetReport,
  type LoggedCall,
  type PlatformRequest,
} from './platform-http.ts'

const clock = new ManualClock()
const outgoing = Outgoing.of(false)
let server: Server
let base: string
let answer: (request: IncomingMessage, reply: ServerResponse, body: string) => void
let calls: LoggedCall[]
let budgets: BudgetReport[]
let sockets: Set<unknown>

beforeAll(async () => {
  sockets = new Set()
  server = createServer((request, reply) => {
    sockets.add(request.socket)
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => answer(request, reply, Buffer.concat(chunks).toString()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  outgoing.close()
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  calls = []
  budgets = []
  answer = (_request, reply) => reply.end('{"ok":true}')
})

function client(): PlatformHttp {
  return new PlatformHttp({
    platform: { key: 'test', title: 'Test' },
    clock,
    outgoing,
    breaker: new CircuitBreaker(clock),
    reader: {
      errorOf: ({ json, status }) =>
        status < 400
          ? undefined
          : {
              kind: kindOfStatus(status),
              code: (json as { code?: string } | undefined)?.code,
              detail: (json as { message?: string } | undefined)?.message,
            },
      budgetsOf: ({ headers }, now) =>
        headers['x-left'] === undefined ? [] : [{ name: 'api', remaining: Number(headers['x-left']), resetsAt: now }],
    },
    onCall: (call) => calls.push(call),
    onBudget: (report) => budgets.push(report),
  })
}

describe('PlatformHttp', () => {
  test('sends JSON, forms and streams, and keeps the connection', async () => {
    const bodies: string[] = []
    answer = (request, reply, body) => {
      bodies.push(`${request.method} ${request.headers['content-type']} ${request.headers['content-length']} ${body}`)
      reply.end('{"ok":true}')
    }
    sockets.clear()
    const http = client()
    await http.send({ method: 'POST', url: `${base}/a`, json: { a: 1 } })
    await http.send({ method: 'POST', url: `${base}/b`, form: { a: '1', b: undefined, c: 'x y' } })
    const body = { stream: Readable.from([Buffer.from('first '), Buffer.from('second')]), size: 12 }
    await http.send({ method: 'PUT', url: `${base}/c`, body, headers: { 'Content-Type': 'video/mp4' } })
    const reply = await http.send({ url: `${base}/d`, query: { a: 'ä', b: undefined } })
    expect(bodies).toEqual([
      'POST application/json 7 {"a":1}',
      'POST application/x-www-form-urlencoded 9 a=1&c=x+y',
      'PUT video/mp4 12 first second',
      'GET undefined undefined ',
    ])
    expect(reply.json).toEqual({ ok: true })
    expect(sockets.size).toBe(1)
  })

  test('logs each call without secrets', async () => {
    answer = (_request, reply) => {
      reply.writeHead(400, { 'x-request-id': 'abc' })
      reply.end('{"error":"the token s3cr3t-value is wrong"}')
    }
    const url = `${base}/bot123:topsecret/x?access_token=hidden&page=2`
    const failed = client().send({ url, secrets: ['s3cr3t-value'] })
    await expect(failed).rejects.toMatchObject({ kind: 'validation', httpStatus: 400 })
    expect(calls).toEqual([
      expect.objectContaining({
        method: 'GET',
        url: `${base}/bot[redacted]/x?access_token=[redacted]&page=2`,
        status: 400,
        platformRequestId: 'abc',
      }),
    ])
    expect(JSON.stringify(calls)).not.toMatch(/s3cr3t|topsecret|hidden/)
    await failed.catch((error: Error) => expect(JSON.stringify(error)).not.toContain('s3cr3t'))
  })

  test('removes from an error what the request had to keep secret, wherever it was', async () => {
    const secrets = {
      bearer: 'marked-bearer',
      basic: 'marked-basic',
      proof: 'marked-proof',
      parameter: 'marked+parameter',
      path: 'marked-path',
      field: 'marked-"field"',
      nested: 'marked-nested',
      named: 'marked-named',
    }
    answer = (request, reply, body) => {
      const { authorization = '', dpop } = request.headers
      const user = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString()
      const said = [request.url, decodeURIComponent(request.url ?? ''), authorization, user, dpop, body]
      reply.writeHead(400).end(JSON.stringify({ code: said.join(' '), message: said.join(' ') }))
    }
    const basic = `Basic ${Buffer.from(`app:${secrets.basic}`).toString('base64')}`
    const query = { access_token: secrets.parameter }
    const requests: PlatformRequest[] = [
      { url: `${base}/bot${secrets.path}/x`, query, headers: { Authorization: `Bearer ${secrets.bearer}` } },
      { url: base, method: 'POST', form: { refresh_token: secrets.field }, headers: { authorization: basic } },
      { url: base, method: 'POST', json: { a: [{ password: secrets.nested }] }, headers: { DPoP: secrets.proof } },
      { url: `${base}/${secrets.named}`, secrets: [secrets.named] },
      {
        url: base,
        method: 'POST',
        body: Buffer.from('code=marked-code'),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
      {
        url: base,
        method: 'POST',
        body: Buffer.from('{"refresh_token":"marked-token"}'),
        headers: { 'Content-Type': 'application/json' },
      },
    ]
    for (const request of requests) {
      const said = await client()
        .send({ ...request, expect: [400] })
        .then(({ bytes, json }) => `${bytes.toString()} ${JSON.stringify(json)}`)
      expect(said).toContain('[redacted]')
      const { code, detail, kind } = await client()
        .send(request)
        .then(
          () => expect.fail('the error was not thrown'),
          (one: PlatformError) => one,
        )
      expect(kind).toBe('validation')
      expect([said, code, detail, JSON.stringify(calls)].join(' ')).not.toMatch(/marked/)
    }
  })

  test('leaves a successful reply as it is', async () => {
    answer = (_request, reply) => reply.end('{"access_token":"marked-token"}')
    const { json } = await client().send({ url: base, headers: { Authorization: 'Bearer marked-token' } })
    expect(json).toEqual({ access_token: 'marked-token' })
  })

  test('logs the code of an error, and calls without a reply', async () => {
    answer = (_request, reply) => reply.writeHead(403).end('{"code":"not_allowed"}')
    await client()
      .send({ method: 'POST', url: `${base}/${'a'.repeat(1_000)}`, json: {} })
      .catch(() => undefined)
    await client()
      .send({ url: 'http://127.0.0.1:1/' })
      .catch(() => undefined)
    expect(calls).toMatchObject([
      {
        method: 'POST',
        status: 403,
        platformCode: 'not_allowed',
        bytes: 22,
        error: expect.stringMatching(/^scope_missing: /),
      },
      { method: 'GET', platformCode: 'unreachable', error: expect.stringMatching(/^network: /) },
    ])
    expect(calls[0]?.url).toHaveLength(300)
    expect(calls[1]).not.toHaveProperty('status')
  })

  test('a refused call had no effect; a lost reply may have had one', async () => {
    answer = (_request, reply) => reply.writeHead(429, { 'Retry-After': '7' }).end('{}')
    await expect(client().send({ url: base })).rejects.toMatchObject({
      kind: 'rate_limited',
      retryAfter: 7,
      mayHaveHappened: false,
    })
    answer = (_request, reply) => reply.destroy()
    await expect(client().send({ method: 'POST', url: base, json: {} })).rejects.toMatchObject({
      kind: 'network',
      mayHaveHappened: true,
    })
    await expect(client().send({ method: 'POST', url: 'http://127.0.0.1:1/', json: {} })).rejects.toMatchObject({
      kind: 'network',
      mayHaveHappened: false,
    })
    answer = (_request, reply) => reply.writeHead(502).end('<html>')
    await expect(client().send({ url: base })).rejects.toMatchObject({ kind: 'server_error', mayHaveHappened: true })
  })

  test('stops waiting for a server that does not respond, and stops reading an endless reply', async () => {
    answer = (_request, reply) => void reply.write('x')
    await expect(client().send({ url: base, timeoutMs: 200 })).rejects.toMatchObject({
      kind: 'network',
      code: 'timeout',
    })
    answer = (_request, reply) => void reply.end('x'.repeat(5_000))
    await expect(client().send({ url: base, maxBytes: 1_000 })).rejects.toMatchObject({ code: 'too_large' })
  })

  test('closes the files of calls that fail or are not made', async () => {
    const upload = async (url: string, http = client()) => {
      const file = Readable.from(['bytes'])
      const form = multipart({}, [{ field: 'file', filename: 'a', type: 'image/png', body: { stream: file, size: 5 } }])
      await expect(http.send({ method: 'POST', url, ...form })).rejects.toMatchObject({ mayHaveHappened: false })
      return file
    }
    const http = client()
    for (let count = 0; count < 5; count += 1) await expect(upload('http://127.0.0.1:1/', http)).resolves.toBeDefined()
    // The last one is not made, because calls are paused.
    const files = [await upload('http://127.0.0.1:1/'), await upload('http://127.0.0.1:1/', http)]
    await vi.waitFor(() => expect(files.map(({ destroyed }) => destroyed)).toEqual([true, true]))
  })

  test('stops calling a host that keeps failing', async () => {
    let asked = 0
    answer = (_request, reply) => {
      asked += 1
      reply.writeHead(503).end('{}')
    }
    const http = client()
    for (let count = 0; count < 8; count += 1) await http.send({ url: base }).catch(() => undefined)
    expect(asked).toBe(5)
    await expect(http.send({ url: base })).rejects.toMatchObject({ retryAfter: 5, mayHaveHappened: false })
    clock.advance(5 * SECOND)
    answer = (_request, reply) => reply.end('{}')
    expect((await http.send({ url: base })).status).toBe(200)
  })

  test('a host that a user entered must be public', async () => {
    await expect(client().send({ url: base, userHost: true })).rejects.toMatchObject({
      kind: 'validation',
      code: 'address_refused',
    })
  })

  test('reports the rest of a budget', async () => {
    answer = (_request, reply) => reply.writeHead(200, { 'X-Left': '41' }).end('{}')
    await client().send({ url: base })
    expect(budgets).toEqual([{ name: 'api', remaining: 41, resetsAt: clock.now() }])
  })
})
