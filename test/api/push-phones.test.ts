import { afterAll, beforeAll, expect, test } from 'vitest'
import { listDevices, registerDevice, sendTestPush } from '../../src/domains/talk/notifications/push/operations.ts'
import { spreadNotification } from '../../src/domains/talk/notifications/jobs.ts'
import { ApnsService } from '../support/apns-service.ts'
import { startApp, type App } from '../support/app.ts'
import { FcmService } from '../support/fcm-service.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
let fcm: FcmService
let apns: ApnsService

beforeAll(async () => {
  ;[fcm, apns] = await Promise.all([new FcmService().start(), new ApnsService().start()])
  app = await startApp({ env: { FCM_SERVICE_ACCOUNT: fcm.serviceAccount, FCM_URL: fcm.url, ...apns.settings } })
  world = new World(app)
})
afterAll(async () => {
  await app?.stop()
  fcm?.close()
  apns?.close()
})

interface DeviceState {
  readonly name: string
  readonly error: string | null
  readonly lastDeliveredAt: string | null
}

const register = (user: string, body: object) => world.as(user).call(registerDevice, { body })
const devicesOf = async (user: string) => (await world.as(user).call(listDevices)).body.data as DeviceState[]
const testOf = async (user: string) => (await world.as(user).call(sendTestPush)).body.data.results

/** A user with push messages about billing, which are urgent. */
async function owner(name: string): Promise<string> {
  await world.user(name)
  await world
    .as(name)
    .call('PATCH /api/users/me/settings/notifications', { body: { kinds: { billing: { push: true } } } })
  return name
}

async function tell(user: string): Promise<void> {
  const data = { plan: 'Pro', reason: 'The card was declined.', day: '2026-11-24T00:00:00.000Z' }
  const job = { type: 'billing.chargeFailed', userIds: [world.id(user)], actorId: null, data }
  await app.composition.jobs.add(app.database, spreadNotification, job)
}

test('a notification reaches an Android app and an iOS app, with urgency, life and a name for its replacement', async () => {
  const ada = await owner('ada')
  const token = fcm.install('registration-of-ada:APA91b')
  const phone = apns.install()
  expect((await register(ada, { kind: 'fcm', name: 'Pixel', token })).status).toBe(201)
  // The same device, however its token is written.
  const first = await register(ada, { kind: 'apns', name: 'iPhone', token: phone })
  const again = await register(ada, { kind: 'apns', name: 'iPhone', token: phone.toUpperCase() })
  expect(again.body.data._id).toBe(first.body.data._id)
  await tell(ada)
  await waitFor(() => fcm.received.length === 1 && apns.received.length === 1)
  const title = 'Your payment for Crier failed'
  const [android] = fcm.received
  expect(android).toMatchObject({
    token,
    notification: { title },
    data: { type: 'billing.chargeFailed', kind: 'billing', unreadCount: '1' },
    android: { priority: 'HIGH', ttl: expect.stringMatching(/^8\d{4}s$/), collapse_key: expect.any(String) },
  })
  const [ios] = apns.received
  expect(ios).toMatchObject({
    token: phone,
    payload: { aps: { alert: { title }, badge: 1 }, type: 'billing.chargeFailed' },
    headers: { 'apns-priority': '10', 'apns-collapse-id': expect.stringMatching(/^[\w-]{32}$/) },
  })
  expect(ios?.headers['apns-id']).toBe(android?.data['notificationId'])
  expect(Number(ios?.headers['apns-expiration'])).toBeGreaterThan(Date.now() / 1_000 + 80_000)
  await waitFor(async () => (await devicesOf(ada)).every(({ lastDeliveredAt }) => lastDeliveredAt !== null))
})

test('a device whose token has ended is removed, and others stay', async () => {
  const bob = await owner('bob')
  const tokens = [fcm.install('app-1'), fcm.install('app-2'), fcm.install('app-3')]
  const phones = [apns.install(), apns.install()]
  for (const token of tokens) await register(bob, { kind: 'fcm', name: token, token })
  for (const token of [...phones, 'ab'.repeat(32)]) await register(bob, { kind: 'apns', name: token, token })
  fcm.uninstall('app-1')
  fcm.fail('app-2', { status: 403, errorCode: 'SENDER_ID_MISMATCH' })
  apns.uninstall(phones[0] ?? '')
  const results = (await testOf(bob)) as { delivered: boolean; error: string | null }[]
  expect(results.filter(({ delivered }) => delivered)).toHaveLength(2)
  for (const why of ['404 UNREGISTERED', '403 SENDER_ID_MISMATCH', '410 Unregistered', '400 BadDeviceToken']) {
    expect(results.map(({ error }) => error)).toContain(`The push service replied ${why}.`)
  }
  expect((await devicesOf(bob)).map(({ name }) => name)).toEqual([phones[1], 'app-3'])
})

test('a busy service gets the message again after the time that it has asked for', async () => {
  const eve = await owner('eve')
  const token = fcm.install('busy')
  const phone = apns.install()
  await register(eve, { kind: 'fcm', name: 'busy', token })
  await register(eve, { kind: 'apns', name: 'phone', token: phone })
  fcm.fail(token, { status: 429, errorCode: 'QUOTA_EXCEEDED', headers: { 'retry-after': '1' } })
  apns.fail(phone, { status: 503, reason: 'ServiceUnavailable', headers: { 'retry-after': '1' } })
  await tell(eve)
  await waitFor(
    () => fcm.received.some((one) => one.token === token) && apns.received.some((one) => one.token === phone),
  )
  await waitFor(async () => (await devicesOf(eve)).every(({ error }) => error === null))
})

test('many messages share an access token, a provider token and a connection, and lost ones are replaced', async () => {
  const mia = await owner('mia')
  await register(mia, { kind: 'fcm', token: fcm.install('of-mia') })
  await register(mia, { kind: 'apns', token: apns.install() })
  expect(await testOf(mia)).toMatchObject([{ delivered: true }, { delivered: true }])
  expect([fcm.issued, apns.connections, apns.providerTokens.size]).toEqual([1, 1, 1])
  fcm.revoke()
  apns.disconnect()
  // The first message finds out.
  await testOf(mia)
  expect(await testOf(mia)).toMatchObject([{ delivered: true }, { delivered: true }])
  expect([fcm.issued, apns.connections]).toEqual([2, 2])
})

test('says what is wrong with a device', async () => {
  const zoe = await owner('zoe')
  const at = async (body: object) => (await register(zoe, body)).body.errors
  expect(await at({ kind: 'fcm' })).toMatchObject([{ path: '/body/token', message: 'is required for the kind `fcm`' }])
  expect(await at({ kind: 'web', token: 'x' })).toMatchObject([{ path: '/body/subscription' }])
  expect(await at({ kind: 'apns', token: 'not hexadecimal' })).toMatchObject([{ path: '/body/token', code: 'format' }])
})
