import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Conflict } from '../../src/core/errors.ts'
import { operation, type Registry } from '../../src/core/operation.ts'
import { created, FILE, file } from '../../src/core/reply.ts'
import { Envelope, Input, Text, Type } from '../../src/core/schema.ts'
import * as health from '../../src/domains/system/health/operations.ts'
import * as services from '../../src/domains/system/switches/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { slowBodies } from '../support/http-attacks.ts'
import { ProbeWorld } from '../support/probe.ts'
import { waitFor } from '../support/wait.ts'

/** Uploads and downloads over real connections. */

const KB = 1024
const MB = KB * KB
const Received = Envelope(Type.Object({ title: Type.String(), name: Type.String(), bytes: Type.Integer() }))

/** What the handlers saw, for checks beyond the reply. */
const seen = { begun: 0, bytes: 0, slow: false, read: undefined as (() => void) | undefined, failures: [] as Error[] }

const sendForm = operation({
  route: 'POST /api/files/form',
  summary: 'Take a file with fields before it',
  access: 'user',
  body: Input({ title: Text(1, 40), tags: Type.Optional(Type.Array(Text(1, 10), { maxItems: 3 })) }),
  upload: { kind: 'multipart', maxBytes: 2 * MB },
  returns: { 201: Received },
  errors: [Conflict],
  example: { body: { title: 'A file' } },
  handle: async ({ body, upload }) => {
    seen.begun += 1
    if (body.title === 'refused') throw Conflict()
    return created('Taken', { title: body.title, name: upload.name, bytes: (await buffer(upload.stream)).length })
  },
})

const sendRaw = operation({
  route: 'PUT /api/files/raw',
  summary: 'Take a raw file slowly',
  access: 'public',
  upload: { kind: 'raw', maxBytes: 64 * MB, ranges: true },
  returns: { 201: Received },
  example: {},
  handle: async ({ upload }) => {
    seen.begun += 1
    seen.bytes = 0
    if (seen.slow) {
      await new Promise<void>((resolve) => {
        seen.read = resolve
      })
    }
    try {
      for await (const chunk of upload.stream) seen.bytes += (chunk as Buffer).length
    } catch (error) {
      seen.failures.push(error as Error)
      throw error
    }
    const { bytes } = seen
    return created('Taken', { title: upload.contentRange, name: '', bytes })
  },
})

const sendPiece = operation({
  route: 'POST /api/files/pieces',
  summary: 'Take a piece of a raw file, or none of it',
  access: 'user',
  query: Input({ unread: Type.Optional(Type.Boolean()) }),
  upload: { kind: 'raw', maxBytes: MB, ranges: true },
  returns: { 201: Received },
  example: {},
  handle: async ({ query, upload }) => {
    seen.begun += 1
    if (query.unread) upload.stream.destroy()
    const bytes = query.unread ? 0 : (await buffer(upload.stream)).length
    return created('Taken', { title: upload.contentRange, name: '', bytes })
  },
})

const content = Buffer.from(Array.from({ length: 5 * MB }, (_, index) => (index * 7) % 251))

const getFile = operation({
  route: 'GET /api/files/content',
  summary: 'Give a file',
  access: 'public',
  returns: { 200: FILE },
  example: {},
  handle: async () =>
    file({
      contentType: 'video/mp4',
      size: content.length,
      etag: 'abc',
      name: 'Überraschung "1".mp4',
      disposition: 'inline',
      modifiedAt: '2026-11-01T12:00:00.000Z',
      open: async (range) =>
        Readable.from(slices(content.subarray(range?.start ?? 0, (range?.end ?? content.length) + 1))),
    }),
})

const cutFile = operation({
  route: 'GET /api/files/cut',
  summary: 'Give a file whose source fails half way',
  access: 'public',
  returns: { 200: FILE },
  example: {},
  handle: async () =>
    file({
      contentType: 'text/plain',
      size: MB,
      etag: 'cut',
      name: 'cut.txt',
      disposition: 'attachment',
      open: async () =>
        Readable.from(
          (async function* () {
            yield Buffer.alloc(1000)
            throw new Error('the disk broke')
          })(),
        ),
    }),
})

let app: App
beforeAll(async () => {
  const who = new ProbeWorld()
  const registry = { files: { sendForm, sendRaw, sendPiece, getFile, cutFile }, health, services } satisfies Registry
  app = await startApp({ registry, adapt: (composition) => who.adapt(composition) })
})
afterAll(() => app?.stop())

function form(fields: Record<string, string>, bytes?: Uint8Array<ArrayBuffer>, name = 'a.txt'): FormData {
  const data = new FormData()
  for (const [field, value] of Object.entries(fields)) data.append(field, value)
  if (bytes) data.append('file', new Blob([bytes], { type: 'text/plain' }), name)
  return data
}

async function post(body: FormData, headers: Record<string, string> = { Authorization: 'Bearer ada' }) {
  const reply = await fetch(`${app.url}/api/files/form`, { method: 'POST', body, headers })
  // oxlint-disable-next-line typescript/no-explicit-any -- replies have different shapes
  return { status: reply.status, headers: reply.headers, body: (await reply.json()) as any }
}

describe('a multipart file', () => {
  test('arrives with typed fields and a name without folders', async () => {
    const reply = await post(form({ title: ' Hi ', tags: 'a,b' }, new Uint8Array(300_000), '..\\..\\etc/passwd'))
    expect(reply.status).toBe(201)
    expect(reply.body.data).toEqual({ title: 'Hi', name: 'passwd', bytes: 300_000 })
  })

  test('is not read before every check has passed', async () => {
    const before = seen.begun
    const bytes = new Uint8Array(100_000)
    expect((await post(form({ title: 'x' }, bytes), {})).status).toBe(401)
    const invalid = await post(form({ title: '', other: '1' }, bytes))
    expect(invalid.status).toBe(400)
    expect(invalid.body.errors.map((row: { path: string }) => row.path).sort()).toEqual(['/body/other', '/body/title'])
    expect(seen.begun).toBe(before)
  })

  test('is rejected when it is missing, not the only one, larger than declared, or not multipart', async () => {
    expect((await post(form({ title: 'x' }))).body.errors[0].path).toBe('/body/file')
    const two = form({ title: 'x' }, new Uint8Array(10))
    two.append('file', new Blob(['y']), 'b.txt')
    expect([(await post(two)).status]).toEqual([400])
    const late = form({}, new Uint8Array(10))
    late.append('title', 'late')
    expect((await post(late)).body.errors).toContainEqual(expect.objectContaining({ path: '/body/title' }))
    const large = await post(form({ title: 'x' }, new Uint8Array(2 * MB + 1)))
    expect([large.status, large.body.code]).toEqual([413, 'payload_too_large'])
    const json = await app.send('POST /api/files/form', { token: 'ada', body: { title: 'x' } })
    expect([json.status, json.body.code]).toEqual([415, 'unsupported_media_type'])
    const field = '--b\r\nContent-Disposition: form-data; name="title"\r\n\r\nx'
    const file = '\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nxyz'
    for (const cut of [field, field + file]) {
      const malformed = await app.send('POST /api/files/form', {
        token: 'ada',
        body: cut,
        headers: { 'Content-Type': 'multipart/form-data; boundary=b' },
      })
      expect([malformed.status, malformed.body.code]).toEqual([400, 'bad_request'])
    }
  })

  test('gets its reply at once when the handler rejects it, and the connection stays open', async () => {
    expect((await post(form({ title: 'refused' }, new Uint8Array(MB)))).status).toBe(409)
    expect((await post(form({ title: 'taken' }, new Uint8Array(MB)))).status).toBe(201)
  })

  test('has no second effect when it is sent again with its key', async () => {
    const headers = { Authorization: 'Bearer ada', 'Idempotency-Key': 'file-1' }
    const first = await post(form({ title: 'once' }, new Uint8Array(50_000)), headers)
    const before = seen.begun
    const again = await post(form({ title: 'once' }, new Uint8Array(50_000)), headers)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect([again.body, seen.begun]).toEqual([first.body, before])
    // A longer boundary makes the body longer, but the file is the same.
    const boundary = 'b'.repeat(70)
    const part = `Content-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain`
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="title"\r\n\r\nonce\r\n--${boundary}\r\n${part}\r\n\r\n`
    const body = Buffer.concat([Buffer.from(head), Buffer.alloc(50_000), Buffer.from(`\r\n--${boundary}--\r\n`)])
    const otherBoundary = await app.send('POST /api/files/form', {
      headers: { ...headers, 'Content-Type': `multipart/form-data; boundary=${boundary}` },
      body: new Uint8Array(body),
    })
    expect([otherBoundary.status, otherBoundary.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
  })

  test('is rejected under the key of a different file of the same length', async () => {
    const headers = { Authorization: 'Bearer ada', 'Idempotency-Key': 'file-2' }
    const bytes = new Uint8Array(300_000)
    expect((await post(form({ title: 'one' }, bytes), headers)).status).toBe(201)
    const before = seen.begun
    for (const at of [0, 150_000, bytes.length - 1]) {
      const other = await post(form({ title: 'one' }, bytes.with(at, 1)), headers)
      expect([other.status, other.body.code], `byte ${at}`).toEqual([422, 'idempotency_key_reused'])
    }
    expect((await post(form({ title: 'one' }, bytes, 'b.txt'), headers)).status).toBe(422)
    expect((await post(form({ title: 'two' }, bytes), headers)).status).toBe(422)
    expect(seen.begun).toBe(before)
    expect((await post(form({ title: 'one' }, bytes), headers)).headers.get('idempotent-replayed')).toBe('true')
  })
})

describe('a raw body under an idempotency key', () => {
  const send = (key: string, body: Uint8Array<ArrayBuffer>, range: string, query: object = {}) =>
    app.send('POST /api/files/pieces', {
      token: 'ada',
      query: { ...query },
      body,
      headers: { 'Idempotency-Key': key, 'Content-Range': range, 'Content-Type': 'video/mp4' },
    })
  const bytes = new Uint8Array(100_000)

  test('is replayed for the same piece only', async () => {
    const first = await send('piece-1', bytes, 'bytes 0-99999/200000')
    expect(first.status).toBe(201)
    const again = await send('piece-1', bytes, 'bytes 0-99999/200000')
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
    for (const other of [
      await send('piece-1', bytes.with(99_999, 1), 'bytes 0-99999/200000'),
      await send('piece-1', bytes, 'bytes 100000-199999/200000'),
    ])
      expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused'])
  })

  test('is not kept when the handler did not read it, because its content is unknown', async () => {
    for (let count = 0; count < 2; count += 1) {
      const before = seen.begun
      const reply = await send('piece-2', bytes, 'bytes 0-99999/100000', { unread: true })
      expect([reply.status, reply.headers.get('idempotent-replayed')]).toEqual([201, null])
      expect(seen.begun).toBe(before + 1)
    }
  })
})

describe('a raw body', () => {
  test('passes on its Content-Range', async () => {
    const headers = { 'Content-Range': 'bytes 0-2/10' }
    const reply = await app.send('PUT /api/files/raw', { body: new Uint8Array(3), headers })
    expect(reply.body.data).toEqual({ title: 'bytes 0-2/10', name: '', bytes: 3 })
  })

  test('is received only as fast as the handler reads it', async () => {
    seen.slow = true
    const socket = await begin(40 * MB)
    const block = Buffer.alloc(256 * KB)
    const memory = process.memoryUsage.rss()
    for (let sent = 0; sent < 40 * MB; sent += block.length) socket.write(block)
    // Kernel buffers hold a few megabytes; the rest waits at the sender.
    await waitFor(() => socket.bytesWritten - socket.writableLength > 0)
    await waitUntilStill(() => socket.writableLength)
    expect(socket.writableLength).toBeGreaterThan(20 * MB)
    expect(process.memoryUsage.rss() - memory).toBeLessThan(100 * MB)
    seen.read?.()
    const [reply] = (await once(socket, 'data')) as [Buffer]
    expect(reply.toString()).toMatch(/^HTTP\/1.1 201[^]*"bytes":41943040/)
    socket.destroy()
  })

  test('fails the handler’s stream when the client disconnects', async () => {
    seen.slow = false
    const socket = await begin(MB)
    socket.write(Buffer.alloc(1000))
    await waitFor(() => seen.bytes === 1000)
    socket.destroy()
    await waitFor(() => seen.failures.length > 0)
    expect(seen.failures[0]?.message).toContain('ended before the body')
    expect((await app.send('GET /api/files/content')).status).toBe(200)
  })

  test('is limited to 32 concurrent ones per caller', async () => {
    const route = 'PUT /api/files/raw'
    const attack = await slowBodies({ port: app.port, connections: 33, route, announced: 10 })
    const refused = () => attack.connections.filter(({ received }) => received.includes('"code":"too_many_uploads"'))
    await waitFor(() => refused().length === 1)
    attack.stop()
    await waitFor(async () => (await app.send(route, { body: 'a file' })).status === 201)
  })

  async function begin(length: number): Promise<Socket> {
    const before = seen.begun
    const socket = connect(app.port, '127.0.0.1')
    await once(socket, 'connect')
    socket.on('error', () => {})
    socket.write(`PUT /api/files/raw HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`)
    await waitFor(() => seen.begun > before)
    return socket
  }
})

describe('a file as a reply', () => {
  const get = (headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${app.url}/api/files/content`, { headers, method })

  test('is sent whole, with the headers browsers need', async () => {
    const reply = await get()
    expect(reply.status).toBe(200)
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      'content-type': 'video/mp4',
      'content-length': String(content.length),
      'accept-ranges': 'bytes',
      etag: '"abc"',
      'last-modified': 'Sun, 01 Nov 2026 12:00:00 GMT',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'content-disposition': `inline; filename="_berraschung _1_.mp4"; filename*=UTF-8''%C3%9Cberraschung%20%221%22.mp4`,
    })
    expect(Buffer.from(await reply.arrayBuffer()).equals(content)).toBe(true)
  })

  test.each([
    ['bytes=0-99', 0, 100],
    ['bytes=1000000-', 1_000_000, content.length],
    ['bytes=-100', content.length - 100, content.length],
    [`bytes=${content.length - 1}-99999999`, content.length - 1, content.length],
    [`BYTES=${content.length - 1}-99999999999999999999`, content.length - 1, content.length],
  ])('is sent in part for %s', async (range, start, end) => {
    const reply = await get({ Range: range })
    expect(reply.status).toBe(206)
    expect(reply.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/${content.length}`)
    expect(Buffer.from(await reply.arrayBuffer()).equals(content.subarray(start, end))).toBe(true)
  })

  test.each(['bytes=5-1', 'bytes=0-1,5-6', 'items=0-1', 'bytes=-', 'bytes=a-b'])(
    'is sent whole for the invalid range %s',
    async (range) => {
      const reply = await get({ Range: range })
      await reply.body?.cancel()
      expect(reply.status).toBe(200)
    },
  )

  test.each([`bytes=${content.length}-`, 'bytes=99999999999999999999-', 'bytes=-0'])(
    'is refused with 416 for the range %s beyond its end',
    async (range) => {
      const reply = await get({ Range: range })
      expect(reply.status).toBe(416)
      expect(reply.headers.get('content-range')).toBe(`bytes */${content.length}`)
      expect(await reply.json()).toMatchObject({ code: 'range_not_satisfiable', details: { size: content.length } })
    },
  )

  test('is sent whole when If-Range names an older version', async () => {
    for (const [ifRange, status] of [
      ['"abc"', 206],
      ['"old"', 200],
      ['W/"abc"', 200],
      ['Sun, 01 Nov 2026 12:00:00 GMT', 206],
      ['Sat, 31 Oct 2026 12:00:00 GMT', 200],
    ] as const) {
      const reply = await get({ Range: 'bytes=0-1', 'If-Range': ifRange })
      await reply.body?.cancel()
      expect([ifRange, reply.status]).toEqual([ifRange, status])
    }
  })

  test('is not sent for a matching ETag (304) or for HEAD', async () => {
    expect((await get({ 'If-None-Match': '"abc"' })).status).toBe(304)
    const head = await get({}, 'HEAD')
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      String(content.length),
      '',
    ])
  })

  test('closes the connection when its source fails', async () => {
    await expect(fetch(`${app.url}/api/files/cut`).then((reply) => reply.arrayBuffer())).rejects.toThrow()
  })

  test('is released when the client disconnects before the end', async () => {
    for (let count = 0; count < 5; count += 1) {
      const abort = new AbortController()
      const reply = await fetch(`${app.url}/api/files/content`, { signal: abort.signal })
      await reply.body?.getReader().read()
      abort.abort()
    }
    await waitFor(() => app.logs.filter((line) => line['op'] === 'getFile' && line['aborted'] === true).length > 0)
    expect((await get()).status).toBe(200)
  })
})

/** Waits until a number stops changing. */
async function waitUntilStill(read: () => number): Promise<void> {
  let last = Number.NaN
  let same = 0
  await waitFor(() => {
    const now = read()
    same = now === last ? same + 1 : 0
    last = now
    return same > 20
  })
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536)
}
