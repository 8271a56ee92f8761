import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock, SECOND } from '../../src/core/clock.ts'
import { uuidv7 } from '../../src/tools/id.ts'
import type { App } from '../support/app.ts'
import { AttackConnection } from '../support/http-attacks.ts'
import { gate, startProbe, type ProbeWorld } from '../support/probe.ts'
import { openConnection } from '../support/raw-http.ts'
import { waitFor } from '../support/wait.ts'

const OURS = uuidv7(Date.now())
const clock = new ManualClock()
let app: App
let who: ProbeWorld

beforeAll(async () => {
  ;({ app, who } = await startProbe({ clock, env: { CORS_ORIGINS: 'https://front.example' } }))
  who.allow('ada', OURS, ['streams:manage', 'streams:read'])
})
afterAll(() => app?.stop())

function post(body: unknown, headers: Record<string, string> = {}) {
  return app.send('POST /api/probe/things', { token: 'ada', body, headers })
}

/** Sends raw bytes, and returns what comes back until it contains `until` or the connection closes. */
async function raw(bytes: string | Buffer, until = '\r\n\r\n'): Promise<string> {
  const socket = connect(app.port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => void (text += chunk.toString('latin1')))
  socket.on('error', () => undefined)
  socket.write(bytes)
  try {
    await waitFor(() => text.includes(until) || socket.closed, { what: 'a reply' })
    return text
  } finally {
    socket.destroy()
  }
}

describe('bodies', () => {
  test.each([
    ['malformed JSON', '{"name":', 400, 'bad_request'],
    ['JSON that is no object', '[1,2]', 400, 'validation_failed'],
    ['an empty body', '', 400, 'validation_failed'],
    ['null', 'null', 400, 'validation_failed'],
  ])('%s gets %s', async (_what, body, status, code) => {
    const reply = await post(body)
    expect([reply.status, reply.body.code]).toEqual([status, code])
  })

  test('rejects invalid UTF-8 instead of repairing it', async () => {
    const body = Buffer.concat([
      Buffer.from(`{"workspaceId":"${OURS}","name":"`),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}'),
    ])
    const reply = await post(body)
    expect([reply.status, reply.body.code]).toEqual([400, 'bad_request'])
    expect(reply.body.message).toContain('UTF-8')
  })

  test.each([
    ['NUL in a value', { name: 'a\0b' }, '/body/name'],
    ['NUL in a nested value', { name: 'a', anything: { deep: ['a\0b'] } }, '/body/anything/deep/0'],
    ['NUL in a field name', { name: 'a', anything: { 'a\0b': 1 } }, '/body/anything'],
    ['half of a surrogate pair in a value', { name: 'a\uD83D' }, '/body/name'],
    ['half of a surrogate pair in a field name', { name: 'a', anything: { '\uDE00b': 1 } }, '/body/anything'],
  ])('%s gets a 400 that names the field', async (_what, fields, path) => {
    const reply = await post({ workspaceId: OURS, ...fields })
    expect([reply.status, reply.body.errors?.[0]?.path]).toEqual([400, path])
  })

  test('treats __proto__, constructor and prototype as unknown fields', async () => {
    for (const name of ['__proto__', 'constructor', 'prototype', 'toString']) {
      const reply = await post(`{"workspaceId":"${OURS}","name":"a","${name}":{"polluted":true}}`)
      expect([name, reply.status, reply.body.errors?.[0]?.path]).toEqual([name, 400, `/body/${name}`])
      expect(reply.body.errors[0].code).toBe('unknown_field')
    }
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  test('accepts 60 levels of nesting and rejects 9,000', async () => {
    const nested = (levels: number) =>
      `{"workspaceId":"${OURS}","name":"a","anything":${'['.repeat(levels)}${']'.repeat(levels)}}`
    const deep = await post(nested(9_000))
    expect([deep.status, deep.body.errors?.[0]?.code]).toEqual([400, 'too_deep'])
    expect((await post(nested(60))).status).toBe(201)
  })

  test('reports all errors at once by JSON pointer, with a hint for each', async () => {
    const reply = await post({ workspaceId: 'x', naem: 'typo', count: 12, tags: ['ok', 7, ''] })
    expect(reply.status).toBe(400)
    const rows = Object.fromEntries(
      (reply.body.errors as { path: string; message: string }[]).map((row) => [row.path, row.message]),
    )
    expect(rows).toMatchObject({
      '/body/name': 'is required',
      '/body/naem': expect.stringContaining('did you mean name?'),
      '/body/count': 'must be at most 9',
      '/body/tags/1': 'must be a string, not a number',
      '/body/tags/2': 'must not be empty',
    })
  })

  test('trims text before checking its length', async () => {
    expect((await post({ workspaceId: OURS, name: '   ' })).status).toBe(400)
    expect((await post({ workspaceId: OURS, name: '  Thing ' })).body.data.name).toBe('Thing')
  })

  test('rejects unknown query parameters, including on operations that take none', async () => {
    const listed = await app.send('GET /api/probe/things', { token: 'ada', query: { workspaceId: OURS, limt: 3 } })
    expect([listed.status, listed.body.errors[0].path]).toEqual([400, '/query/limt'])
    const healthy = await app.send('GET /api/health', { query: { verbose: 1 } })
    expect([healthy.status, healthy.body.errors[0].path]).toEqual([400, '/query/verbose'])
  })
})

describe('a body that is too large', () => {
  const big = JSON.stringify({ workspaceId: OURS, name: 'x'.repeat(5_000_000) })

  test('fetch reads the 413', async () => {
    const reply = await post(big)
    expect([reply.status, reply.body.code]).toEqual([413, 'payload_too_large'])
    expect(reply.body.message).toContain('20000 bytes')
  })

  test('a chunked upload of unknown length reads the 413', async () => {
    const reply = await fetch(`${app.url}/api/probe/things`, {
      method: 'POST',
      headers: { Authorization: 'Bearer ada', 'Content-Type': 'application/json' },
      body: new Blob([big]).stream(),
      duplex: 'half',
    })
    expect([reply.status, ((await reply.json()) as { code: string }).code]).toEqual([413, 'payload_too_large'])
  })

  test('curl reads the 413', async () => {
    const { stdout } = await promisify(execFile)('sh', [
      '-c',
      `head -c 5000000 /dev/zero | curl -sS -w ' %{http_code}' -H 'Authorization: Bearer ada' -H 'Content-Type: application/json' --data-binary @- '${app.url}/api/probe/things'`,
    ])
    expect(stdout).toMatch(/"code":"payload_too_large".* 413$/)
  })

  test('leaves the connection usable for the next request', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const sockets = new Set<Socket>()
    const send = (path: string, body?: string) =>
      new Promise<number>((resolve, reject) => {
        const headers = { Authorization: 'Bearer ada', 'Content-Type': 'application/json' }
        const sent = httpRequest(app.url + path, { agent, method: body ? 'POST' : 'GET', headers }, (response) => {
          response.resume().on('end', () => resolve(response.statusCode ?? 0))
        })
        sent.on('socket', (socket) => void sockets.add(socket))
        sent.on('error', reject)
        sent.end(body)
      })
    expect(await send('/api/probe/things', big)).toBe(413)
    expect(await send('/api/health')).toBe(200)
    expect(sockets.size).toBe(1)
    agent.destroy()
  })

  test('is handled on an unknown path and on an operation without a body', async () => {
    expect((await app.send('POST /api/nothing', { body: big })).status).toBe(404)
    expect((await app.send('DELETE /api/probe/nothing', { body: big })).status).toBe(413)
  })

  test('is cut off when it does not end', async () => {
    const socket = connect(app.port, '127.0.0.1')
    socket.on('error', () => undefined)
    // The server waits for clients that have got the reply, but not for long.
    socket.once('data', () => clock.advance(31 * SECOND))
    const head = 'Host: x\r\nAuthorization: Bearer ada\r\nContent-Type: application/json'
    socket.write(`POST /api/probe/things HTTP/1.1\r\n${head}\r\nTransfer-Encoding: chunked\r\n\r\n`)
    const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`
    let sent = 0
    while (!socket.closed && sent < 200) {
      sent += 1
      if (!socket.write(chunk))
        await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => undefined)
    }
    await waitFor(() => socket.closed, { what: 'the server to end the connection' })
    expect(sent).toBeLessThan(60)
  })
})

describe('clients that disconnect or are slow', () => {
  test('a client that disconnects during its body leaves no state behind', async () => {
    for (let index = 0; index < 20; index += 1) {
      const socket = connect(app.port, '127.0.0.1')
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      const head = 'Host: x\r\nAuthorization: Bearer ada\r\nContent-Type: application/json\r\nContent-Length: 1000'
      await new Promise((resolve) => socket.write(`POST /api/probe/things HTTP/1.1\r\n${head}\r\n\r\n{"work`, resolve))
      socket.destroy()
    }
    await waitFor(async () => (await inFlight()) === 0, { what: 'no request in flight' })
    expect((await app.send('GET /api/health')).status).toBe(200)
  })

  test('a request is finished and logged as aborted when its client disconnects', async () => {
    const { open, arrivals } = gate('leaving')
    const controller = new AbortController()
    const sent = app.send('POST /api/probe/wait', {
      token: 'ada',
      body: { gate: 'leaving' },
      signal: controller.signal,
    })
    await waitFor(() => arrivals() === 1)
    controller.abort()
    await expect(sent).rejects.toThrow(/abort/i)
    await waitFor(async () => (await inFlight()) === 0)
    open()
    await waitFor(() => app.logs.some((line) => line['op'] === 'wait' && line['aborted'] === true))
  })

  test('a body that arrives in slow pieces is assembled', async () => {
    const body = JSON.stringify({ workspaceId: OURS, name: 'Slowly' })
    const socket = connect(app.port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => void (text += chunk.toString()))
    const head = 'Host: x\r\nAuthorization: Bearer ada\r\nContent-Type: application/json'
    socket.write(`POST /api/probe/things HTTP/1.1\r\n${head}\r\nContent-Length: ${body.length}\r\n\r\n`)
    for (const letter of body) await new Promise((resolve) => socket.write(letter, () => setImmediate(resolve)))
    await waitFor(() => text.includes('201 Created') && text.includes('Slowly'))
    socket.destroy()
  })

  async function inFlight(): Promise<number> {
    const metric = await app.node.resources.metrics.getSingleMetric('crier_http_in_flight')?.get()
    return metric?.values[0]?.value ?? -1
  }
})

describe('the protocol', () => {
  test('returns the headers of GET for HEAD, without the body', async () => {
    const get = await app.send('GET /api/services')
    const head = await app.send('HEAD /api/services')
    expect([head.status, head.text]).toEqual([200, ''])
    expect(head.headers.get('content-length')).toBe(String(get.text.length))
    expect(head.headers.get('content-type')).toBe('application/json')
    expect((await app.send('HEAD /docs')).status).toBe(200)
    expect((await app.send('HEAD /nothing')).status).toBe(404)
  })

  test('returns the methods of a path for OPTIONS', async () => {
    const reply = await app.send('OPTIONS /api/probe/things')
    expect([reply.status, reply.headers.get('allow')]).toEqual([204, 'POST, GET, HEAD, OPTIONS'])
    expect([reply.headers.get('accept-post'), reply.headers.get('accept-patch')]).toEqual(['application/json', null])
    const one = await app.send(`OPTIONS /api/probe/things/${OURS}`)
    expect([one.headers.get('accept-post'), one.headers.get('accept-patch')]).toEqual([null, 'application/json'])
  })

  test('uses valid request ids, replaces others, and shows them in errors and the log', async () => {
    const given = await app.send('GET /api/nothing', { headers: { 'X-Request-Id': 'my-id_1' } })
    expect([given.headers.get('x-request-id'), given.body.requestId]).toEqual(['my-id_1', 'my-id_1'])
    const mad = await app.send('GET /api/health', { headers: { 'X-Request-Id': 'a b;c' } })
    expect(mad.headers.get('x-request-id')).toMatch(/^req_\w+$/)
    await app.send('GET /api/health', { headers: { 'X-Request-Id': 'find-me' } })
    expect(app.logs.filter((line) => line['requestId'] === 'find-me')).toMatchObject([{ op: 'getHealth', status: 200 }])
  })

  test('sends errors as problem+json on request', async () => {
    const reply = await app.send('POST /api/probe/things', {
      headers: { Accept: 'application/problem+json' },
      body: {},
    })
    expect(reply.headers.get('content-type')).toBe('application/problem+json')
    expect(reply.body).toEqual({
      type: `${app.url}/docs/errors#unauthorized`,
      title: 'Unauthorized',
      status: 401,
      detail:
        'The request has no credential. Send an access token as `Authorization: Bearer <token>`, or an API key as `X-API-Key: <key>`.',
      instance: `urn:crier:request:${reply.headers.get('x-request-id')}`,
      code: 'unauthorized',
    })
    expect(reply.headers.get('www-authenticate')).toBe('Bearer')
  })

  test('returns 500 without details for an unexpected error', async () => {
    const reply = await app.send('GET /api/probe/crash')
    expect([reply.status, reply.body.code]).toEqual([500, 'internal_error'])
    expect(reply.text).not.toContain('hunter2')
    expect(app.logs.find((line) => line['op'] === 'crash')?.['cause']).toContain('hunter2')
  })

  test('returns 500 for an undeclared reply or error when replies are checked', async () => {
    expect((await app.send('GET /api/probe/wrong-body')).status).toBe(500)
    const error = await app.send('GET /api/probe/wrong-error')
    expect([error.status, error.body.code]).toEqual([500, 'internal_error'])
  })

  test('returns 404 for a path parameter that is not an id', async () => {
    for (const id of ['1', 'null', '%00', '..%2f..', '%zz', OURS.toUpperCase(), `${OURS} `]) {
      const reply = await app.send(`GET /api/probe/things/${id}`, { token: 'ada' })
      expect([id, reply.status, reply.body.code]).toEqual([id, 404, 'not_found'])
    }
  })

  test('rejects or closes connections that send garbage, and keeps serving others', async () => {
    for (const bytes of ['\0\0\0\0\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n', Buffer.alloc(70_000, 0x41)]) {
      expect(await raw(bytes)).not.toContain(' 200 ')
    }
    const head = 'POST /api/probe/things HTTP/1.1\r\nHost: x\r\n'
    expect(await raw(`${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`)).not.toMatch(/ 20\d /)
    expect(await raw(`${head}Content-Length: -1\r\n\r\n`)).not.toMatch(/ 20\d /)
    expect((await app.send('GET /api/health')).status).toBe(200)
  })
})

describe('cross-origin requests', () => {
  test('an allowed origin can call and read the headers it needs', async () => {
    const headers = { Origin: 'https://front.example' }
    const preflight = await app.send('OPTIONS /api/probe/things', { headers })
    expect(preflight.headers.get('access-control-allow-origin')).toBe('https://front.example')
    expect(preflight.headers.get('access-control-allow-methods')).toContain('POST')
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Idempotency-Key')
    for (const route of ['GET /api/health', 'GET /api/nothing', 'PUT /api/health', 'GET /api/probe/crash']) {
      const reply = await app.send(route, { headers })
      expect([route, reply.headers.get('access-control-allow-origin')]).toEqual([route, 'https://front.example'])
      expect(reply.headers.get('access-control-expose-headers')).toContain('X-Request-Id')
    }
  })

  test('a page of another origin can read the time of the server', async () => {
    const reply = await app.send('GET /api/health', { headers: { Origin: 'https://front.example' } })
    const exposed = (reply.headers.get('access-control-expose-headers') ?? '').split(', ')
    expect(exposed).toContain('Date')
    const sent = Date.parse(reply.headers.get('date') ?? '')
    expect(Math.abs(Date.now() - sent)).toBeLessThan(30_000)
  })

  test('other origins get no permission', async () => {
    const reply = await app.send('GET /api/health', { headers: { Origin: 'https://evil.example' } })
    expect(reply.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('a preflight of another origin is rejected with the reason', async () => {
    const headers = { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' }
    const reply = await app.send('OPTIONS /api/probe/things', { headers })
    expect([reply.status, reply.body.code]).toEqual([403, 'origin_not_allowed'])
    expect(reply.body.message).toMatch(/CORS_ORIGINS.*PUBLIC_URL/)
    expect(reply.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('the server’s own pages can call it under every name of the server', async () => {
    const reply = await app.send('GET /api/health', { headers: { Origin: new URL(app.url).origin } })
    expect(reply.headers.get('access-control-allow-origin')).toBe(new URL(app.url).origin)
  })
})

describe('versions', () => {
  async function thing(): Promise<string> {
    return (await post({ workspaceId: OURS, name: 'Versioned' })).body.data._id as string
  }

  test('sends an ETag, and 304 when the client has that version', async () => {
    const path = { id: await thing() }
    const first = await app.send('GET /api/probe/things/{id}', { token: 'ada', path })
    expect(first.headers.get('etag')).toBe('"1"')
    for (const known of ['"1"', 'W/"1"', '"0", "1"', '*']) {
      const again = await app.send('GET /api/probe/things/{id}', {
        token: 'ada',
        path,
        headers: { 'If-None-Match': known },
      })
      expect([known, again.status, again.text, again.headers.get('etag')]).toEqual([known, 304, '', '"1"'])
    }
    const other = await app.send('GET /api/probe/things/{id}', {
      token: 'ada',
      path,
      headers: { 'If-None-Match': '"0"' },
    })
    expect(other.status).toBe(200)
  })

  test('lets one of two writers with the same If-Match win; the other gets 412', async () => {
    const path = { id: await thing() }
    const write = (name: string, tag: string) =>
      app.send('PATCH /api/probe/things/{id}', { token: 'ada', path, body: { name }, headers: { 'If-Match': tag } })
    const replies = await Promise.all([write('One', '"1"'), write('Two', '"1"')])
    expect(replies.map((reply) => reply.status).sort((a, b) => a - b)).toEqual([200, 412])
    expect(replies.find((reply) => reply.status === 200)?.headers.get('etag')).toBe('"2"')
    expect((await write('Three', '*')).status).toBe(200)
  })
})

describe('overload', () => {
  test('rejects a caller’s turns beyond 32 waiting with Retry-After, but not another caller’s', async () => {
    who.allow('bob', OURS, ['streams:manage'])
    await post({ workspaceId: OURS, name: 'Awake' })
    const release = await holdActor()
    const flood = Array.from({ length: 150 }, (_, index) => post({ workspaceId: OURS, name: `Flood ${index}` }))
    await waitFor(() => app.logs.some((line) => line['error'] === 'overloaded'))
    const other = app.send('POST /api/probe/things', { token: 'bob', body: { workspaceId: OURS, name: 'Bob’s' } })
    await waitFor(() => app.composition.actors.stats().waiting > 32)
    await release()
    const replies = await Promise.all(flood)
    const refused = replies.filter((reply) => reply.status === 503)
    expect(refused.length).toBeGreaterThan(0)
    for (const reply of refused) {
      expect(reply.body.code).toBe('overloaded')
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(replies.filter((reply) => reply.status === 201).length + refused.length).toBe(replies.length)
    expect((await other).status).toBe(201)
  })

  test('drops a turn that waited past its deadline', async () => {
    const release = await holdActor()
    const first = post({ workspaceId: OURS, name: 'First in line' })
    await waitFor(async () => (await lockWaiters()) > 0, { what: 'the first turn to wait for the lock' })
    const late = post({ workspaceId: OURS, name: 'Too late' })
    await waitFor(() => app.composition.actors.stats().waiting === 2)
    clock.advance(11 * SECOND)
    await release()
    // Its deadline has passed too, so the reply may come before the outcome is known.
    const { body, status } = await first
    expect(status === 201 ? 'done' : body.code).toMatch(/^done$|^outcome_unknown$/)
    const reply = await late
    expect([reply.status, reply.body.code]).toEqual([503, 'deadline_exceeded'])
    const made = () => app.database.rows(`select name from probe_things where name in ('First in line', 'Too late')`)
    await waitFor(async () => (await made()).length > 0, { what: 'the first turn to be done' })
    expect(await made()).toEqual([{ name: 'First in line' }])
  })

  /** Blocks the workspace's turns, as a slow transaction would. */
  async function holdActor(): Promise<() => Promise<void>> {
    // The first turn creates the actor's row.
    expect((await post({ workspaceId: OURS, name: 'First of all' })).status).toBe(201)
    const { promise, resolve } = Promise.withResolvers<void>()
    const { promise: locked, resolve: markLocked } = Promise.withResolvers<void>()
    const held = app.database.transaction(async (tx) => {
      await tx.run('select 1 from actor_fence where key = $1 for update', [`ws:${OURS}`])
      markLocked()
      await promise
    })
    await locked
    return async () => {
      resolve()
      await held
    }
  }

  async function lockWaiters(): Promise<number> {
    const row = await app.database.row<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    )
    return row?.count ?? 0
  }
})

test('finishes running requests on shutdown, returns 503 on open connections, and refuses new ones', async () => {
  const { app: going } = await startProbe()
  const { open, arrivals } = gate('shutdown')
  const under = going.send('POST /api/probe/wait', { token: 'ada', body: { gate: 'shutdown' } })
  const idle = new AttackConnection(await openConnection(going.port))
  // A reply shows that the server has accepted the connection.
  idle.socket.write('GET /api/services HTTP/1.1\r\nHost: crier\r\n\r\n')
  await waitFor(() => idle.replies === 1 && arrivals() === 1)
  const stopped = going.stop()
  await waitFor(() => isRefused(going.port), { what: 'connections to be refused' })
  idle.socket.write('GET /api/services HTTP/1.1\r\nHost: crier\r\n\r\n')
  await waitFor(() => idle.replies === 2)
  expect(idle.received).toMatch(/ 200 OK[^]* 503 [^]*"code":"shutting_down"/)
  open()
  expect((await under).status).toBe(200)
  await stopped
  await expect(going.send('GET /api/health')).rejects.toThrow()
})

async function isRefused(port: number): Promise<boolean> {
  try {
    const socket = await openConnection(port)
    socket.destroy()
    return false
  } catch {
    return true
  }
}
