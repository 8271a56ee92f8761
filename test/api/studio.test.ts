import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** Projects of the studio. */

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

async function picture(workspace: string): Promise<string> {
  const file = { name: 'stage.png', content: PIXEL, type: 'image/png' }
  const body = { workspaceId: world.id(workspace) }
  return (await world.as('ada').call('POST /api/assets/upload', { body, file })).body.data._id
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
