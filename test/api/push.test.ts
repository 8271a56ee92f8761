import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  listDevices,
  registerDevice,
  sendTestPush,
  unregisterDevice,
} from '../../src/domains/talk/notifications/push/operations.ts'
import { spreadNotification } from '../../src/domains/talk/notifications/jobs.ts'
import { startApp, type App } from '../support/app.ts'
import { login, signIn } from '../support/people.ts'
import { PushService } from '../support/push-service.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
let service: PushService

beforeAll(async () => {
  app = await startApp({ env: { ALLOW_PRIVATE_ADDRESSES: '1' } })
  world = new World(app)
  service = await new PushService().start()
  for (const name of ['ada', 'bob', 'eve', 'mia']) await world.user(name, { plan: 'business' })
  await world.workspace('acme', 'ada')
  service.applicationServerKey = (await world.as('ada').call(listDevices)).body.applicationServerKey
})
afterAll(async () => {
  service?.close()
  await app?.stop()
})

const register = (user: string, name: string) =>
  world.as(user).call(registerDevice, { body: { kind: 'web', name, subscription: service.subscribe(name) } })
const devicesOf = async (user: string) => (await world.as(user).call(listDevices)).body.data as { name: string }[]

async function tell(user: string): Promise<void> {
  const data = { plan: 'Pro', reason: 'The card was declined.', day: '2026-11-24T00:00:00.000Z' }
  const job = { type: 'billing.chargeFailed', userIds: [world.id(user)], actorId: null, data }
  await app.composition.jobs.add(app.database, spreadNotification, job)
}

const wantPush = (user: string) =>
  world.as(user).call('PATCH /api/users/me/settings/notifications', { body: { kinds: { billing: { push: true } } } })

test('a notification arrives encrypted, and only its browser can read it', async () => {
  expect(await register('bob', 'laptop')).toMatchObject({
    status: 201,
    body: { data: { kind: 'web', name: 'laptop' } },
  })
  await wantPush('bob')
  await tell('bob')
  await waitFor(() => service.to('laptop').length === 1, { what: 'a push message' })
  const [received] = service.to('laptop')
  expect(received?.message).toMatchObject({
    type: 'billing.chargeFailed',
    title: 'Your payment for Crier failed',
    unreadCount: 1,
  })
  expect(received?.headers).toMatchObject({
    urgency: 'high',
    ttl: '86400',
    topic: expect.stringMatching(/^[\w-]{32}$/),
  })
  expect(service.refused).toEqual([])
  await waitFor(async () => (await world.as('bob').call(listDevices)).body.data[0].lastDeliveredAt !== null)
})

test('a subscription that has ended is removed, and another attempt follows a failure of the service', async () => {
  await register('eve', 'old-phone')
  await register('eve', 'busy')
  await wantPush('eve')
  service.answer('old-phone', 410)
  service.answer('busy', 503)
  await tell('eve')
  await waitFor(async () => (await devicesOf('eve')).map(({ name }) => name).join() === 'busy')
  await waitFor(async () => /503/.test((await world.as('eve').call(listDevices)).body.data[0].error ?? ''))
  service.answer('busy', 201)
  await waitFor(() => service.to('busy').length === 1)
})

test('the test says for each device whether it was delivered', async () => {
  await register('mia', 'tablet')
  await register('mia', 'broken')
  service.answer('broken', 403)
  const { body } = await world.as('mia').call(sendTestPush)
  expect(body.data.results).toEqual([
    expect.objectContaining({ delivered: false, error: 'The push service replied 403.' }),
    expect.objectContaining({ delivered: true, error: null }),
  ])
  expect(service.to('tablet')[0]?.message).toMatchObject({ type: 'test' })
})

test('a device belongs to who registered it last, and only they can unregister it', async () => {
  const subscription = service.subscribe('shared')
  const body = { kind: 'web', name: 'shared', subscription }
  const first = await world.as('ada').call(registerDevice, { body })
  const again = await world.as('ada').call(registerDevice, { body })
  expect(again.body.data._id).toBe(first.body.data._id)
  await world.as('mia').call(registerDevice, { body })
  expect((await devicesOf('ada')).map(({ name }) => name)).toEqual([])
  const { _id: id } = first.body.data
  expect((await world.as('ada').call(unregisterDevice, { path: { id } })).status).toBe(404)
  expect((await world.as('mia').call(unregisterDevice, { path: { id } })).status).toBe(200)
  expect((await world.as('mia').call(unregisterDevice, { path: { id } })).status).toBe(404)
})

test('a device gets no messages after a sign-out on it, and devices of other sessions and API keys stay', async () => {
  const zoe = await signIn(app)
  const other = (await login(app, zoe.email, zoe.password)).body.data
  const add = (name: string, credential: object) =>
    app.send('POST /api/users/me/devices', {
      ...credential,
      body: { kind: 'web', name, subscription: service.subscribe(name) },
    })
  await add('signed-out', { token: zoe.accessToken })
  await add('still-in', { token: other.accessToken })
  await add('by-key', { apiKey: zoe.apiKey })
  await app.send('PATCH /api/users/me/settings/notifications', {
    apiKey: zoe.apiKey,
    body: { kinds: { billing: { push: true } } },
  })
  await app.send('POST /api/auth/logout', { token: zoe.accessToken })
  const data = { plan: 'Pro', reason: 'The card was declined.', day: '2026-11-24T00:00:00.000Z' }
  const job = { type: 'billing.chargeFailed', userIds: [zoe.id], actorId: null, data }
  await app.composition.jobs.add(app.database, spreadNotification, job)
  await waitFor(() => service.to('still-in').length === 1 && service.to('by-key').length === 1)
  await waitFor(
    async () => (await app.database.rows(`select from outbox where name like 'notifications.%'`)).length === 0,
  )
  const { body } = await app.send('GET /api/users/me/devices', { apiKey: zoe.apiKey })
  expect(body.data.map(({ name }: { name: string }) => name)).toEqual(['by-key', 'still-in'])
  expect(service.to('signed-out')).toEqual([])
})
