import { Ajv } from 'ajv'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhookDeliveries,
  listWebhooks,
  replayWebhookDelivery,
  replayWebhookEvents,
  testWebhook,
  updateWebhook,
} from '../../src/domains/talk/webhooks/operations.ts'
import { HOUR } from '../../src/core/clock.ts'
import { uuidv7 } from '../../src/tools/id.ts'
import { webhooks } from '../../src/domains/talk/webhooks/tables.ts'
import { startApp, type App } from '../support/app.ts'
import { waitFor } from '../support/wait.ts'
import { status, verify, WebhookReceiver, type Received } from '../support/webhook-receiver.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
let receiver: WebhookReceiver

beforeAll(async () => {
  app = await startApp({ env: { ALLOW_PRIVATE_ADDRESSES: '1' } })
  world = new World(app)
  receiver = await new WebhookReceiver().start()
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
})
afterAll(async () => {
  receiver?.close()
  await app?.stop()
})

let count = 0
const unique = (name: string) => `${name}-${(count += 1)}`

/** Creates an endpoint at the receiver. */
async function hook(path: string, fields: object = {}, user = 'ada') {
  const body = { workspaceId: world.id('acme'), url: receiver.url(path), events: ['folder.*'], ...fields }
  const reply = await world.as(user).call(createWebhook, { body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data as { _id: string; secret: string; version: number; lastSeq: number }
}

/** Does something that emits `folder.updated`. */
async function emit(): Promise<void> {
  const body = { workspaceId: world.id('acme'), name: unique('folder') }
  expect((await world.as('ada').call('POST /api/assets/folders', { body })).status).toBe(201)
}

/** Waits until an endpoint has got so many messages. */
async function arrived(path: string, many: number): Promise<Received[]> {
  await waitFor(() => receiver.at(path).length >= many, { what: `${many} messages at ${path}` })
  return receiver.at(path)
}

const deliveriesOf = async (id: string) =>
  (await world.as('ada').call(listWebhookDeliveries, { path: { id }, query: { limit: 100 } })).body.data

test('sends signed, versioned messages in the order of events', async () => {
  const { secret } = await hook('/ordered')
  expect(secret).toMatch(/^whsec_/)
  for (let made = 0; made < 12; made += 1) await emit()
  const messages = await arrived('/ordered', 12)
  for (const message of messages) expect(verify(message, secret)).toEqual(message.body)
  expect(() => verify(messages[0]!, 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0')).toThrow()
  const seqs = messages.map(({ body }) => body.seq)
  expect(seqs).toEqual([...seqs].sort((a, b) => a - b))
  const [first] = messages
  expect(first?.body).toMatchObject({ type: 'folder.updated', version: 1, workspaceId: world.id('acme') })
  expect(first?.body.id).toBe(first?.headers['webhook-id'])
  expect(first?.headers['content-type']).toBe('application/json')
})

test('sends only the events that were chosen', async () => {
  await hook('/chosen', { events: ['webhook.created', 'post.*'] })
  await hook('/everything', { events: ['*'] })
  await emit()
  await hook('/later')
  await waitFor(
    () =>
      receiver.at('/chosen').length > 0 &&
      receiver.at('/everything').some(({ body }) => body.type.startsWith('folder')),
  )
  await arrived('/chosen', 3)
  expect(new Set(receiver.at('/chosen').map(({ body }) => body.type))).toEqual(new Set(['webhook.created']))
})

test.each([
  [['post.exploded'], 'unknown_event'],
  [['nothing.*'], 'unknown_event'],
  [['presence.updated'], 'not_stored'],
])('refuses the events %j', async (events, code) => {
  const body = { workspaceId: world.id('acme'), url: receiver.url('/x'), events }
  const reply = await world.as('ada').call(createWebhook, { body })
  expect(reply).toMatchObject({ status: 400, body: { errors: [{ path: '/body/events/0', code }] } })
})

test.each(['ftp://example.com/', 'https://user:word@example.com/', 'nonsense'])('refuses the URL %s', async (url) => {
  const body = { workspaceId: world.id('acme'), url, events: ['*'] }
  const reply = await world.as('ada').call(createWebhook, { body })
  expect(reply).toMatchObject({ status: 400, body: { errors: [{ path: '/body/url', code: 'url_refused' }] } })
})

test('shows the secret once', async () => {
  const { _id: id, secret } = await hook('/secret')
  const shown = await world.as('ada').call(getWebhook, { path: { id } })
  const listed = await world.as('ada').call(listWebhooks, { query: { workspaceId: world.id('acme') } })
  expect(shown.body.data).toMatchObject({ _id: id, status: 'enabled', disabledReason: null, version: 1 })
  for (const text of [shown.text, listed.text]) expect(text).not.toContain(secret)
  const stored = await app.database.row<{ text: string }>('select w::text as text from webhooks w where id = $1', [id])
  expect(stored?.text).not.toContain(secret)
})

test('signs with both secrets while the previous one is valid', async () => {
  const { _id: id, secret } = await hook('/rotated')
  const changed = await world
    .as('ada')
    .call(updateWebhook, { path: { id }, body: { rotateSecret: true, keepSecretSeconds: 3_600 } })
  const { previousSecretExpiresAt, secret: next } = changed.body.data
  expect(next).not.toBe(secret)
  expect(Date.parse(previousSecretExpiresAt)).toBeGreaterThan(Date.now() + 3_000_000)
  await emit()
  const [message] = await arrived('/rotated', 1)
  verify(message!, secret)
  verify(message!, next)
  const at = await world
    .as('ada')
    .call(updateWebhook, { path: { id }, body: { rotateSecret: true, keepSecretSeconds: 0 } })
  await emit()
  const [, later] = await arrived('/rotated', 2)
  verify(later!, at.body.data.secret)
  expect(() => verify(later!, next)).toThrow()
})

test('changes a webhook only if nobody else has', async () => {
  const { _id: id, version } = await hook('/versions')
  const call = (ifMatch: string) =>
    world
      .as('ada')
      .call(updateWebhook, { path: { id }, body: { description: 'CRM' }, headers: { 'if-match': ifMatch } })
  expect((await call(`"${version}"`)).status).toBe(200)
  expect((await call(`"${version}"`)).status).toBe(412)
})

test('repeats what failed with the same id, and holds later events back', async () => {
  const { _id: id } = await hook('/failing')
  receiver.answer('/failing', status(500, { 'x-why': 'tired' }, 'not now'))
  await emit()
  const [first] = await arrived('/failing', 1)
  const [pending] = await waitFor(async () => {
    const rows = await deliveriesOf(id)
    return rows.length > 0 && rows
  })
  expect(pending).toMatchObject({
    status: 'pending',
    attemptsCount: 1,
    error: 'The endpoint replied 500.',
    response: { httpStatus: 500, body: 'not now', headers: { 'x-why': 'tired' } },
  })
  expect(JSON.parse(pending.request.body)).toEqual(first?.body)
  await emit()
  receiver.answer('/failing', status(204))
  const [, again, next] = await arrived('/failing', 3)
  expect([again?.body.id, again?.body.seq]).toEqual([first?.body.id, first?.body.seq])
  expect(next?.body.seq).toBeGreaterThan(again?.body.seq ?? Infinity)
  await waitFor(async () => (await deliveriesOf(id)).every((row: { status: string }) => row.status === 'delivered'))
})

test('a retry whose job has ended without it is sent without a new event', async () => {
  const { _id: id } = await hook('/swept')
  await emit()
  await arrived('/swept', 1)
  await waitFor(async () => (await deliveriesOf(id))[0]?.status === 'delivered')
  const due = `update webhook_deliveries set status = 'pending', delivered_at = null, next_attempt_at = $2 where webhook_id = $1`
  await app.database.run(due, [id, new Date(0)])
  await app.composition.services.webhooks.wakes.sweep(AbortSignal.timeout(60_000))
  const [first, second] = await arrived('/swept', 2)
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
})

test('an unordered endpoint gets later events although one fails', async () => {
  const { _id: id } = await hook('/unordered', { ordered: false })
  let refused: string | undefined
  receiver.answer('/unordered', (reply, { body }) => {
    refused ??= body.id
    void reply.writeHead(body.id === refused ? 503 : 204).end()
  })
  await emit()
  await arrived('/unordered', 1)
  await emit()
  await waitFor(() => receiver.at('/unordered').some(({ body }) => body.id !== refused))
  const states = await waitFor(async () => {
    const found = (await deliveriesOf(id)).map((row: { status: string }) => row.status)
    return found.length >= 2 && found
  })
  expect(states).toContain('pending')
  expect(states).toContain('delivered')
})

test('does not follow redirects, and cuts long replies', async () => {
  const { _id: id } = await hook('/redirects')
  receiver.answer('/redirects', status(302, { location: receiver.url('/secret-place') }, 'x'.repeat(20_000)))
  await emit()
  const [row] = await waitFor(async () => {
    const rows = await deliveriesOf(id)
    return rows.length > 0 && rows
  })
  expect(row).toMatchObject({ status: 'pending', response: { httpStatus: 302, isCut: true } })
  expect(row.response.body).toHaveLength(10_000)
  expect(receiver.at('/secret-place')).toEqual([])
})

test('a change takes effect with the next event, although the node still serves the endpoint', async () => {
  const { _id: id } = await hook('/moved')
  await emit()
  await arrived('/moved', 1)
  const update = (body: object) => world.as('ada').call(updateWebhook, { path: { id }, body })
  expect((await update({ url: receiver.url('/moved-here') })).status).toBe(200)
  await emit()
  await arrived('/moved-here', 1)
  expect((await update({ status: 'disabled' })).status).toBe(200)
  await emit()
  expect((await update({ status: 'enabled' })).status).toBe(200)
  await emit()
  const [first, second] = await arrived('/moved-here', 2)
  // What was emitted while it was disabled is passed over: that event, and the two changes.
  expect(second?.body.seq).toBeGreaterThanOrEqual((first?.body.seq ?? Infinity) + 4)
  expect(receiver.at('/moved')).toHaveLength(1)
})

test('counts a reply that is cut off as a failure', async () => {
  const { _id: id } = await hook('/cut')
  receiver.answer('/cut', (reply) => void reply.socket?.destroy())
  await emit()
  const [row] = await waitFor(async () => {
    const rows = await deliveriesOf(id)
    return rows.length > 0 && rows
  })
  expect(row).toMatchObject({ status: 'pending', response: null })
  expect(row.error).toMatch(/socket hang up|ECONNRESET/)
})

test('a slow endpoint delays no other one, and gets everything in the end', async () => {
  const { _id: id } = await hook('/slow')
  const { _id: other } = await hook('/slow-too', { ordered: false })
  await hook('/quick')
  const held: (() => void)[] = []
  for (const path of ['/slow', '/slow-too']) {
    receiver.answer(path, (reply) => void held.push(() => void reply.writeHead(204).end()))
  }
  for (let made = 0; made < 10; made += 1) await emit()
  // All of this arrives while the slow endpoints have not answered their first message.
  await arrived('/quick', 10)
  expect(receiver.at('/slow')).toHaveLength(1)
  expect((await deliveriesOf(id)).length + (await deliveriesOf(other)).length).toBe(0)
  for (const path of ['/slow', '/slow-too']) receiver.answer(path, status(204))
  for (const release of held) release()
  const seqs = receiver.seqsAt('/quick')
  expect((await arrived('/slow', 10)).map(({ body }) => body.seq)).toEqual(seqs)
  expect((await arrived('/slow-too', 10)).map(({ body }) => body.seq).toSorted((a, b) => a - b)).toEqual(seqs)
})

test('410 Gone disables a webhook, and its owners get a mail', async () => {
  const { _id: id } = await hook('/gone')
  receiver.answer('/gone', status(410))
  await emit()
  await waitFor(async () => (await world.as('ada').call(getWebhook, { path: { id } })).body.data.status === 'disabled')
  const shown = await world.as('ada').call(getWebhook, { path: { id } })
  expect(shown.body.data).toMatchObject({ status: 'disabled', disabledReason: 'gone' })
  await waitFor(async () =>
    (await app.outbox.mails()).some(
      ({ subject, text }) => subject === 'A webhook was disabled' && text?.includes('410'),
    ),
  )
  await emit()
  receiver.answer('/gone', status(204))
  const enabled = await world.as('ada').call(updateWebhook, { path: { id }, body: { status: 'enabled' } })
  expect(enabled.body.data).toMatchObject({ status: 'enabled', disabledReason: null })
  await emit()
  const messages = await arrived('/gone', 2)
  expect(messages[1]?.body.seq).toBeGreaterThan((messages[0]?.body.seq ?? 0) + 2)
})

test('replays a delivery and a span, with the same ids', async () => {
  const { _id: id, lastSeq } = await hook('/replayed')
  await emit()
  await emit()
  const [first, second] = await arrived('/replayed', 2)
  const rows = await waitFor(async () => {
    const found = await deliveriesOf(id)
    return found.length === 2 && found
  })
  const again = await world.as('ada').call(replayWebhookDelivery, { path: { id, deliveryId: rows[1]._id } })
  expect(again).toMatchObject({ status: 202, body: { data: { kind: 'replay', status: 'pending' } } })
  const [, , third] = await arrived('/replayed', 3)
  expect(third?.raw).toBe(first?.raw)
  const span = await world
    .as('ada')
    .call(replayWebhookEvents, { path: { id }, body: { after: lastSeq, until: second?.body.seq } })
  expect(span).toMatchObject({ status: 202, body: { data: { deliveriesCount: 2, hasMore: false } } })
  const messages = await arrived('/replayed', 5)
  expect(messages.slice(3).map(({ raw }) => raw)).toEqual([first?.raw, second?.raw])
  await world.as('ada').call(updateWebhook, { path: { id }, body: { status: 'disabled' } })
  expect((await world.as('ada').call(replayWebhookEvents, { path: { id }, body: { after: 0 } })).status).toBe(409)
})

test('sends a test once, even if the webhook is disabled', async () => {
  const { _id: id, secret } = await hook('/tested', { events: ['post.*'] })
  await world.as('ada').call(updateWebhook, { path: { id }, body: { status: 'disabled' } })
  receiver.answer('/tested', status(500))
  expect((await world.as('ada').call(testWebhook, { path: { id } })).status).toBe(202)
  const [message] = await arrived('/tested', 1)
  expect(verify(message!, secret)).toMatchObject({ type: 'webhook.test', seq: 0, data: { webhookId: id } })
  await waitFor(async () => (await deliveriesOf(id))[0]?.status === 'failed')
})

test('sends what its reader may read, and stops when the reader leaves', async () => {
  await world.member('acme', 'mia', { scopes: ['workspace:manage', 'posts:read'] })
  const { _id: id } = await hook('/mia', { events: ['*'] }, 'mia')
  await emit()
  await hook('/after-mia', { events: ['*'] })
  await waitFor(() =>
    receiver.at('/mia').some(({ body }) => body.type === 'webhook.created' && body.data.url.endsWith('/after-mia')),
  )
  expect(receiver.at('/mia').filter(({ body }) => body.type.startsWith('folder'))).toEqual([])
  const taken = await world.as('ada').call(updateWebhook, { path: { id }, body: { events: ['*'] } })
  expect(taken.body.data.readerId).toBe(world.id('ada'))
  await emit()
  await waitFor(() => receiver.at('/mia').some(({ body }) => body.type.startsWith('folder')))
  const own = await hook('/mia-too', { events: ['*'] }, 'mia')
  const members = await world.as('ada').call('DELETE /api/team/{workspaceId}/members/{userId}', {
    path: { workspaceId: world.id('acme'), userId: world.id('mia') },
  })
  expect(members.status, members.text).toBe(200)
  await waitFor(
    async () =>
      (await world.as('ada').call(getWebhook, { path: { id: own._id } })).body.data.disabledReason === 'reader_left',
  )
})

test('sends nothing to a reader who has left, even if the node does not know yet', async () => {
  await world.member('acme', 'moe', { scopes: ['workspace:manage', 'media:read'] })
  const { _id: id } = await hook('/moe', { events: ['folder.*'] }, 'moe')
  await emit()
  await waitFor(() => receiver.at('/moe').length > 0)
  const before = receiver.at('/moe').length
  // Without the notice that makes nodes drop the cached member.
  await app.database.run('delete from workspace_members where user_id = $1', [world.id('moe')])
  await emit()
  await waitFor(
    async () => (await world.as('ada').call(getWebhook, { path: { id } })).body.data.disabledReason === 'reader_left',
  )
  expect(receiver.at('/moe')).toHaveLength(before)
})

test('gets other events at once, even if another node sends for the webhook as it was', async () => {
  const { _id: id } = await hook('/reselected', { events: ['webhook.*'] })
  const other = uuidv7(Date.now())
  const { database } = app
  const holder = async () => (await webhooks.first(database, { id }))?.leaseHolder
  await webhooks.update(database, { id }, { leaseHolder: other, leaseUntil: new Date(Date.now() + HOUR) })
  for (const change of [{ description: 'The same events' }, { events: ['webhook.*'] }, { rotateSecret: true }]) {
    await world.as('ada').call(updateWebhook, { path: { id }, body: change })
    expect(await holder()).toBe(other)
  }
  await world.as('ada').call(updateWebhook, { path: { id }, body: { events: ['folder.*'] } })
  expect(await holder()).not.toBe(other)
  await emit()
  await waitFor(() => receiver.at('/reselected').some(({ body }) => body.type.startsWith('folder')))
})

test('hides the body of events that a manager cannot read', async () => {
  const { _id: id } = await hook('/hidden')
  await emit()
  await waitFor(async () => (await deliveriesOf(id)).length > 0)
  await world.member('acme', 'max', { scopes: ['workspace:manage'] })
  const shown = await world.as('max').call(listWebhookDeliveries, { path: { id } })
  expect(shown.body.data[0].request.body).toBeNull()
  expect((await deliveriesOf(id))[0].request.body).toContain('folder.updated')
})

test('a deleted webhook gets nothing more', async () => {
  const { _id: id, version } = await hook('/deleted')
  const headers = { 'if-match': `"${version + 1}"` }
  expect(await world.as('ada').call(deleteWebhook, { path: { id }, headers })).toMatchObject({
    status: 412,
    body: { code: 'precondition_failed' },
  })
  expect((await world.as('ada').call(deleteWebhook, { path: { id } })).status).toBe(200)
  expect((await world.as('ada').call(getWebhook, { path: { id } })).status).toBe(404)
  await hook('/last')
  await emit()
  await arrived('/last', 1)
  expect(receiver.at('/deleted')).toEqual([])
})

test('the plan limits the webhooks of a workspace', async () => {
  await world.user('fred', { plan: 'free' })
  const workspaceId = await world.workspace('small', 'fred')
  const make = () =>
    world.as('fred').call(createWebhook, { body: { workspaceId, url: receiver.url('/fred'), events: ['*'] } })
  for (let made = 0; made < 5; made += 1) expect((await make()).status).toBe(201)
  const refused = await make()
  expect(refused).toMatchObject({ status: 402, body: { code: 'plan_limit_reached' } })
  expect(refused.body.message).toContain('The free plan allows 5 webhooks in a workspace; there are 5.')
})

test('every message that was sent is as the OpenAPI document describes it', async () => {
  const { body: document } = await world.anonymous().call('GET /api/openapi.json')
  const ajv = new Ajv({ strict: false, validateFormats: false, meta: false, validateSchema: false })
  ajv.addSchema(document, 'api')
  const types = new Set(receiver.received.map(({ body }) => body.type))
  expect(types.size).toBeGreaterThan(3)
  for (const type of types) {
    const path = `api#/webhooks/${type}/post/requestBody/content/application~1json/schema`
    const validate = ajv.getSchema(path)
    for (const { body } of receiver.received.filter((message) => message.body.type === type)) {
      expect([type, validate?.(body), validate?.errors]).toEqual([type, true, null])
    }
  }
})
