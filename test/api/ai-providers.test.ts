import { LLMock } from '@copilotkit/aimock'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { runAiJob } from '../../src/domains/media/ai/jobs.ts'
import { jobs as allJobs } from '../../src/registry/jobs.ts'
import { startApp, type App } from '../support/app.ts'
import { World } from '../support/world.ts'

/** AI providers of workspaces, and their limits of credits. */

const KEY = 'sk-only-for-the-provider-4711'
const mock = new LLMock({ host: '127.0.0.1', port: 0 })
let app: App
let world: World

beforeAll(async () => {
  mock.on({ model: 'denied' }, { error: { message: 'no' }, status: 401 })
  mock.on({}, (request) => ({
    content: JSON.stringify({ captions: [{ title: '', text: `By ${request.model}.`, hashtags: [] }] }),
  }))
  await mock.start()
  const jobs = allJobs.map((job) => (job.name === runAiJob.name ? { ...job, run: async () => {} } : job))
  const server = { AI_BASE_URL: `${mock.url}/v1`, AI_MODELS: 'small', AI_API_KEY: 'sk-server' }
  const env = { ...server, ALLOW_PRIVATE_ADDRESSES: '1', LOG_LEVEL: 'debug' }
  app = await startApp({ env, jobs })
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  await world.workspace('barn', 'ada')
})
afterAll(async () => {
  await app?.stop()
  await mock.stop()
})

beforeEach(() => {
  mock.clearRequests()
})

const inPath = (workspace = 'acme') => ({ path: { workspaceId: world.id(workspace) } })
const PROVIDER = '/api/workspaces/{workspaceId}/ai-provider'
const save = (body: object, workspace?: string) =>
  world.as('ada').call(`PUT ${PROVIDER}`, { ...inPath(workspace), body })

async function caption(workspace = 'acme', variantCount = 1) {
  const body = { workspaceId: world.id(workspace), text: 'The band plays on Friday', variantCount }
  return world.as('ada').call('POST /api/ai/captions', { body })
}

async function run(id: string) {
  const { runner } = app.composition.services.ai
  const attempt = { signal: new AbortController().signal, last: true, log: app.node.resources.log }
  await runner.run(id, { ...attempt, progress: () => undefined })
  return (await world.as('ada').call('GET /api/ai/jobs/{id}', { path: { id } })).body.data
}

const settings = (body: object) =>
  world.as('ada').call('PATCH /api/workspaces/{workspaceId}/ai-settings', { ...inPath(), body })

test('a workspace uses its own provider, and no other workspace does', async () => {
  expect((await world.as('ada').call(`GET ${PROVIDER}`, inPath())).status).toBe(404)
  const saved = await save({ baseUrl: `${mock.url}/v1/`, key: KEY, models: ['own', 'denied'] })
  expect(saved.status, saved.text).toBe(200)
  expect(saved.body.data).toMatchObject({ baseUrl: `${mock.url}/v1`, hasKey: true, models: ['own', 'denied'] })
  expect((await world.as('ada').call(`GET ${PROVIDER}`, inPath())).body.data).toEqual(saved.body.data)

  const own = (await caption()).body.data
  expect(own).toMatchObject({ provider: 'workspace', model: 'own' })
  expect((await run(own._id)).result.captions).toMatchObject([{ content: 'By own.', origin: 'model', model: 'own' }])
  const other = (await caption('barn')).body.data
  expect(other).toMatchObject({ provider: 'openai_compatible', model: 'small' })
  await run(other._id)
  const keys = mock.getRequests().map(({ headers }) => headers?.['authorization'])
  expect(keys).toHaveLength(2)
  await settings({ model: 'small' })
  expect((await caption()).body).toMatchObject({
    code: 'ai_model_unknown',
    message: expect.stringContaining('own, denied'),
  })
  await settings({ model: null })
})

test('the key goes to the provider, and nowhere else', async () => {
  await settings({ model: 'denied' })
  const denied = await run((await caption()).body.data._id)
  expect(denied).toMatchObject({
    state: 'failed',
    creditsUsed: 0,
    error: expect.stringContaining('key of the workspace'),
  })
  await settings({ model: null })
  const read = await world.as('ada').call(`GET ${PROVIDER}`, inPath())
  const log = await world.as('ada').call('GET /api/workspaces/{workspaceId}/audit-log', inPath())
  expect(log.text).toContain('setAiProvider')
  for (const text of [read.text, log.text, JSON.stringify(denied), JSON.stringify(app.logs)])
    expect(text).not.toContain(KEY)
  const tables = await app.database.rows<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  for (const { name } of tables) {
    const rows = await app.database.rows(`select 1 from "${name}" t where t::text like $1`, [`%${KEY}%`])
    expect([name, rows.length]).toEqual([name, 0])
  }
})

test('a stored key stays with its address', async () => {
  const moved = { baseUrl: 'https://elsewhere.example/v1', models: ['own'] }
  expect((await save(moved)).body.errors).toMatchObject([{ path: '/body/key', code: 'required' }])
  const renamed = await save({ baseUrl: `${mock.url}/v1`, models: ['renamed'] })
  expect(renamed.body.data).toMatchObject({ hasKey: true, models: ['renamed'] })
  expect((await save({ ...moved, key: null })).body.data).toMatchObject({ hasKey: false })
  for (const baseUrl of ['ftp://a.example', 'https://user:secret@a.example/v1', 'https://a.example/v1?key=secret']) {
    expect([baseUrl, (await save({ ...moved, baseUrl, key: null })).status]).toEqual([baseUrl, 400])
  }
})

test('a job of a provider that was removed fails and costs nothing', async () => {
  const { _id } = (await caption()).body.data
  expect((await world.as('ada').call(`DELETE ${PROVIDER}`, inPath())).status).toBe(200)
  expect((await world.as('ada').call(`DELETE ${PROVIDER}`, inPath())).status).toBe(404)
  expect(await run(_id)).toMatchObject({
    state: 'failed',
    creditsUsed: 0,
    error: expect.stringContaining('not configured'),
  })
  expect((await caption()).body.data).toMatchObject({ provider: 'openai_compatible' })
})

test('50 requests at once do not exceed the limit of the workspace, and the 402 says what is left', async () => {
  const spending = async () =>
    (await world.as('ada').call('GET /api/workspaces/{workspaceId}/ai-spending', inPath())).body.data
  const before = await spending()
  expect(before).toMatchObject({ creditLimit: null, creditsAvailable: null })
  const creditLimit = before.creditsUsed + before.creditsReserved + 21
  await settings({ creditLimitPerMonth: creditLimit })
  expect(await spending()).toMatchObject({ creditLimit, creditsAvailable: 21 })
  const replies = await Promise.all(Array.from({ length: 50 }, () => caption('acme', 2)))
  const accepted = replies.filter(({ status }) => status === 202)
  expect(accepted).toHaveLength(10)
  const refused = replies.filter(({ status }) => status === 402)
  expect(refused.length).toBeGreaterThan(0)
  // The workspace's queue of changes is bounded too.
  for (const { status } of replies) expect([202, 402, 429, 503]).toContain(status)
  const details = { amount: 2, available: 1, creditLimit }
  for (const { body } of refused) expect(body).toMatchObject({ code: 'ai_limit_reached', details })
  expect(await spending()).toMatchObject({ creditsAvailable: 1, creditsReserved: before.creditsReserved + 20 })
  // Another workspace of the same owner is not limited.
  expect((await caption('barn')).status).toBe(202)
  // Reserved credits that were not used are available again.
  await run(accepted[0]?.body.data._id)
  expect(await spending()).toMatchObject({ creditsAvailable: 2 })
})
