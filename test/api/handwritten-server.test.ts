import { afterAll, beforeAll, expect, test } from 'vitest'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { requireSameReplies } from '../bench/support/compare.ts'
import { start, type Running } from '../bench/support/process.ts'
import { createRequest, listRequest, VARYING } from '../bench/support/stream-requests.ts'
import { startApp, type App } from '../support/app.ts'
import { World } from '../support/world.ts'

/** `bench:http` compares Crier with a handwritten server. The ratio is meaningful only if both give the same replies. */

const BASELINE = new URL('../bench/baselines/handwritten-server.ts', import.meta.url).pathname
let app: App
let world: World
let baseline: Running
let baselineUrl: string

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  const body = { workspaceId: world.id('acme'), title: 'Friday show' }
  // More than one page.
  const made = await Promise.all(Array.from({ length: 21 }, () => world.as('ada').call('POST /api/streams', { body })))
  const port = await freeLoopbackPort()
  baselineUrl = `http://127.0.0.1:${port}`
  baseline = await start([BASELINE, String(port)], /ready/, {
    DATABASE_URL: app.databaseUrl,
    API_KEY: world.key('ada'),
    INGEST_URL: made[0]?.body.data.rtmpIngestUrl,
  })
})
afterAll(async () => {
  await baseline?.stop()
  await app?.stop()
})

test.each([
  ['a list', listRequest],
  ['a create', createRequest],
])('%s gets the same reply from Crier and the handwritten server', async (title, requestTo) => {
  const target = { apiKey: world.key('ada'), workspaceId: world.id('acme') }
  const ours = { name: 'Crier', request: requestTo({ ...target, url: app.url }) }
  const theirs = { name: 'the baseline', request: requestTo({ ...target, url: baselineUrl }) }
  const varying = title === 'a create' ? VARYING : []
  await expect(requireSameReplies(title, ours, theirs, varying)).resolves.toBeUndefined()
})
