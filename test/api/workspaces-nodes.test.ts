import { afterAll, beforeAll, expect, test } from 'vitest'
import { deleteWorkspace, getWorkspace, updateWorkspace } from '../../src/workspaces/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import type { Answer } from '../support/send.ts'
import { waitFor } from '../support/wait.ts'
import { Voice, World } from '../support/world.ts'

/** Two nodes on one database and one Redis. What is kept in memory lives 30 s; these tests do not wait that long. */

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
const overThere = (name: string) => new Voice(there, { apiKey: apiKeys.get(name) ?? '' })
const rename = (name: string): Promise<Answer> =>
  overThere(name).call(updateWorkspace, { ...at(), body: { name: 'acme' } })

test('a change of role acts on the other node', async () => {
  expect((await rename('edith')).status).toBe(200)
  await world.member('acme', 'edith', { role: 'editor' })
  await waitFor(async () => (await rename('edith')).status === 403, { timeoutMs: 3_000 })
})

test('open sockets of the other node hear that members have changed', async () => {
  const heard: (string | undefined)[] = []
  const stop = there.composition.services.memberships.onChange((workspaceId) => heard.push(workspaceId))
  here.composition.services.memberships.changed(world.id('acme'))
  await waitFor(() => heard.includes(world.id('acme')))
  stop()
})

test('a new plan is known on the other node', async () => {
  const limits = () => there.composition.services.plans.limitsOf(world.id('ada'))
  expect((await limits()).plan).toBe('free')
  await here.composition.services.plans.change(world.id('ada'), 'pro')
  await waitFor(async () => (await limits()).plan === 'pro', { timeoutMs: 3_000 })
})

test('a deleted workspace is gone on the other node', async () => {
  await world.workspace('brief', 'ada')
  expect((await overThere('ada').call(getWorkspace, at('brief'))).status).toBe(200)
  await world.as('ada').call(deleteWorkspace, { ...at('brief'), body: { name: 'brief' } })
  await waitFor(async () => (await overThere('ada').call(getWorkspace, at('brief'))).status === 404, {
    timeoutMs: 3_000,
  })
})

test('without Redis nothing is remembered, so that nothing old is believed; with it again nothing from before', async () => {
  const { coordination } = there.node.foundation
  expect((await rename('rob')).status).toBe(200)
  await redis.kill()
  await waitFor(() => !coordination.linked && !here.node.foundation.coordination.linked)
  await world.member('acme', 'rob', { role: 'client' })
  expect((await rename('rob')).status).toBe(403)
  await redis.restart()
  await waitFor(() => coordination.linked && here.node.foundation.coordination.linked)
  expect((await rename('rob')).status).toBe(403)
  await world.member('acme', 'rob', { role: 'admin' })
  await waitFor(async () => (await rename('rob')).status === 200, { timeoutMs: 3_000 })
})
