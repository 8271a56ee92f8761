import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, HOUR, ManualClock } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import type { Reply } from '../support/send.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** The API of the media library. */

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'))
let app: App
let world: World

beforeAll(async () => {
  app = await startApp({ clock })
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
})
afterAll(() => app?.stop())

let shade = 0

/** A PNG image with unique content. */
async function newImage(width = 8, height = 8): Promise<Uint8Array<ArrayBuffer>> {
  shade += 1
  const background = { r: shade % 256, g: shade >> 8, b: 7 }
  return new Uint8Array(
    await sharp({ create: { width, height, channels: 3, background } })
      .png()
      .toBuffer(),
  )
}

async function add(fields: object = {}, content?: Uint8Array<ArrayBuffer>, name = 'a.png', as = 'ada') {
  const body = { workspaceId: world.id('acme'), ...fields }
  const file = { name, content: content ?? (await newImage()) }
  return world.as(as).call('POST /api/assets/upload', { body, file })
}

async function added(...input: Parameters<typeof add>) {
  const reply = await add(...input)
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}

function get(route: string, query: object = {}): Promise<Reply> {
  return world.as('ada').call(route, { query: { workspaceId: world.id('acme'), ...query } })
}

const one = (route: string, id: string, options: object = {}) =>
  world.as('ada').call(route, { path: { id }, ...options })
const names = (reply: Reply) => (reply.body.data as { name: string }[]).map((row) => row.name)

async function storedFiles(): Promise<string[]> {
  const entries = await readdir(join(app.dataDir, 'storage', 'files'), { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile() && !entry.name.includes('.')).map((entry) => entry.name)
}

describe('assets', () => {
  test('describes the uploaded file and returns the same bytes', async () => {
    const content = await newImage(40, 30)
    const asset = await added({ tags: 'x,y', altText: 'Blue', name: 'Frühling.png' }, content)
    expect(asset).toMatchObject({
      name: 'Frühling.png',
      altText: 'Blue',
      tags: ['x', 'y'],
      kind: 'image',
      type: 'image/png',
      size: content.length,
      width: 40,
      height: 30,
      checksum: createHash('sha256').update(content).digest('hex'),
      createdBy: world.id('ada'),
      version: 1,
    })
    const reply = await fetch(app.url + asset.url, { headers: { 'X-API-Key': world.key('ada') } })
    expect(Buffer.from(await reply.arrayBuffer()).equals(Buffer.from(content))).toBe(true)
    expect(reply.headers.get('content-disposition')).toContain("filename*=UTF-8''Fr%C3%BChling.png")
    const part = await fetch(app.url + asset.url, { headers: { 'X-API-Key': world.key('ada'), Range: 'bytes=1-3' } })
    expect([part.status, await part.text()]).toEqual([206, 'PNG'])
  })

  test('makes thumbnails after an upload, as separate files', async () => {
    const { _id: id } = await added({}, await newImage(1600, 900))
    const ready = await waitFor(
      async () => {
        const { data } = (await one('GET /api/assets/{id}/thumbnail', id)).body
        return data.status === 'pending' ? undefined : data
      },
      { what: 'thumbnails' },
    )
    expect(ready).toMatchObject({ status: 'ready', error: null, blurhash: expect.stringMatching(/^.{20,40}$/) })
    expect(ready.images.map((image: { name: string; width: number }) => [image.name, image.width])).toEqual([
      ['small', 160],
      ['medium', 480],
      ['large', 1280],
    ])
    const work = await readdir(join(app.dataDir, 'work'))
    expect(work.some((name) => name.startsWith('media-work-'))).toBe(true)
    const shown = await fetch(app.url + ready.images[0].url, { headers: { 'X-API-Key': world.key('ada') } })
    expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/webp'])
    expect((await sharp(Buffer.from(await shown.arrayBuffer())).metadata()).width).toBe(160)
    expect((await one('GET /api/assets/{id}', id)).body.data.thumbnail.status).toBe('ready')
    const small = await fetch(app.url + ready.images[0].signedUrl)
    expect([small.status, small.headers.get('content-type')]).toEqual([200, 'image/webp'])
    // Thumbnails do not change the version of the asset. An older ETag must not hide them.
    const again = await one('GET /api/assets/{id}', id, { headers: { 'If-None-Match': '"1"' } })
    expect([again.status, again.headers.get('etag')]).toEqual([200, '"1"'])
  })

  test('searches, sorts, filters and pages the list', async () => {
    await world.workspace('list', 'ada')
    const workspaceId = world.id('list')
    for (const [name, tags, size] of [
      ['b.png', 'red', 10],
      ['a.png', 'red,blue', 300],
      ['c_1.png', 'blue', 20],
    ] as const) {
      clock.advance(1000)
      await added({ workspaceId, name, tags }, await newImage(size, size))
    }
    const list = async (query: object) => names(await get('GET /api/assets', { workspaceId, ...query }))
    expect(await list({})).toEqual(['c_1.png', 'a.png', 'b.png'])
    expect(await list({ sort: 'oldest' })).toEqual(['b.png', 'a.png', 'c_1.png'])
    expect(await list({ sort: 'name' })).toEqual(['a.png', 'b.png', 'c_1.png'])
    expect((await list({ sort: 'largest' }))[0]).toBe('a.png')
    expect(await list({ tag: 'blue', sort: 'name' })).toEqual(['a.png', 'c_1.png'])
    expect(await list({ q: 'C_' })).toEqual(['c_1.png'])
    expect(await list({ q: '%' })).toEqual([])
    expect(await list({ type: 'video' })).toEqual([])
    for (const sort of ['newest', 'oldest', 'name', 'largest']) {
      const whole = await list({ sort })
      const paged: string[] = []
      let cursor: string | undefined
      do {
        const page = await get('GET /api/assets', { workspaceId, sort, limit: 1, cursor })
        paged.push(...names(page))
        cursor = page.body.pagination.nextCursor ?? undefined
      } while (cursor)
      expect(paged, sort).toEqual(whole)
    }
    expect((await get('GET /api/assets', { workspaceId, cursor: 'nonsense' })).status).toBe(400)
    const id = crypto.randomUUID()
    for (const [sort, value, last] of [
      ['newest', '2026-02-30 10:00:00+00', id],
      ['oldest', '2026-11-21 25:00:00+00', id],
      ['newest', '2026-11-21 10:00:00+00', '-'.repeat(36)],
      ['name', 'a\0', id],
      ['name', '\uD800', id],
      ['largest', '1e9', id],
    ]) {
      const cursor = Buffer.from(JSON.stringify([sort, value, last])).toString('base64url')
      const forged = await get('GET /api/assets', { workspaceId, sort, cursor })
      expect([forged.status, forged.body.errors[0].path], JSON.stringify(value)).toEqual([400, '/query/cursor'])
    }
    expect((await get('GET /api/assets/tags', { workspaceId })).body.data).toEqual([
      { tag: 'blue', assetCount: 2 },
      { tag: 'red', assetCount: 2 },
    ])
  })

  test('finds accented letters in composed and decomposed form', async () => {
    const [composed, decomposed] = ['caf\u00E9', 'cafe\u0301']
    await world.workspace('accents', 'ada')
    const workspaceId = world.id('accents')
    const {
      _id: id,
      name,
      tags,
    } = await added({ workspaceId, name: `${decomposed}.png`, tags: `${composed},${decomposed}` })
    expect([name, tags]).toEqual([`${composed}.png`, [composed]])
    for (const query of [{ q: composed }, { q: decomposed }, { tag: composed }, { tag: decomposed }]) {
      expect(names(await get('GET /api/assets', { workspaceId, ...query }))).toEqual([name])
    }
    const folder = (name: string) => world.as('ada').call('POST /api/assets/folders', { body: { workspaceId, name } })
    expect([(await folder(composed)).status, (await folder(decomposed)).status]).toEqual([201, 409])
    // Wait, because other tests count the stored files.
    await waitFor(async () => (await one('GET /api/assets/{id}', id)).body.data.thumbnail.status === 'ready')
  })

  test('updates under If-Match and refuses an unknown folder', async () => {
    const { _id: id } = await added()
    const updated = await one('PATCH /api/assets/{id}', id, { body: { name: '../x/n\u202Eew.png', altText: 'Text' } })
    expect(updated.body.data).toMatchObject({ name: 'new.png', altText: 'Text', version: 2 })
    const stale = await one('PATCH /api/assets/{id}', id, { body: { name: 'b' }, headers: { 'If-Match': '"1"' } })
    expect(stale.status).toBe(412)
    const unknownFolder = await one('PATCH /api/assets/{id}', id, {
      body: { folderId: '01900000-0000-7000-8000-00000000dead' },
    })
    expect(unknownFolder.status).toBe(404)
    // As with an upload, the extension must not contradict the type of the file.
    const renamed = await one('PATCH /api/assets/{id}', id, { body: { name: 'invoice.html' } })
    expect([renamed.status, renamed.body.errors?.[0].path]).toEqual([400, '/body/name'])
    const long = `${'😀'.repeat(250)}.png`
    expect((await one('PATCH /api/assets/{id}', id, { body: { name: long } })).body.data.name).toBe(long)
    const page = await get('GET /api/assets', { sort: 'name', q: '😀', limit: 1 })
    expect(names(page)).toEqual([long])
  })

  test('stores equal contents once per workspace, and does not share them between workspaces', async () => {
    await world.workspace('twins', 'ada')
    await world.workspace('other', 'ada')
    const content = await newImage(50, 50)
    const before = await storedFiles()
    const first = await added({ workspaceId: world.id('twins') }, content)
    const second = await added({ workspaceId: world.id('twins'), name: 'again.png' }, content)
    expect(second._id).not.toBe(first._id)
    expect((await storedFiles()).length).toBe(before.length + 1)
    await added({ workspaceId: world.id('other') }, content)
    expect((await storedFiles()).length).toBe(before.length + 2)
    const usage = await get('GET /api/assets/storage', { workspaceId: world.id('twins') })
    expect(usage.body.data).toMatchObject({ bytes: content.length, assetCount: 2, byKind: { image: content.length } })
  })

  test('returns a result for each bulk-deleted asset, and deletes the files in the bin after 30 days', async () => {
    const [free, used] = [await added(), await added()]
    const unknown = '01900000-0000-7000-8000-00000000dead'
    app.composition.services.assets.uses.register(async (_sql, _workspace, ids) =>
      ids
        .filter((id) => id === used._id)
        .map((assetId) => ({ assetId, kind: 'post', id: unknown, title: 'Launch', scheduled: true })),
    )
    const body = { workspaceId: world.id('acme'), ids: [free._id, used._id, unknown] }
    const reply = await world.as('ada').call('POST /api/assets/bulk-delete', { body })
    expect(reply.body.data.map((row: { httpStatus: number }) => row.httpStatus)).toEqual([200, 409, 404])
    expect((await one('DELETE /api/assets/{id}', used._id)).body).toMatchObject({
      code: 'conflict',
      message: 'The post “Launch” needs it. To delete it anyway, use bulk-delete with `force`.',
    })
    expect((await one('GET /api/assets/{id}', used._id)).body.data.usedIn).toMatchObject([{ title: 'Launch' }])
    expect((await one('GET /api/assets/{id}', free._id)).status).toBe(404)
    expect((await one('GET /api/assets/{id}/file', free._id)).status).toBe(404)
    const forced = await world.as('ada').call('POST /api/assets/bulk-delete', { body: { ...body, force: true } })
    expect(forced.body.data.map((row: { httpStatus: number }) => row.httpStatus)).toEqual([404, 200, 404])

    const { housekeeping } = app.composition.services.assets
    const before = await storedFiles()
    await housekeeping.emptyBin()
    expect(await storedFiles()).toHaveLength(before.length)
    clock.advance(30 * DAY)
    // Files whose examination ended less than an hour ago are kept.
    const emptied = async () => {
      clock.advance(2 * HOUR)
      await housekeeping.emptyBin()
      return (await storedFiles()).length === before.length - 2
    }
    await waitFor(emptied, { what: 'the files in the bin to be deleted' })
  })

  test('lists the bin and restores an asset with its file if enough storage is left', async () => {
    await world.user('cleo')
    await world.workspace('bin', 'cleo')
    const workspaceId = world.id('bin')
    const call = (route: string, options: object) => world.as('cleo').call(route, options)
    const list = async (query: object) => names(await call('GET /api/assets', { query: { workspaceId, ...query } }))
    const content = await newImage(20, 20)
    const { _id: id } = await added({ workspaceId }, content, 'kept.png', 'cleo')
    const path = { path: { id } }
    expect(
      (await call('PATCH /api/assets/{id}', { ...path, body: { deletedAt: null } })).body.data.deletedAt,
    ).toBeNull()
    await call('DELETE /api/assets/{id}', path)
    expect([await list({}), await list({ bin: true }), await list({ bin: true, sort: 'name' })]).toEqual([
      [],
      ['kept.png'],
      ['kept.png'],
    ])
    // An asset in the bin can be restored, but not updated.
    expect((await call('PATCH /api/assets/{id}', { ...path, body: { altText: 'x' } })).status).toBe(404)
    const body = { workspaceId, name: 'v.mp4', type: 'video/mp4', size: 5_000_000_000 }
    const opened = await call('POST /api/assets/signed-upload', { body })
    const restore = () => call('PATCH /api/assets/{id}', { ...path, body: { deletedAt: null, altText: 'restored' } })
    expect((await restore()).body.code).toBe('storage_limit_reached')
    await call('DELETE /api/uploads/{uploadId}', { path: { uploadId: opened.body.data.uploadId } })
    expect((await restore()).body.data).toMatchObject({ deletedAt: null, altText: 'restored', version: 4 })
    expect([await list({}), await list({ bin: true })]).toEqual([['kept.png'], []])
    const usage = await call('GET /api/assets/storage', { query: { workspaceId } })
    expect(usage.body.data.quota.used).toBe(content.length)
    expect((await call('GET /api/assets/{id}/file', path)).status).toBe(200)
  })

  test('keeps the file when its content is uploaded again during the cleanup', async () => {
    await world.workspace('again', 'ada')
    const workspaceId = world.id('again')
    const content = await newImage(31, 31)
    const { _id: first } = await added({ workspaceId }, content)
    await waitFor(async () => (await one('GET /api/assets/{id}', first)).body.data.thumbnail.status === 'ready')
    await one('DELETE /api/assets/{id}', first)
    clock.advance(31 * DAY)
    await app.database.run('delete from assets where id = $1', [first])
    const body = { workspaceId, name: 'a.png', type: 'image/png', size: content.length }
    const { uploadId, url } = (await world.as('ada').call('POST /api/assets/signed-upload', { body })).body.data
    expect((await fetch(url, { method: 'PUT', body: content })).status).toBe(200)
    const { adding } = await app.database.transaction(async (tx) => {
      await tx.row('select 1 from storage_reservations where id = $1 for update', [uploadId])
      const confirm = 'POST /api/assets/signed-upload/{uploadId}/confirm'
      const confirmed = world.as('ada').call(confirm, { path: { uploadId } })
      await waitFor(async () => {
        return (
          (
            await app.database.rows(
              `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
            )
          ).length > 0
        )
      })
      await app.composition.services.assets.housekeeping.emptyBin()
      return { adding: confirmed }
    })
    const { data } = (await adding).body
    const reply = await fetch(app.url + data.url, { headers: { 'X-API-Key': world.key('ada') } })
    expect(Buffer.from(await reply.arrayBuffer()).equals(content)).toBe(true)
  })

  test('resolves several ids, with a result for each', async () => {
    const { _id: id } = await added()
    const unknown = '01900000-0000-7000-8000-00000000dead'
    const body = { workspaceId: world.id('acme'), ids: [unknown, id] }
    const reply = await world.as('ada').call('POST /api/assets/resolve', { body })
    expect(reply.body.data).toMatchObject([
      { _id: unknown, found: false, url: null },
      { _id: id, found: true, type: 'image/png', url: `/api/assets/${id}/file` },
    ])
  })
})

describe('signed URLs', () => {
  test('give access to one file without a credential until they expire', async () => {
    const content = await newImage(20, 20)
    const { _id: id, signedUntil, signedUrl } = await added({}, content)
    const shown = await fetch(app.url + signedUrl)
    expect([shown.status, shown.headers.get('x-content-type-options')]).toEqual([200, 'nosniff'])
    expect(Buffer.from(await shown.arrayBuffer()).equals(content)).toBe(true)
    const part = await fetch(app.url + signedUrl, { headers: { Range: 'bytes=1-3' } })
    expect([part.status, await part.text()]).toEqual([206, 'PNG'])
    expect((await fetch(app.url + signedUrl, { method: 'HEAD' })).status).toBe(200)
    // The URL stays the same for an hour, so that browsers can use their cache.
    expect((await one('GET /api/assets/{id}', id)).body.data.signedUrl).toBe(signedUrl)

    const { _id: other } = await added()
    for (const changed of [
      signedUrl.replace(id, other),
      signedUrl.replace('/file?', '/file?variant=thumbnail-small&'),
      signedUrl.replace('expires=1', 'expires=2'),
      `${signedUrl}&variant=thumbnail-small`,
      signedUrl.slice(0, -1),
      signedUrl.slice(0, signedUrl.indexOf('&signature')),
    ]) {
      expect((await fetch(app.url + changed)).status, changed).toBe(401)
    }
    const otherPath = signedUrl.replace('/file?', '?')
    expect((await fetch(app.url + otherPath)).status).toBe(401)
    clock.advance(Date.parse(signedUntil) - clock.now() - 1)
    expect((await fetch(app.url + signedUrl)).status).toBe(200)
    clock.advance(1)
    const expired = await fetch(app.url + signedUrl)
    expect([expired.status, await expired.json()]).toMatchObject([401, { code: 'credential_expired' }])

    const { signedUrl: newUrl } = (await one('GET /api/assets/{id}', id)).body.data
    expect((await fetch(app.url + newUrl)).status).toBe(200)
    await one('DELETE /api/assets/{id}', id)
    expect((await fetch(app.url + newUrl)).status).toBe(404)
  })
})

describe('folders', () => {
  const create = async (name: string, parentId?: string) => {
    const body = { workspaceId: world.id('acme'), name, ...(parentId && { parentId }) }
    const reply = await world.as('ada').call('POST /api/assets/folders', { body })
    return reply.status === 201 ? (reply.body.data._id as string) : reply.body.code
  }
  const tree = async () =>
    (await get('GET /api/assets/folders')).body.data.map((row: { path: string; assetCount: number }) => [
      row.path,
      row.assetCount,
    ])

  test('form a tree with unique names per parent; deleting moves contents to the parent or the bin', async () => {
    const top = await create('Top')
    const inner = await create('Inner', top)
    await create('Leaf', inner)
    expect(await create('top')).toBe('conflict')
    expect(await create('a/b')).toBe('validation_failed')
    const { _id: id } = await added({ folderId: inner })
    expect(await tree()).toEqual([
      ['Top', 0],
      ['Top/Inner', 1],
      ['Top/Inner/Leaf', 0],
    ])
    await create('Leaf', top)
    expect((await one('DELETE /api/assets/folders/{id}', inner)).status).toBe(200)
    expect(await tree()).toEqual([
      ['Top', 1],
      ['Top/Leaf', 0],
      ['Top/Leaf (2)', 0],
    ])
    expect(names(await get('GET /api/assets', { folderId: top }))).toHaveLength(1)
    app.composition.services.assets.uses.register(async (_sql, _workspace, ids) =>
      ids.includes(id) ? [{ assetId: id, kind: 'stream', id: top, title: 'Show', scheduled: true }] : [],
    )
    const needed = await one('DELETE /api/assets/folders/{id}', top, { query: { recursive: true } })
    expect([needed.status, needed.body.message]).toEqual([
      409,
      expect.stringMatching(/^The stream “Show” needs a\.png\./),
    ])
    expect(await tree()).toHaveLength(3)
    await one('DELETE /api/assets/folders/{id}', top, { query: { recursive: true, force: true } })
    expect(await tree()).toEqual([])
    expect((await one('GET /api/assets/{id}', id)).status).toBe(404)
    const restored = await one('PATCH /api/assets/{id}', id, { body: { deletedAt: null } })
    expect(restored.body.data).toMatchObject({ deletedAt: null, folderId: null })
    await one('DELETE /api/assets/{id}', id)
  })

  test('never form a cycle, even with concurrent moves', async () => {
    const [a, b] = [await create('A'), await create('B')]
    const move = (id: string, parentId: string) => one('PATCH /api/assets/folders/{id}', id, { body: { parentId } })
    const replies = await Promise.all([move(a, b), move(b, a)])
    expect(replies.map((reply) => reply.status).sort((one, two) => one - two)).toEqual([200, 409])
    expect((await move(a, a)).status).toBe(409)
    expect(await tree()).toHaveLength(2)
  })
})

describe('the storage limit', () => {
  test('holds under concurrent uploads, and cancelled or deleted files free their storage', async () => {
    await world.user('bob')
    await world.workspace('small', 'bob')
    const workspaceId = world.id('small')
    const body = { workspaceId, name: 'v.mp4', type: 'video/mp4', size: 1_500_000_000 }
    const open = () => world.as('bob').call('POST /api/assets/signed-upload', { body })
    const replies = await Promise.all(Array.from({ length: 8 }, open))
    expect(replies.filter((reply) => reply.status === 201)).toHaveLength(3)
    const refused = replies.find((reply) => reply.status === 413) as Reply
    expect(refused.body).toMatchObject({
      code: 'storage_limit_reached',
      details: { limit: 'storageBytes', value: 5_000_000_000, used: 4_500_000_000, plan: 'free' },
    })
    const { uploadId } = (replies.find((reply) => reply.status === 201) as Reply).body.data
    await world.as('bob').call('DELETE /api/uploads/{uploadId}', { path: { uploadId } })
    expect((await open()).status).toBe(201)
    // An upload in one request also reserves storage, and frees it if the file is refused.
    const usage = () => world.as('bob').call('GET /api/assets/storage', { query: { workspaceId } })
    const held = (await usage()).body.data.quota.held
    expect((await add({ workspaceId }, new Uint8Array(1000), 'a.png', 'bob')).status).toBe(415)
    expect((await usage()).body.data.quota.held).toBe(held)
    const { _id: id, size } = (await add({ workspaceId }, undefined, 'a.png', 'bob')).body.data
    expect((await usage()).body.data.quota).toMatchObject({ used: size, held })
    await world.as('bob').call('DELETE /api/assets/{id}', { path: { id } })
    expect((await usage()).body.data.quota).toMatchObject({ used: 0, held })
  })

  test('leaves nothing behind when the client disconnects during an upload', async () => {
    const before = await storedFiles()
    const socket = connect(app.port, '127.0.0.1')
    const boundary = 'b'
    const field = (name: string, value: string) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
    const head = `${field('workspaceId', world.id('acme'))}--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n`
    socket.write(
      `POST /api/assets/upload HTTP/1.1\r\nHost: x\r\nX-API-Key: ${world.key('ada')}\r\nContent-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: 5000000\r\n\r\n${head}`,
    )
    socket.write(await newImage(300, 300))
    socket.write(Buffer.alloc(1_000_000))
    const incoming = join(app.dataDir, 'storage', 'incoming')
    await waitFor(async () => (await readdir(incoming)).length > 0)
    socket.destroy()
    await waitFor(async () => (await readdir(incoming)).length === 0)
    expect(await storedFiles()).toEqual(before)
    const usage = () => get('GET /api/assets/storage')
    await waitFor(async () => (await usage()).body.data.quota.held === 0)
  })
})
