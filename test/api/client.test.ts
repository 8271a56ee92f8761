import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { connect, createServer, type AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ConnectionError, createClient, CrierError } from '../../src/sdk/client.ts'
import { startApp, type App } from '../support/app.ts'
import { World } from '../support/world.ts'

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

const client = (more: object = {}) => createClient({ url: app.url, apiKey: world.key('ada'), retryDelayMs: 5, ...more })

test('creates, lists and updates, with versions', async () => {
  const crier = client()
  const made = await crier('POST /api/streams', { body: { workspaceId, title: 'Launch day' } })
  expect([made.status, made.body.data.title]).toEqual([201, 'Launch day'])
  const path = { id: made.body.data._id }
  const listed = await crier('GET /api/streams', { query: { workspaceId, limit: 5 } })
  expect(listed.body.data.map((stream) => stream._id)).toContain(path.id)
  const { etag } = await crier('GET /api/streams/{id}', { path })
  expect(etag).toBe('"1"')
  const changed = await crier('PUT /api/streams/{id}', { path, body: { title: 'Later' }, ifMatch: etag ?? '' })
  expect(changed.body.data.version).toBe(2)
  await expect(
    crier('PUT /api/streams/{id}', { path, body: { title: 'Too late' }, ifMatch: etag ?? '' }),
  ).rejects.toMatchObject({
    status: 412,
    code: 'precondition_failed',
  })
})

test('throws an error with all details of the server’s reply', async () => {
  const failure = await client()('POST /api/streams', { body: { workspaceId: 'x', title: '' } }).catch(
    (error: unknown) => error,
  )
  expect(failure).toBeInstanceOf(CrierError)
  expect(failure).toMatchObject({
    status: 400,
    code: 'validation_failed',
    requestId: expect.stringMatching(/^req_/),
    docUrl: `${app.url}/docs/errors#validation_failed`,
  })
  expect((failure as CrierError).errors.map((row) => row.path)).toEqual(['/body/workspaceId', '/body/title'])
})

test('does not send a request with a missing path parameter', async () => {
  await expect(client()('GET /api/streams/{id}', { path: { id: '' } })).rejects.toThrow('needs path.id')
})

test('requests a token before each request when it is a function', async () => {
  const tokens = ['a.b.c', undefined]
  const owner = await world.user('ada')
  const loggedIn = await app.send('POST /api/auth/login', { body: { email: owner.email, password: owner.password } })
  const crier = createClient({
    url: app.url,
    token: async () => tokens.shift() ?? (loggedIn.body.data.accessToken as string),
  })
  await expect(crier('GET /api/users/me')).rejects.toMatchObject({ code: 'invalid_credential' })
  expect((await crier('GET /api/users/me')).body.data.email).toBe(owner.email)
})

describe('retries', () => {
  test('repeat a POST whose reply was lost, with one effect', async () => {
    const before = (await client()('GET /api/streams', { query: { workspaceId, limit: 100 } })).body.data.length
    const lossy = await startLossyProxy(2)
    const made = await client({ url: lossy.url })('POST /api/streams', { body: { workspaceId, title: 'Only once' } })
    expect(made.headers.get('idempotent-replayed')).toBe('true')
    expect(lossy.connections()).toBe(3)
    lossy.close()
    const after = await client()('GET /api/streams', { query: { workspaceId, limit: 100 } })
    expect(after.body.data.length).toBe(before + 1)
  })

  test('never repeat a PATCH, and stop at the retry limit', async () => {
    const lossy = await startLossyProxy(100)
    await expect(client({ url: lossy.url })('PATCH /api/users/me', { body: { name: 'Ada' } })).rejects.toThrow(
      ConnectionError,
    )
    expect(lossy.connections()).toBe(1)
    await expect(client({ url: lossy.url, retries: 3 })('GET /api/users/me')).rejects.toThrow(ConnectionError)
    expect(lossy.connections()).toBe(5)
    lossy.close()
  })

  test('follow a 503 with a short Retry-After, and no other error', async () => {
    const answers = [
      [503, { 'Retry-After': '0' }],
      [503, { 'Retry-After': '0' }],
      [200, {}],
      [503, {}],
      [503, { 'Retry-After': '3600' }],
      [500, {}],
      [429, { 'Retry-After': '0' }],
    ] as const
    let asked = 0
    const stub = await startStub((response) => {
      const [status, headers] = answers[asked++] ?? [500, {}]
      response
        .writeHead(status, { 'Content-Type': 'application/json', ...headers })
        .end('{"status":true,"message":"","data":[]}')
    })
    const crier = createClient({ url: stub.url, retryDelayMs: 1 })
    expect((await crier('GET /api/plans')).status).toBe(200)
    expect(asked).toBe(3)
    for (const status of [503, 503, 500, 429]) await expect(crier('GET /api/plans')).rejects.toMatchObject({ status })
    expect(asked).toBe(7)
    stub.close()
  })

  test('time out when the server does not reply, or earlier when the caller’s signal aborts', async () => {
    let asked = 0
    const stub = await startStub(() => void (asked += 1))
    const crier = createClient({ url: stub.url, timeoutMs: 50, retries: 1, retryDelayMs: 1 })
    await expect(crier('GET /api/plans')).rejects.toThrow('did not respond in time')
    expect(asked).toBe(2)
    const patient = createClient({ url: stub.url })
    await expect(patient('GET /api/plans', { signal: AbortSignal.timeout(20) })).rejects.toMatchObject({
      name: 'TimeoutError',
    })
    expect(asked).toBe(3)
    stub.close()
  })
})

async function startStub(answer: (response: ServerResponse) => void) {
  const server = createHttpServer((_request, response) => answer(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

/** Forwards requests to the server, and drops the replies of the first `losses` connections. */
async function startLossyProxy(losses: number) {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    const lose = connections <= losses
    const upstream = connect(app.port, '127.0.0.1')
    for (const end of [socket, upstream]) end.on('error', () => undefined)
    socket.pipe(upstream)
    upstream.on('data', (chunk) => {
      if (lose) {
        socket.destroy()
        upstream.destroy()
      } else socket.write(chunk)
    })
    upstream.on('close', () => socket.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    close: () => server.close(),
  }
}

test('follows a redirect to a file on another host without the credential', async () => {
  const asked: (string | undefined)[] = []
  const bucket = createHttpServer((request, reply) => {
    asked.push(request.headers['x-api-key'] as string | undefined, request.headers.range)
    reply.end('bytes')
  })
  await new Promise<void>((resolve) => bucket.listen(0, '127.0.0.1', resolve))
  const at = (server: { address(): unknown }) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const server = createHttpServer((_request, reply) => reply.writeHead(302, { Location: `${at(bucket)}/key` }).end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const crier = client({ url: at(server) })
    const path = { id: 'x' }
    const file = await crier.open('GET /api/assets/{id}/file', { path, headers: { Range: 'bytes=0-4' } })
    expect(await new Response(file.body).text()).toBe('bytes')
    const whole = await crier('GET /api/assets/{id}/file', { path })
    expect(Buffer.from(whole.body).toString()).toBe('bytes')
    expect(asked).toEqual([undefined, 'bytes=0-4', undefined, undefined])
  } finally {
    bucket.close()
    server.close()
  }
})
