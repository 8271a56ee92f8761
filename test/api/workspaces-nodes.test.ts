import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runFfmpeg } from '../../media/testing/ffmpeg.ts'
import { processesOn } from '../../media/testing/work-fixture.ts'
import { deleteWorkspace, getWorkspace, updateWorkspace } from '../../src/domains/workspace/workspaces/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import type { Reply } from '../support/send.ts'
import { waitFor } from '../support/wait.ts'
import { ApiCaller, World } from '../support/world.ts'

/** Two nodes with one database and one Redis. Caches expire after 30 s, so an effect within 20 s shows that the notice arrived. */

const SOON = { timeoutMs: 20_000 }

let redis: TestRedis
let here: App
let there: App
let world: World
const apiKeys = new Map<string, string>()

beforeAll(async () => {
  redis = await startRedis()
  here = await startApp({ redisUrl: redis.url })
  there = await startApp({ redisUrl: redis.url, databaseUrl: here.databaseUrl })
  world = new World(here)
  await world.workspace('acme', 'ada')
  for (const name of ['edith', 'rob']) {
    const { apiKey } = await world.member('acme', name, { role: 'admin' })
    apiKeys.set(name, apiKey)
  }
  apiKeys.set('ada', (await world.user('ada')).apiKey)
})
afterAll(async () => {
  await there?.stop()
  await here?.stop()
  await redis?.stop()
})

const at = (workspace = 'acme') => ({ path: { workspaceId: world.id(workspace) } })
const overThere = (name: string) => new ApiCaller(there, { apiKey: apiKeys.get(name) ?? '' })
const rename = (name: string): Promise<Reply> =>
  overThere(name).call(updateWorkspace, { ...at(), body: { name: 'acme' } })

test('a change of role takes effect on the other node', async () => {
  expect((await rename('edith')).status).toBe(200)
  await world.member('acme', 'edith', { role: 'editor' })
  await waitFor(async () => (await rename('edith')).status === 403, SOON)
})

test('the other node is notified when members change', async () => {
  const changedIds: (string | undefined)[] = []
  const stop = there.composition.services.workspaces.memberships.onChange((workspaceId) => changedIds.push(workspaceId))
  here.composition.services.workspaces.memberships.changed(world.id('acme'))
  await waitFor(() => changedIds.includes(world.id('acme')))
  stop()
})

test('a change of plan takes effect on the other node', async () => {
  const limits = () => there.composition.services.plans.limitsOf(world.id('ada'))
  expect((await limits()).plan).toBe('free')
  await here.composition.services.plans.change(world.id('ada'), 'pro')
  await waitFor(async () => (await limits()).plan === 'pro', SOON)
})

test('a deleted workspace cannot be found on the other node', async () => {
  await world.workspace('brief', 'ada')
  expect((await overThere('ada').call(getWorkspace, at('brief'))).status).toBe(200)
  await world.as('ada').call(deleteWorkspace, { ...at('brief'), body: { name: 'brief' } })
  await waitFor(async () => (await overThere('ada').call(getWorkspace, at('brief'))).status === 404, SOON)
})

test('nothing is cached without Redis, and the cache is empty when Redis is back', async () => {
  const { coordination } = there.node.resources
  expect((await rename('rob')).status).toBe(200)
  await redis.kill()
  await waitFor(() => !coordination.linked && !here.node.resources.coordination.linked)
  await world.member('acme', 'rob', { role: 'client' })
  expect((await rename('rob')).status).toBe(403)
  await redis.restart()
  await waitFor(() => coordination.linked && here.node.resources.coordination.linked)
  expect((await rename('rob')).status).toBe(403)
  await world.member('acme', 'rob', { role: 'admin' })
  await waitFor(async () => (await rename('rob')).status === 200, SOON)
})

test('a rendition that is cancelled on the other node ends its ffmpeg and leaves no files', async () => {
  const path = join(here.dataDir, 'part')
  const moving = ['-f', 'lavfi', '-i', 'testsrc2=size=1280x720:rate=25:duration=2', '-c:v', 'libx264']
  await runFfmpeg(...moving, '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-f', 'mp4', path)
  // This takes long to encode.
  await runFfmpeg('-stream_loop', '39', '-i', path, '-c', 'copy', '-f', 'mp4', `${path}-long`)
  const file = { name: 'long.mp4', content: new Uint8Array(await readFile(`${path}-long`)) }
  const added = await world.as('ada').call('POST /api/assets/upload', { body: { workspaceId: world.id('acme') }, file })
  const id = added.body.data._id
  const asset = async () => (await world.as('ada').call('GET /api/assets/{id}', { path: { id } })).body.data
  await waitFor(async () => (await asset()).thumbnail.status === 'ready', { what: 'thumbnails' })
  const order = { path: { id }, body: { crf: 10 } }
  const ordered = await overThere('ada').call('POST /api/assets/{id}/renditions', order)
  expect(ordered.status, ordered.text).toBe(202)
  const encoders = () => processesOn(join(here.dataDir, 'storage')).length
  await waitFor(() => encoders() > 0 && here.node.jobs?.running === 1, { what: 'ffmpeg to run' })
  const gone = { path: { id }, query: { rendition: ordered.body.data._id } }
  expect((await overThere('ada').call('DELETE /api/assets/{id}', gone)).status).toBe(200)
  await waitFor(() => encoders() === 0 && here.node.jobs?.running === 0, { what: 'ffmpeg to be gone' })
  expect(readdirSync(join(here.dataDir, 'work')).filter((name) => name.startsWith('rendition-'))).toEqual([])
  expect((await asset()).renditions).toEqual([])
})
