import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { beeps } from '../support/beeps.ts'
import { PIXEL } from '../support/pixel.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** Templates of the studio, the assets that projects use, and renderings that are repeated or cancelled. */

let app: App
let world: World

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
})
afterAll(() => app?.stop())

const ada = () => world.as('ada')
const fill = (templateKey: string, values: object) =>
  ada().call('POST /api/studio/templates/{templateKey}/projects', {
    path: { templateKey },
    body: { workspaceId: world.id('acme'), name: 'Tour', values },
  })
const errorsOf = async (templateKey: string, values: object) => (await fill(templateKey, values)).body.errors
const render = (id: string, body: object) => ada().call('POST /api/studio/projects/{id}/render', { path: { id }, body })
const rendering = async (id: string) => (await ada().call('GET /api/studio/renders/{id}', { path: { id } })).body.data
const asset = async (id: string) => (await ada().call('GET /api/assets/{id}', { path: { id } })).body.data

async function upload(name: string, bytes: Uint8Array, type: string): Promise<string> {
  const body = { workspaceId: world.id('acme') }
  return (await ada().call('POST /api/assets/upload', { body, file: { name, content: new Uint8Array(bytes), type } }))
    .body.data._id
}
const picture = () => upload('stage.png', PIXEL, 'image/png')

async function sound(): Promise<string> {
  const id = await upload('beeps.wav', beeps(1), 'audio/wav')
  await waitFor(async () => (await asset(id)).duration !== null, { what: 'the examination of a sound' })
  return id
}

test('lists the templates with previews, which need no credentials', async () => {
  const { data } = (await ada().call('GET /api/studio/templates', {})).body
  expect(data.map(({ templateKey }: { templateKey: string }) => templateKey)).toEqual([
    'quote-card',
    'event',
    'carousel',
    'story',
    'audiogram',
    'subtitles',
    'slideshow',
  ])
  for (const { previewUrl } of data as { previewUrl: string }[]) {
    const reply = await fetch(new URL(new URL(previewUrl).pathname, app.url))
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'image/webp'])
    expect((await reply.arrayBuffer()).byteLength).toBeGreaterThan(1_000)
  }
})

test('refuses values that are missing, not used, or not in the media library', async () => {
  const id = '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ea1'
  expect(await errorsOf('quote-card', { title: 'a' })).toEqual([
    { path: '/body/values/text', code: 'required', message: 'is required for this template' },
    { path: '/body/values/title', code: 'unknown', message: 'is not used by this template' },
  ])
  expect(await errorsOf('quote-card', { text: 'a', pictureAssetIds: [await picture(), id] })).toMatchObject([
    { path: '/body/values/pictureAssetIds/1', code: 'asset' },
  ])
  expect(await errorsOf('audiogram', { title: 'a', soundAssetId: await picture() })).toMatchObject([
    { path: '/body/values/soundAssetId', message: 'is not a sound of the media library' },
  ])
  expect(await errorsOf('audiogram', { title: 'a', soundAssetId: await sound(), transcriptId: id })).toMatchObject([
    { path: '/body/values/transcriptId', code: 'transcript' },
  ])
  expect((await fill('unknown', {})).status).toBe(404)
})

test('makes a project that is rendered like any other', async () => {
  const made = await fill('audiogram', { title: 'Live', soundAssetId: await sound() })
  expect(made.status, made.text).toBe(201)
  expect(made.body.data).toMatchObject({ name: 'Tour', version: 1, pageCount: 1, projectData: { schemaVersion: 1 } })
  expect(made.body.data.projectData.pages[0].seconds).toBeCloseTo(1, 1)
  const { _id: id, projectData } = made.body.data
  const saved = await ada().call('PUT /api/studio/projects/{id}', { path: { id }, body: { projectData } })
  expect(saved.status, saved.text).toBe(200)
  const asked = (await render(id, { format: 'mp4' })).body.data
  const done = await waitFor(
    async () => {
      const found = await rendering(asked._id)
      return ['queued', 'running'].includes(found.status) ? undefined : found
    },
    { what: 'the end of a rendering' },
  )
  expect(done).toMatchObject({ status: 'done', error: null })
})

test('an asset names the projects and versions that use it, and its deletion says so', async () => {
  const used = await picture()
  const { _id: id, projectData } = (await fill('quote-card', { text: 'a', pictureAssetIds: [used] })).body.data
  const put = (data: object) =>
    ada().call('PUT /api/studio/projects/{id}', { path: { id }, body: { projectData: data } })
  await put(projectData)
  await put({ ...projectData, pages: [{ pageFormat: 'square', background: '#000000', layers: [] }] })
  const use = { kind: 'studio_project', _id: id, title: 'Tour', scheduled: false, versionNumbers: [2, 1] }
  expect((await asset(used)).usedIn).toEqual([use])
  const deleted = await ada().call('DELETE /api/assets/{id}', { path: { id: used } })
  expect(deleted.body.message).toBe('Asset moved to the bin. The studio project “Tour” uses it.')
})

test('a second click returns the rendering that runs, which can be cancelled', async () => {
  const layers = [
    { kind: 'box', left: 0, top: 0, width: 64, height: 64, color: '#ffffff', enter: { effect: 'zoom', seconds: 30 } },
  ]
  const page = { pageFormat: 'landscape', background: '#000000', seconds: 300, layers: Array(50).fill(layers[0]) }
  const body = { workspaceId: world.id('acme'), name: 'Long', projectData: { schemaVersion: 1, pages: [page] } }
  const { _id: id } = (await ada().call('POST /api/studio/projects', { body })).body.data
  const first = (await render(id, { format: 'mp4' })).body.data
  await waitFor(async () => (await rendering(first._id)).status === 'running', { what: 'the start of a rendering' })
  const second = await render(id, { format: 'mp4' })
  expect([second.status, second.body.data._id]).toEqual([202, first._id])
  expect((await render(id, { format: 'png' })).body.data._id).not.toBe(first._id)
  const cancelled = await ada().call('POST /api/studio/renders/{id}/cancel', { path: { id: first._id } })
  expect(cancelled.body.data).toMatchObject({ status: 'cancelled', assetIds: [] })
  const again = (await render(id, { format: 'mp4' })).body.data
  expect(again._id).not.toBe(first._id)
  await ada().call('POST /api/studio/renders/{id}/cancel', { path: { id: again._id } })
  expect(await rendering(first._id)).toMatchObject({ status: 'cancelled', assetIds: [] })
})
