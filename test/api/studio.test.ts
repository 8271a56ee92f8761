import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MediaWork } from '../../media/work/types.ts'
import { StudioRenderer } from '../../src/domains/media/studio/renders/renderer.ts'
import { studioRenders } from '../../src/domains/media/studio/tables.ts'
import { startApp, type App } from '../support/app.ts'
import { beeps } from '../support/beeps.ts'
import { PIXEL } from '../support/pixel.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** Projects of the studio and their renderings. */

let app: App
let world: World
const sockets = new Sockets(() => app)

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  await world.workspace('barn', 'ada')
})
afterAll(async () => {
  sockets.end()
  await app?.stop()
})

const BOX = { left: 0, top: 0, width: 100, height: 100 }
const text = (content: string) => ({ ...BOX, kind: 'text', text: content, fontSize: 40, color: '#ffffff' })
const dataOf = (...layers: object[]) => ({
  schemaVersion: 1,
  pages: [{ width: 1080, height: 1080, background: '#000000', layers }],
})

const create = (projectData: object) =>
  world.as('ada').call('POST /api/studio/projects', {
    body: { workspaceId: world.id('acme'), name: 'Tour', projectData },
  })
const save = (id: string, projectData: object, etag?: string) =>
  world.as('ada').call('PUT /api/studio/projects/{id}', {
    path: { id },
    body: { projectData },
    ...(etag !== undefined && { headers: { 'If-Match': etag } }),
  })
const get = (id: string, rest = '') => world.as('ada').call(`GET /api/studio/projects/{id}${rest}`, { path: { id } })

const render = (id: string, body: object = {}) =>
  world.as('ada').call('POST /api/studio/projects/{id}/render', { path: { id }, body })

async function ended(id: string) {
  return waitFor(
    async () => {
      const { data } = (await world.as('ada').call('GET /api/studio/renders/{id}', { path: { id } })).body
      return ['queued', 'running'].includes(data.status) ? undefined : data
    },
    { what: 'the end of a rendering' },
  )
}

async function asset(id: string) {
  return (await world.as('ada').call('GET /api/assets/{id}', { path: { id } })).body.data
}

async function picture(workspace: string): Promise<string> {
  const file = { name: 'stage.png', content: PIXEL, type: 'image/png' }
  const body = { workspaceId: world.id(workspace) }
  return (await world.as('ada').call('POST /api/assets/upload', { body, file })).body.data._id
}

/** A second of sound, after it was examined. */
async function sound(): Promise<string> {
  const file = { name: 'beeps.wav', content: beeps(1), type: 'audio/wav' }
  const body = { workspaceId: world.id('acme') }
  const id = (await world.as('ada').call('POST /api/assets/upload', { body, file })).body.data._id as string
  await waitFor(async () => (await asset(id)).duration !== null, { what: 'the examination of a sound' })
  return id
}

test.each<[string, object, string, string]>([
  ['a text without its size', { ...BOX, kind: 'text', text: 'a', color: '#ffffff' }, 'fontSize', 'required'],
  ['a text in a box', { ...BOX, kind: 'box', color: '#ffffff', text: 'a' }, 'text', 'unknown'],
  ['a picture without an asset', { ...BOX, kind: 'picture' }, 'assetId', 'required'],
  [
    'an unknown asset',
    { ...BOX, kind: 'picture', assetId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ea1' },
    'assetId',
    'asset',
  ],
  ['a box without a place', { kind: 'box', color: '#ffffff', top: 0, width: 9, height: 9 }, 'left', 'required'],
  [
    'a start after the end of the page',
    { ...BOX, kind: 'box', color: '#ffffff', startSeconds: 5 },
    'startSeconds',
    'range',
  ],
  ['an end after the end of the page', { ...BOX, kind: 'box', color: '#ffffff', endSeconds: 6 }, 'endSeconds', 'range'],
  [
    'animations that take longer than the layer is shown',
    { ...BOX, kind: 'box', color: '#ffffff', endSeconds: 2, enter: { effect: 'zoom', seconds: 2.1 } },
    'enter/seconds',
    'range',
  ],
  [
    'a side of a fade',
    { ...BOX, kind: 'box', color: '#ffffff', exit: { effect: 'fade', seconds: 1, side: 'left' } },
    'exit/side',
    'unknown',
  ],
])('refuses %s with the pointer of the layer', async (_case, layer, field, code) => {
  const refused = await create(dataOf(text('fine'), layer))
  expect(refused.status).toBe(400)
  expect(refused.body.errors).toMatchObject([{ path: `/body/projectData/pages/0/layers/1/${field}`, code }])
})

test('refuses an asset of another workspace, values out of range and unknown fields', async () => {
  const foreign = { ...BOX, kind: 'picture', assetId: await picture('barn') }
  expect((await create(dataOf(foreign))).body.errors).toMatchObject([{ code: 'asset' }])
  const wide = await create(dataOf({ ...text('a'), width: 1e9 }))
  expect(wide.body.errors[0].path).toBe('/body/projectData/pages/0/layers/0/width')
  const script = await create(dataOf({ ...text('a'), onclick: 'x' }))
  expect(script.body.errors[0].path).toBe('/body/projectData/pages/0/layers/0/onclick')
  expect((await create({ schemaVersion: 2, pages: [] })).status).toBe(400)
})

test('refuses assets of the wrong kind, parts after their end, and more than can be rendered', async () => {
  const image = await picture('acme')
  const video = { ...BOX, kind: 'video', assetId: image }
  const errorsOf = async (...layers: object[]) => (await create(dataOf(...layers))).body.errors
  expect(await errorsOf(video)).toMatchObject([
    { path: '/body/projectData/pages/0/layers/0/assetId', code: 'asset', message: 'is not a video' },
  ])
  expect(await errorsOf({ kind: 'sound', assetId: image })).toMatchObject([{ message: 'is not a sound' }])
  const slide = { effect: 'slide', seconds: 1 }
  expect(await errorsOf({ kind: 'sound', assetId: await sound(), enter: slide })).toMatchObject([
    { path: '/body/projectData/pages/0/layers/0/enter/effect' },
  ])
  const late = { kind: 'sound', assetId: await sound(), fromSeconds: 3 }
  expect(await errorsOf(text('fine'), late)).toMatchObject([
    { path: '/body/projectData/pages/0/layers/1/fromSeconds', code: 'range' },
  ])
  const large = { ...BOX, kind: 'picture', assetId: image, width: 8_000, height: 3_000 }
  expect(await errorsOf(large, large, { ...large, fit: 'contain' })).toMatchObject([
    { path: '/body/projectData/pages/0/layers/2/width', code: 'range' },
  ])
  const videos = await errorsOf(video, video, video, video, video)
  expect(videos.map(({ path }: { path: string }) => path)).toContain('/body/projectData/pages/0/layers/4')
})

test('a page has a format of a platform, or a width and a height', async () => {
  const page = { background: '#000000', layers: [] }
  const errorsOf = async (size: object) =>
    (await create({ schemaVersion: 1, pages: [{ ...page, ...size }] })).body.errors?.map(
      ({ path }: { path: string }) => path,
    )
  expect(await errorsOf({ pageFormat: 'story' })).toBeUndefined()
  expect(await errorsOf({ pageFormat: 'story', width: 100 })).toEqual(['/body/projectData/pages/0/width'])
  expect(await errorsOf({ width: 100 })).toEqual(['/body/projectData/pages/0/height'])
})

test('refuses more than 5 MB', async () => {
  const big = dataOf({ ...text('a'), text: 'x'.repeat(5_000_000) })
  expect((await create(big)).status).toBe(413)
})

test('a save keeps the version before it, and two editors do not replace each other unseen', async () => {
  const { events } = await sockets.connect(world.key('ada'))
  const first = await create(dataOf(text('one')))
  expect(first.status, first.text).toBe(201)
  const id = first.body.data._id as string
  const read = await get(id)
  const etag = read.headers.get('etag') ?? ''
  expect(read.body.data).toMatchObject({ version: 1, pageCount: 1, projectData: dataOf(text('one')) })

  const saved = await save(id, dataOf(text('two')), etag)
  expect(saved.body.data).toMatchObject({ version: 2, name: 'Tour', projectData: dataOf(text('two')) })
  const late = await save(id, dataOf(text('three')), etag)
  expect([late.status, late.body.code]).toEqual([412, 'precondition_failed'])
  expect((await get(id)).body.data.projectData).toEqual(dataOf(text('two')))

  for (let number = 3; number <= 25; number += 1) await save(id, dataOf(text(`save ${number}`)))
  const { data } = (await get(id, '/versions')).body
  expect(data.map(({ version }: { version: number }) => version)).toEqual(
    Array.from({ length: 20 }, (_, index) => 25 - index),
  )
  const version = (number: string) =>
    world.as('ada').call('GET /api/studio/projects/{id}/versions/{version}', { path: { id, version: number } })
  expect((await version('24')).body.data.projectData).toEqual(dataOf(text('save 24')))
  expect((await version('5')).status).toBe(404)

  const path = { id }
  const stale = await world.as('ada').call('DELETE /api/studio/projects/{id}', { path, headers: { 'If-Match': etag } })
  expect(stale.status).toBe(412)
  expect((await world.as('ada').call('DELETE /api/studio/projects/{id}', { path })).status).toBe(200)
  expect((await world.as('ada').call('DELETE /api/studio/projects/{id}', { path })).status).toBe(404)
  expect((await get(id)).status).toBe(404)
  await waitFor(() => events.some(({ name }) => name === 'studioProject.deleted'), { what: 'the event' })
})

test('a project can be saved although its picture was deleted', async () => {
  const assetId = await picture('acme')
  const data = dataOf({ ...BOX, kind: 'picture', assetId, fit: 'cover' })
  const { _id: id } = (await create(data)).body.data
  await world.as('ada').call('DELETE /api/assets/{id}', { path: { id: assetId } })
  expect((await save(id, data)).status).toBe(200)
  expect((await create(data)).status).toBe(400)
})

test('renders pages to assets, and tells live clients', async () => {
  const { events } = await sockets.connect(world.key('ada'))
  const assetId = await picture('acme')
  const page = (background: string, ...layers: object[]) => ({ width: 64, height: 32, background, layers })
  const data = {
    schemaVersion: 1,
    pages: [page('#ff0000'), page('#00ff00', { ...BOX, kind: 'picture', assetId }, { ...text('hi'), fontSize: 10 })],
  }
  const { _id: id } = (await create(data)).body.data
  const wrong = await render(id, { pageNumbers: [1, 3] })
  expect(wrong.body.errors).toMatchObject([{ path: '/body/pageNumbers/1', code: 'page' }])
  const asked = await render(id, { pageNumbers: [2, 1], format: 'webp' })
  expect(asked.status, asked.text).toBe(202)
  expect(asked.body.data).toMatchObject({ studioProjectId: id, version: 1, pageNumbers: [2, 1], format: 'webp' })

  const done = await ended(asked.body.data._id)
  expect(done).toMatchObject({
    status: 'done',
    progress: 100,
    error: null,
    assetIds: [expect.any(String), expect.any(String)],
  })
  const assets = await Promise.all(done.assetIds.map((one: string) => asset(one)))
  expect(assets.map(({ kind, name }) => [name, kind])).toEqual([
    ['Tour 2.webp', 'image'],
    ['Tour 1.webp', 'image'],
  ])
  const of = (name: string) => events.find((one) => one.name === name && one.data.data._id === asked.body.data._id)
  await waitFor(() => of('studioRender.created') !== undefined && of('studioRender.updated') !== undefined, {
    what: 'the events',
  })
  // The same content again is another asset of the same file.
  const again = await ended((await render(id, { pageNumbers: [1], format: 'webp' })).body.data._id)
  const copy = await asset(again.assetIds[0])
  expect(copy._id).not.toBe(done.assetIds[1])
  expect(copy.checksum).toBe(assets[1].checksum)
  const late = await world.as('ada').call('POST /api/studio/renders/{id}/cancel', { path: { id: again._id } })
  expect(late.status).toBe(409)
  const listed = await world.as('ada').call('GET /api/studio/projects/{id}/renders', { path: { id } })
  expect(listed.body.data.map(({ _id }: { _id: string }) => _id)).toEqual([again._id, done._id])
})

test('renders pages to a video with sound', async () => {
  const page = (width: number, seconds: number) => ({ width, height: 64, background: '#ff0000', layers: [], seconds })
  const data = {
    schemaVersion: 1,
    pages: [page(64, 0.5), page(64, 1), page(32, 1), page(33, 1)],
    sound: { assetId: await sound(), volume: 0.5 },
  }
  const silent = { ...data, sound: { assetId: await picture('acme') } }
  expect((await create(silent)).body.errors).toMatchObject([
    { path: '/body/projectData/sound/assetId', message: 'is not a sound' },
  ])
  const { _id: id } = (await create(data)).body.data
  for (const [pageNumbers, message] of [
    [[1, 3], 'needs pages of the same width and height'],
    [[4], 'needs pages whose width and height are even numbers'],
  ]) {
    const refused = await render(id, { pageNumbers, format: 'mp4' })
    expect(refused.body.errors).toMatchObject([{ path: '/body/format', message }])
  }
  const done = await ended((await render(id, { pageNumbers: [1, 2], format: 'mp4' })).body.data._id)
  expect(done).toMatchObject({ status: 'done', error: null, assetIds: [expect.any(String)] })
  const video = await waitFor(async () => {
    const found = await asset(done.assetIds[0])
    return found.duration === null ? undefined : found
  })
  expect(video).toMatchObject({ name: 'Tour.mp4', kind: 'video', width: 64, height: 64 })
  expect(video.duration).toBeCloseTo(1.5, 1)
})

test('a rendering fails with the pointer of the layer, and makes no asset', async () => {
  const assetId = await picture('acme')
  const deleted = (await create(dataOf(text('fine'), { ...BOX, kind: 'picture', assetId }))).body.data
  await world.as('ada').call('DELETE /api/assets/{id}', { path: { id: assetId } })
  const unknown = (await create(dataOf(text('cuneiform \u{12000}')))).body.data
  const failed = async (id: string) => ended((await render(id)).body.data._id)
  expect(await failed(deleted._id)).toMatchObject({
    status: 'failed',
    assetIds: [],
    error: '/pages/0/layers/1/assetId: The asset was deleted.',
  })
  expect(await failed(unknown._id)).toMatchObject({
    status: 'failed',
    assetIds: [],
    error: expect.stringContaining('/pages/0/layers/0/text: No font of this server has these characters'),
  })
})

test('a rendering that takes too long ends as failed, says so, and uses no storage', async () => {
  const { _id: id } = (await create(dataOf(text('fine')))).body.data
  const done = await ended((await render(id)).body.data._id)
  const row = await studioRenders.first(app.database, { id: done._id })
  if (row === undefined) throw new Error('there is no rendering')
  const { createdAt, updatedAt, ...rest } = row
  const slow = { ...rest, id: randomUUID(), status: 'queued' as const, assetIds: [], finishedAt: null }
  await studioRenders.insert(app.database, { ...slow, createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) })
  const hangs: Pick<MediaWork, 'render'> = {
    render: (_scene, _output, _options, { signal } = {}) =>
      new Promise((_resolve, reject) => {
        const stop = () => reject(signal?.reason as Error)
        if (signal?.aborted === true) stop()
        else signal?.addEventListener('abort', stop, { once: true })
      }),
  }
  const { intake, quota } = app.composition.services.assets
  const { database, log, scratch } = app.node.resources
  const { storage, turns } = app.composition.services
  const mediaWork = () => Promise.resolve(hangs as MediaWork)
  const parts = { clock: app.clock, database, mediaWork, scratch, storage, turns, intake, quota }
  const usage = async () =>
    (await world.as('ada').call('GET /api/assets/storage', { query: { workspaceId: world.id('acme') } })).body.data
  const before = await usage()
  const signal = new AbortController().signal
  // It is not tried again, because that would take as long.
  await new StudioRenderer({ ...parts, mostMs: 50 }).run(slow.id, {
    signal,
    last: false,
    log,
    progress: () => undefined,
  })
  expect(await ended(slow.id)).toMatchObject({
    status: 'failed',
    assetIds: [],
    error: expect.stringMatching(/^The rendering took longer than .* minutes\. Render fewer pages at once\.$/),
  })
  expect(await usage()).toEqual(before)
})

test('a plan limits how many renderings are requested in a month', async () => {
  const id = (await create(dataOf(text('Limit')))).body.data._id
  const used = async () => {
    const { items } = (await world.as('ada').call('GET /api/users/me/usage')).body.data
    return items.find((item: { name: string }) => item.name === 'rendersPerMonth').used
  }
  const before = await used()
  expect((await render(id)).status).toBe(202)
  // The same request again is the same rendering.
  expect((await render(id)).status).toBe(202)
  expect(await used()).toBe(before + 1)
  await app.database.run('update plan_uses set used = 20000 where user_id = $1', [world.id('ada')])
  const refused = await render(id, { format: 'webp' })
  expect([refused.status, refused.body.code, refused.body.details]).toEqual([
    402,
    'plan_limit_reached',
    { limit: 'rendersPerMonth', value: 20_000, used: 20_000, plan: 'business', isTrial: false },
  ])
  await app.database.run('update plan_uses set used = 0 where user_id = $1', [world.id('ada')])
})
