import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, HOUR, ManualClock, MINUTE, SECOND } from '../../src/core/clock.ts'
import { listNotifications } from '../../src/domains/talk/notifications/operations.ts'
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhookDeliveries,
  replayWebhookEvents,
  updateWebhook,
} from '../../src/domains/talk/webhooks/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { waitFor } from '../support/wait.ts'
import { status, WebhookReceiver } from '../support/webhook-receiver.ts'
import { World } from '../support/world.ts'

/** What webhooks do over days, on a clock that the test advances. */

let app: App
let world: World
let receiver: WebhookReceiver
const clock = new ManualClock()

beforeAll(async () => {
  app = await startApp({ clock, jobTimes: QUICK, env: { ALLOW_PRIVATE_ADDRESSES: '1' } })
  world = new World(app)
  receiver = await new WebhookReceiver().start()
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  await world.member('acme', 'mia', { role: 'admin' })
})
afterAll(async () => {
  receiver?.close()
  await app?.stop()
})

interface DeliveryState {
  readonly _id: string
  readonly seq: number
  readonly status: string
  readonly attemptsCount: number
  readonly nextAttemptAt: string | null
}

async function hook(path: string, fields: object = {}, user = 'ada'): Promise<string> {
  const body = { workspaceId: world.id('acme'), url: receiver.url(path), events: ['folder.*'], ...fields }
  const reply = await world.as(user).call(createWebhook, { body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data._id
}

let folders = 0
async function emit(): Promise<void> {
  const body = { workspaceId: world.id('acme'), name: `folder ${(folders += 1)}` }
  expect((await world.as('ada').call('POST /api/assets/folders', { body })).status).toBe(201)
}

const webhook = async (id: string) => (await world.as('ada').call(getWebhook, { path: { id } })).body.data
const deliveriesOf = async (id: string): Promise<DeliveryState[]> =>
  (await world.as('ada').call(listWebhookDeliveries, { path: { id }, query: { limit: 100 } })).body.data

/** Waits for the deliveries of an endpoint until they are as the test expects. */
const deliveries = (id: string, isReached: (rows: DeliveryState[]) => boolean) =>
  waitFor(async () => {
    const rows = await deliveriesOf(id)
    return isReached(rows) ? rows : undefined
  })

test.each([true, false])('Retry-After holds everything back, ordered: %s', async (ordered) => {
  const path = `/wait-${ordered}`
  const id = await hook(path, { ordered })
  receiver.answer(path, status(503, { 'retry-after': '900' }))
  await emit()
  await deliveries(id, ([row]) => row?.attemptsCount === 1)
  const until = new Date(clock.now() + 15 * MINUTE).toISOString()
  expect((await webhook(id)).nextAttemptAt).toBe(until)
  expect((await deliveriesOf(id))[0]?.nextAttemptAt).toBe(until)
  // A second event wakes the endpoint, which is not asked before its time. A sweep does not ask it either.
  receiver.answer(path, status(204))
  await hook(`${path}-other`)
  await emit()
  await waitFor(() => receiver.at(`${path}-other`).length === 1)
  clock.advance(14 * MINUTE)
  await app.composition.services.webhooks.wakes.sweep(AbortSignal.timeout(60_000))
  await emit()
  await waitFor(() => receiver.at(`${path}-other`).length === 2)
  expect(receiver.at(path)).toHaveLength(1)
  clock.advance(MINUTE)
  await waitFor(() => receiver.at(path).length === 4)
  await deliveries(id, (rows) => rows.every((row) => row.status === 'delivered'))
})

test('after three days of failures a webhook is disabled, and its creator and the owners are told', async () => {
  const id = await hook('/down', {}, 'mia')
  await hook('/watch', { events: ['webhook.updated'] })
  receiver.answer('/down', status(500))
  const from = clock.now()
  await emit()
  // Held back by the first one: it has no delivery, and is found in the log later.
  await emit()
  for (let attempts = 1; ; attempts += 1) {
    const [row] = await deliveries(id, ([first]) => first?.attemptsCount === attempts)
    if (row?.nextAttemptAt == null) break
    expect((await webhook(id)).status).toBe('enabled')
    clock.advance(Date.parse(row.nextAttemptAt) - clock.now())
  }
  await waitFor(async () => (await webhook(id)).status === 'disabled')
  expect(clock.now() - from).toBeGreaterThanOrEqual(3 * DAY)
  expect(clock.now() - from).toBeLessThan(3 * DAY + 15 * HOUR)
  expect(await webhook(id)).toMatchObject({ disabledReason: 'failing', nextAttemptAt: null })
  expect(await deliveriesOf(id)).toMatchObject([{ status: 'failed', nextAttemptAt: null }])
  const sent = receiver.at('/down')
  expect(new Set(sent.map(({ body }) => body.id)).size).toBe(1)
  for (const name of ['ada', 'mia']) {
    const mail = await app.outbox.newest(`${name}@example.com`, /^A webhook was disabled$/)
    expect(mail.text).toContain('three days')
  }
  const { body } = await world.as('mia').call(listNotifications)
  expect(body.data[0]).toMatchObject({ type: 'webhook.disabled', resourceId: id })
  await waitFor(() => receiver.at('/watch').length === 1)
  expect(receiver.at('/watch')[0]?.body.data).toMatchObject({ webhookId: id, disabledReason: 'failing' })
  // Disabled, it gets nothing. Enabled again, it gets what is new, and by a replay what it has missed.
  receiver.answer('/down', status(204))
  await emit()
  const enabled = await world.as('mia').call(updateWebhook, { path: { id }, body: { status: 'enabled' } })
  expect(enabled.body.data).toMatchObject({ status: 'enabled', failingSince: null })
  await emit()
  await waitFor(() => receiver.at('/down').length === sent.length + 1)
  const first = sent[0]?.body.seq ?? 0
  const replayed = await world.as('mia').call(replayWebhookEvents, { path: { id }, body: { after: first - 1 } })
  expect(replayed.body.data).toMatchObject({ deliveriesCount: 4, hasMore: false })
  await waitFor(() => receiver.at('/down').length === sent.length + 5)
  const again = receiver.at('/down').slice(-4)
  expect(again[0]?.raw).toBe(sent[0]?.raw)
})

test('deliveries are kept for 30 days', async () => {
  const id = await hook('/kept')
  await emit()
  await deliveries(id, ([row]) => row?.status === 'delivered')
  clock.advance(2 * DAY)
  await emit()
  const [newer, older] = await deliveries(
    id,
    (rows) => rows.length === 2 && rows.every((row) => row.status === 'delivered'),
  )
  const prune = () => app.composition.services.webhooks.deliveries.prune(AbortSignal.timeout(60_000))
  clock.advance(28 * DAY - SECOND)
  await prune()
  expect((await deliveriesOf(id)).map(({ _id }) => _id)).toEqual([newer?._id, older?._id])
  clock.advance(2 * SECOND)
  await prune()
  expect((await deliveriesOf(id)).map(({ _id }) => _id)).toEqual([newer?._id])
  // The deliveries of a deleted webhook go too, at the same time.
  expect((await world.as('ada').call(deleteWebhook, { path: { id } })).status).toBe(200)
  clock.advance(2 * DAY)
  await prune()
  const left = await app.database.rows('select 1 from webhook_deliveries where webhook_id = $1', [id])
  expect(left).toEqual([])
})
