import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOUR, ManualClock } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { mp4Head } from '../support/mp4.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** Signed uploads, including over broken connections. */

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'))
const MB = 1_000_000
let app: App
let world: World

beforeAll(async () => {
  app = await startApp({ clock })
  world = new World(app)
  await world.workspace('acme', 'ada')
})
afterAll(() => app?.stop())

/** An MP4 with unique content. */
function video(size: number): Buffer<ArrayBuffer> {
  return Buffer.concat([mp4Head(size), randomBytes(size)])
}

async function open(content: Uint8Array, fields: object = {}) {
  const body = { workspaceId: world.id('acme'), name: 'v.mp4', type: 'video/mp4', size: content.length, ...fields }
  const reply = await world.as('ada').call('POST /api/assets/signed-upload', { body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data as { uploadId: string; url: string; headers: Record<string, string> }
}

async function put(url: string, body: Uint8Array<ArrayBuffer> | undefined, headers: Record<string, string> = {}) {
  const reply = await fetch(url, { method: 'PUT', headers, ...(body && { body }) })
  // oxlint-disable-next-line typescript/no-explicit-any -- replies have different shapes
  return { status: reply.status, body: (await reply.json()) as any }
}

const piece = (content: Buffer<ArrayBuffer>, start: number, end: number) => ({
  body: content.subarray(start, end),
  headers: { 'Content-Range': `bytes ${start}-${end - 1}/${content.length}` },
})

const upload = (route: string, uploadId: string) => world.as('ada').call(route, { path: { uploadId } })
async function storedFiles(): Promise<string[]> {
  const entries = await readdir(join(app.dataDir, 'storage', 'files'), { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile() && !entry.name.includes('.')).map((entry) => entry.name)
}

const CONFIRM = 'POST /api/assets/signed-upload/{uploadId}/confirm'

describe('a signed upload', () => {
  test('completes over a connection that breaks twice, and adds one asset', async () => {
    const content = video(3 * MB)
    const { uploadId, url } = await open(content, { checksum: createHash('sha256').update(content).digest('hex') })
    expect((await upload(CONFIRM, uploadId)).status).toBe(409)
    for (const cut of [1 * MB, 2 * MB]) {
      const { data } = (await upload('GET /api/uploads/{uploadId}', uploadId)).body
      await sendAndCut(url, content, data.received, cut)
      await waitFor(async () => {
        const { received } = (await upload('GET /api/uploads/{uploadId}', uploadId)).body.data
        return received > data.received
      })
    }
    // A piece at another offset is refused. The error has the right offset.
    const wrongOffset = piece(content, 5, 10)
    // Until the server notices the broken connection, the error says that another request is sending.
    const refused = await waitFor(async () => {
      const reply = await put(url, wrongOffset.body, wrongOffset.headers)
      return reply.body.details && reply
    })
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict'])
    const { received } = refused.body.details
    const queried = await put(url, undefined, { 'Content-Range': `bytes */${content.length}` })
    expect(queried.body.data).toMatchObject({ received, state: 'open' })
    const rest = piece(content, received, content.length)
    const last = await put(url, rest.body, rest.headers)
    expect(last.body.data, JSON.stringify(last.body)).toMatchObject({ state: 'received', received: content.length })

    const confirmed = await upload(CONFIRM, uploadId)
    expect([confirmed.status, confirmed.body.data.size]).toEqual([201, content.length])
    const again = await upload(CONFIRM, uploadId)
    expect(again.body.data._id).toBe(confirmed.body.data._id)
    const also = await upload('POST /api/uploads/{uploadId}/complete', uploadId)
    expect(also.body.data._id).toBe(confirmed.body.data._id)
    const file = await fetch(app.url + confirmed.body.data.url, { headers: { 'X-API-Key': world.key('ada') } })
    expect(Buffer.from(await file.arrayBuffer()).equals(content)).toBe(true)
    expect((await upload('GET /api/uploads/{uploadId}', uploadId)).body.data).toMatchObject({
      state: 'complete',
      assetId: confirmed.body.data._id,
    })
  })

  /** Sends the bytes from `start` to `cut`, and breaks the connection after the server has received some of them. */
  async function sendAndCut(url: string, content: Buffer, start: number, cut: number): Promise<void> {
    // The server refuses another request until it notices that the previous one was cut.
    await waitFor(() => isSentAndCut(url, content, start, cut), {
      what: 'the server to receive some bytes',
    })
  }

  async function isSentAndCut(url: string, content: Buffer, start: number, cut: number): Promise<boolean> {
    const { pathname, search } = new URL(url)
    const socket = connect(app.port, '127.0.0.1')
    let refused = false
    socket.on('data', () => (refused = true)).on('error', () => (refused = true))
    await once(socket, 'connect')
    socket.write(
      `PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\nContent-Type: video/mp4\r\nContent-Length: ${content.length - start}\r\nContent-Range: bytes ${start}-${content.length - 1}/${content.length}\r\n\r\n`,
    )
    await new Promise((resolve) => socket.write(content.subarray(start, cut), resolve))
    const uploadId = pathname.split('/').at(-2) ?? ''
    const isReceived = async () => (await upload('GET /api/uploads/{uploadId}', uploadId)).body.data.received > start
    await waitFor(async () => refused || (await isReceived()))
    socket.destroy()
    return !refused
  }

  test('accepts the same bytes again after its end, and refuses other bytes', async () => {
    const content = video(200_000)
    const other = Buffer.from(content.with(150_000, (content[150_000] ?? 0) ^ 1))
    const half = 100_000
    const whole = await open(content)
    const pieces = await open(content)
    expect((await put(whole.url, content, whole.headers)).body.data.state).toBe('received')
    for (const [start, end] of [[0, half] as const, [half, content.length] as const]) {
      const { body, headers } = piece(content, start, end)
      expect((await put(pieces.url, body, headers)).status).toBe(200)
    }
    const last = piece(content, half, content.length)
    const wrong = piece(other, half, content.length)
    const check = async (state: string) => {
      const again = await put(whole.url, content, whole.headers)
      expect([again.status, again.body.data.state]).toEqual([200, state])
      expect((await put(pieces.url, last.body, last.headers)).status).toBe(200)
      for (const refused of [
        await put(whole.url, other, whole.headers),
        await put(pieces.url, wrong.body, wrong.headers),
        await put(pieces.url, new Uint8Array(other), pieces.headers),
      ])
        expect([refused.status, refused.body.code]).toEqual([409, 'upload_mismatch'])
    }
    await check('received')
    // Both uploads add an asset that uses the same stored file.
    for (const { uploadId } of [whole, pieces]) expect((await upload(CONFIRM, uploadId)).status).toBe(201)
    await check('complete')
  })

  test('is refused when its creator leaves the workspace or loses the right to add media', async () => {
    const content = video(100_000)
    const as = async (name: string) => {
      const body = { workspaceId: world.id('acme'), name: 'v.mp4', type: 'video/mp4', size: content.length }
      return (await world.as(name).call('POST /api/assets/signed-upload', { body })).body.data.url as string
    }
    await world.member('acme', 'rita', { role: 'editor' })
    await world.member('acme', 'dora', { role: 'editor' })
    const [removed, demoted, begun] = [await as('rita'), await as('dora'), await as('rita')]
    const half = piece(content, 0, 50_000)
    expect((await put(begun, half.body, half.headers)).status).toBe(200)
    const path = (name: string) => ({ workspaceId: world.id('acme'), userId: world.id(name) })
    await world.as('ada').call('DELETE /api/team/{workspaceId}/members/{userId}', { path: path('rita') })
    const body = { role: 'client' }
    await world.as('ada').call('PATCH /api/team/{workspaceId}/members/{userId}', { path: path('dora'), body })
    const rest = piece(content, 50_000, content.length)
    for (const refused of [
      await put(removed, content),
      await put(demoted, content),
      await put(begun, rest.body, rest.headers),
      await put(begun, undefined, { 'Content-Range': `bytes */${content.length}` }),
    ])
      expect([refused.status, refused.body.code]).toEqual([403, 'bad_signature'])
  })

  test('in one request adds nothing when the sender is removed from the workspace during the request', async () => {
    await world.member('acme', 'rose', { role: 'editor' })
    const png = await sharp({ create: { width: 30, height: 30, channels: 3, background: 'blue' } })
      .png()
      .toBuffer()
    const part = (head: string) => Buffer.from(`--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n`)
    const body = Buffer.concat([
      part('name="workspaceId"'),
      Buffer.from(`${world.id('acme')}\r\n`),
      part('name="file"; filename="late.png"'),
      png,
      Buffer.from('\r\n--b--\r\n'),
    ])
    const reservationCount = async () => (await app.database.rows('select 1 from storage_reservations')).length
    const before = await reservationCount()
    const socket = connect(app.port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(
      `POST /api/assets/upload HTTP/1.1\r\nHost: x\r\nX-API-Key: ${world.key('rose')}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: ${body.length}\r\n\r\n`,
    )
    socket.write(body.subarray(0, -20))
    // Storage is reserved after the sender has been authorized.
    await waitFor(async () => (await reservationCount()) > before)
    const path = { workspaceId: world.id('acme'), userId: world.id('rose') }
    await world.as('ada').call('DELETE /api/team/{workspaceId}/members/{userId}', { path })
    socket.write(body.subarray(-20))
    const [reply] = (await once(socket, 'data')) as [Buffer]
    expect(reply.toString()).toMatch(/^HTTP\/1.1 404[^]*not_found/)
    socket.destroy()
    const listed = await world
      .as('ada')
      .call('GET /api/assets', { query: { workspaceId: world.id('acme'), q: 'late' } })
    expect(listed.body.data).toEqual([])
    expect(await reservationCount()).toBe(before)
  })

  test('is not created for a file that would be refused in the end', async () => {
    for (const [name, type, words] of [
      ['page.html', 'text/html', /does not accept text\/html. It accepts image\/jpeg, /],
      ['show.exe', 'video/mp4', /extension of the file name does not fit video\/mp4/],
    ] as const) {
      const body = { workspaceId: world.id('acme'), name, type, size: 1_000 }
      for (const route of ['POST /api/assets/signed-upload', 'POST /api/uploads/signed-url']) {
        const reply = await world.as('ada').call(route, { body })
        const expected = [415, 'unsupported_file', expect.stringMatching(words)]
        expect([reply.status, reply.body.code, reply.body.message]).toEqual(expected)
      }
    }
  })

  test('accepts only the announced file', async () => {
    const content = video(1_000)
    const { uploadId, url } = await open(content)
    for (const change of [
      (at: URL) => at.searchParams.set('signature', 'A'.repeat(43)),
      (at: URL) => at.searchParams.set('expires', '99999999999'),
      (at: URL) => (at.pathname = at.pathname.replace(uploadId, '01900000-0000-7000-8000-00000000dead')),
    ]) {
      const changed = new URL(url)
      change(changed)
      const reply = await put(changed.href, content)
      expect([reply.status, reply.body.code]).toEqual([403, 'bad_signature'])
    }
    expect((await put(url, content, { 'Content-Type': 'image/png' })).body.code).toBe('unsupported_media_type')
    expect((await put(url, Buffer.concat([content, Buffer.alloc(1)]))).body.code).toBe('upload_mismatch')
    expect((await put(url, content, { 'Content-Range': 'bytes 0-9/10' })).body.code).toBe('bad_request')
    expect((await put(url, content.subarray(0, 10))).body.code).toBe('bad_request')
    expect((await put(url, content, { 'Content-Type': 'video/mp4' })).status).toBe(200)

    const late = await open(content)
    clock.advance(25 * HOUR)
    expect((await put(late.url, content)).body.code).toBe('bad_signature')
  })

  test('finishes on a status query if the storage failed after the last byte', async () => {
    const content = video(4_000)
    const { uploadId, url } = await open(content)
    await app.composition.services.storage.pieces.append(uploadId, 0, Readable.from([content]))
    const queried = await put(url, undefined, { 'Content-Range': `bytes */${content.length}` })
    expect(queried.body.data, JSON.stringify(queried.body)).toMatchObject({
      state: 'received',
      received: content.length,
    })
    expect((await upload(CONFIRM, uploadId)).status).toBe(201)
  })

  test('fails if the content differs from the announced file', async () => {
    const png = new Uint8Array(
      await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
        .png()
        .toBuffer(),
    )
    const checksum = createHash('sha256').update('something else').digest('hex')
    for (const [fields, code] of [
      [{ name: 'a' }, 'upload_mismatch'],
      [{ name: 'a.png', type: 'image/png', checksum }, 'upload_mismatch'],
      [{ name: 'a.gif', type: 'image/gif' }, 'unsupported_file'],
    ] as const) {
      const { uploadId, url } = await open(png, fields)
      expect((await put(url, png)).body.code).toBe(code)
      const { data } = (await upload('GET /api/uploads/{uploadId}', uploadId)).body
      expect(data).toMatchObject({ state: 'failed', error: expect.stringMatching(/\w/) })
      expect((await upload(CONFIRM, uploadId)).status).toBe(409)
    }
  })

  test.each([CONFIRM, 'POST /api/uploads/{uploadId}/complete'])(
    'keeps the file of the asset when cancelled during %s',
    async (completing) => {
      const content = video(600)
      const { uploadId, url } = await open(content)
      expect((await put(url, content)).status).toBe(200)
      const blocked = (count: number) => async () =>
        (
          await app.database.rows(
            `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
          )
        ).length >= count
      // Both requests wait in order for the lock on the row.
      const replies = await app.database.transaction(async (tx) => {
        await tx.row('select 1 from uploads where id = $1 for update', [uploadId])
        const made = upload(completing, uploadId)
        await waitFor(blocked(1))
        const cancelled = upload('DELETE /api/uploads/{uploadId}', uploadId)
        await waitFor(blocked(2))
        return { made, cancelled }
      })
      const [made, cancelled] = [await replies.made, await replies.cancelled]
      expect([made.status, cancelled.status]).toEqual([201, 200])
      const reply = await fetch(app.url + made.body.data.url, { headers: { 'X-API-Key': world.key('ada') } })
      expect(Buffer.from(await reply.arrayBuffer()).equals(content)).toBe(true)
    },
  )

  test('adds one asset when completed twice at the same time', async () => {
    const content = video(700)
    const { uploadId, url } = await open(content)
    await put(url, content)
    const twice = [1, 2].map(() => upload('POST /api/uploads/{uploadId}/complete', uploadId))
    const made = await Promise.all(twice)
    expect(made.map(({ status }) => status)).toEqual([201, 201])
    expect(new Set(made.map(({ body }) => body.data._id)).size).toBe(1)
  })

  test('stores one file when several clients query the status after the last byte', async () => {
    const content = video(90_000)
    const { uploadId, url } = await open(content)
    const { pieces } = app.composition.services.storage
    await pieces.append(uploadId, 0, Readable.from([content]))
    const before = await storedFiles()
    const queried = await Promise.all(
      Array.from({ length: 5 }, () => put(url, undefined, { 'Content-Range': `bytes */${content.length}` })),
    )
    expect(new Set(queried.map(({ body }) => body.data?.state))).toEqual(new Set(['received']))
    expect((await storedFiles()).length).toBe(before.length + 1)
    expect((await upload(CONFIRM, uploadId)).status).toBe(201)
  })

  test('refuses a second client that restarts it while the first is sending', async () => {
    const content = video(200_000)
    const { uploadId, url } = await open(content)
    let send: ReadableStreamDefaultController<Uint8Array> | undefined
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        send = controller
        controller.enqueue(content.subarray(0, 100_000))
      },
    })
    const first = fetch(url, { method: 'PUT', body, duplex: 'half' })
    const received = async () => (await upload('GET /api/uploads/{uploadId}', uploadId)).body.data.received
    await waitFor(async () => (await received()) > 0)
    const second = await put(url, content)
    expect([second.status, second.body.code]).toEqual([409, 'conflict'])
    send?.enqueue(content.subarray(100_000))
    send?.close()
    expect((await first).status).toBe(200)
    expect((await upload(CONFIRM, uploadId)).body.data.size).toBe(content.length)
  })

  test('accepts at most the announced number of bytes without a Content-Length', async () => {
    const content = video(1_000)
    const { uploadId, url } = await open(content)
    const { pieces } = app.composition.services.storage
    const ranges = [undefined, `bytes 0-99/${content.length}`]
    for (const [index, maxBytes] of [content.length, 100].entries()) {
      const body = new Blob([content, Buffer.alloc(200_000)]).stream()
      const range = ranges[index]
      const headers = range === undefined ? {} : { 'Content-Range': range }
      const reply = await fetch(url, { method: 'PUT', headers, body, duplex: 'half' })
      expect([reply.status, await reply.json()]).toMatchObject([409, { code: 'upload_mismatch' }])
      expect(await pieces.length(uploadId)).toBeLessThanOrEqual(maxBytes)
      await pieces.discard(uploadId)
    }
    expect((await put(url, content)).status).toBe(200)
  })

  test('expires after a day even if all bytes were received, because its reservation ends', async () => {
    const content = video(800)
    const { uploadId, url } = await open(content)
    expect((await put(url, content)).status).toBe(200)
    clock.advance(24 * HOUR)
    expect((await upload('GET /api/uploads/{uploadId}', uploadId)).body.data.state).toBe('expired')
    for (const route of [CONFIRM, 'POST /api/uploads/{uploadId}/complete']) {
      const late = await upload(route, uploadId)
      expect([late.status, late.body.message]).toEqual([409, 'The upload has expired. Create a new one.'])
    }
  })

  test('frees its reservation when cancelled and when expired', async () => {
    const reservedBytes = async () => {
      const query = { workspaceId: world.id('acme') }
      return (await world.as('ada').call('GET /api/assets/storage', { query })).body.data.quota.held
    }
    const content = video(5_000)
    const { uploadId, url } = await open(content)
    const start = piece(content, 0, 2_000)
    await put(url, start.body, start.headers)
    expect(await reservedBytes()).toBe(content.length)
    await upload('DELETE /api/uploads/{uploadId}', uploadId)
    expect(await reservedBytes()).toBe(0)
    expect((await upload('GET /api/uploads/{uploadId}', uploadId)).status).toBe(404)
    const left = await open(content)
    clock.advance(25 * HOUR)
    expect(await reservedBytes()).toBe(0)
    await app.composition.services.assets.housekeeping.sweep()
    expect((await upload('GET /api/uploads/{uploadId}', left.uploadId)).body.data.state).toBe('expired')
    const listed = await world
      .as('ada')
      .call('GET /api/uploads', { query: { workspaceId: world.id('acme'), limit: 1 } })
    expect(listed.body).toMatchObject({ data: [{ _id: left.uploadId }], pagination: { hasMore: true } })
  })
})

describe('the check of a media URL', () => {
  test('does not fetch private addresses, and reports it', async () => {
    for (const [url, code] of [
      [`http://127.0.0.1:${app.port}/api/health`, 'url_refused'],
      ['http://[::ffff:169.254.169.254]/', 'url_refused'],
      ['ftp://example.com/a.png', 'url_refused'],
    ] as const) {
      const body = { workspaceId: world.id('acme'), url }
      const reply = await world.as('ada').call('POST /api/uploads/validate-url', { body })
      expect([reply.status, reply.body.data.reachable, reply.body.data.code]).toEqual([200, false, code])
    }
  })
})
