import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, HOUR, ManualClock } from '../../src/core/clock.ts'
import { spreadNotification } from '../../src/domains/talk/notifications/jobs.ts'
import {
  getUnreadCount,
  listNotifications,
  markAllNotificationsRead,
  markNotificationRead,
} from '../../src/domains/talk/notifications/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
const clock = new ManualClock(Date.parse('2026-11-30T10:20:00Z'))
const sockets = new Sockets(() => app)

beforeAll(async () => {
  app = await startApp({ clock, jobTimes: QUICK })
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
})
afterAll(async () => {
  sockets.end()
  await app?.stop()
})

let count = 0
/** A member of the workspace without notifications so far. */
async function reader(settings: object = {}): Promise<string> {
  const name = `reader-${(count += 1)}`
  await world.member('acme', name, { role: 'editor' })
  await change(name, { ...settings })
  return name
}

const change = (name: string, body: object) =>
  world.as(name).call('PATCH /api/users/me/settings/notifications', { body })

interface Told {
  readonly type?: string
  readonly by?: string
  readonly postId?: string
  readonly comment?: string
}

const POST = '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ed1'

/** Adds the job that an event of the workspace adds. */
async function tell(names: readonly string[], told: Told = {}): Promise<void> {
  const { by = 'ada', comment = 'Shall we?', postId = POST, type = 'comment.added' } = told
  const data = { postId, post: 'Launch day', comment, hasPost: 'yes' }
  const job = { type, userIds: names.map((name) => world.id(name)), actorId: world.id(by), data }
  await app.composition.jobs.add(app.database, spreadNotification, job, { workspaceId: world.id('acme') })
}

const inbox = async (name: string, query: Record<string, unknown> = {}) =>
  (await world.as(name).call(listNotifications, { query })).body as {
    data: { _id: string; title: string; text: string; count: number; readAt: string | null }[]
    unreadCount: number
    version: number
    pagination: { nextCursor: string | null }
  }
const unread = async (name: string) => (await world.as(name).call(getUnreadCount)).body.data
const whenUnread = (name: string, many: number) =>
  waitFor(async () => (await unread(name)).unreadCount === many, { what: `${many} unread of ${name}` })
const mailsTo = async (name: string, subject: RegExp) =>
  (await app.outbox.mails(`${name}@example.com`)).filter((mail) => subject.test(mail.subject ?? ''))

test('groups similar events until they are read, and tells the sockets of the user', async () => {
  const bob = await reader()
  await world.member('acme', 'grace')
  const { events } = await sockets.connect(world.key(bob))
  await tell([bob], { by: 'ada', comment: 'First' })
  await whenUnread(bob, 1)
  await tell([bob], { by: 'grace', comment: 'Second' })
  await waitFor(async () => (await inbox(bob)).data[0]?.count === 2)
  const [grouped] = (await inbox(bob)).data
  expect(grouped).toMatchObject({
    type: 'comment.added',
    kind: 'comment',
    title: 'grace and ada commented on “Launch day”',
    text: 'Second',
    resourceKind: 'post',
    resourceId: POST,
    actors: [{ _id: world.id('grace') }, { _id: world.id('ada') }],
  })
  await waitFor(() => events.filter(({ name }) => name.startsWith('notification.')).length === 2)
  const told = events.filter(({ name }) => name.startsWith('notification.'))
  expect(told.map(({ name }) => name)).toEqual(['notification.created', 'notification.updated'])
  expect(told[1]?.data).toMatchObject({ unreadCount: 1, notification: { _id: grouped?._id, count: 2 } })
  const read = await world.as(bob).call(markNotificationRead, { path: { id: grouped?._id ?? '' } })
  expect(read.body.data.unreadCount).toBe(0)
  await waitFor(() => events.some(({ data, name }) => name === 'notification.read' && data.unreadCount === 0))
  // The second click.
  const again = await world.as(bob).call(markNotificationRead, { path: { id: grouped?._id ?? '' } })
  expect(again.body.data).toEqual(read.body.data)
  await tell([bob], { by: 'ada' })
  await whenUnread(bob, 1)
  expect((await inbox(bob)).data.map((one) => one.count)).toEqual([1, 2])
})

test('nobody sees the notifications of others, and keys with limits get no events of the account', async () => {
  const [bob, eve] = [await reader(), await reader()]
  const key = await world
    .as(bob)
    .call('POST /api/users/me/api-keys', { body: { name: 'limited', scopes: ['team:read'] } })
  expect(key.status, key.text).toBe(201)
  const limited = await sockets.connect(key.body.data.apiKey)
  const other = await sockets.connect(world.key(eve))
  const own = await sockets.connect(world.key(bob))
  await tell([bob])
  await waitFor(() => own.events.some(({ name }) => name === 'notification.created'))
  const { _id: id = '' } = (await inbox(bob)).data[0] ?? {}
  expect((await world.as(eve).call(markNotificationRead, { path: { id } })).status).toBe(404)
  expect(await unread(eve)).toMatchObject({ unreadCount: 0 })
  for (const { events } of [limited, other]) expect(events.filter(({ name }) => name.startsWith('notif'))).toEqual([])
})

test('who cannot see it, has done it, or does not want it is not told', async () => {
  const bob = await reader({ kinds: { comment: { inApp: false } } })
  const last = await reader()
  await world.member('acme', 'outsider', { scopes: ['streams:read'] })
  await tell([bob, 'outsider', last])
  await whenUnread(last, 1)
  expect((await unread(bob)).unreadCount).toBe(0)
  expect((await unread('outsider')).unreadCount).toBe(0)
})

test('lists by kind and state in pages, and marks all as read up to what the client has seen', async () => {
  const bob = await reader()
  for (const postId of [1, 2, 3].map((n) => POST.slice(0, -1) + n)) {
    await tell([bob], { postId })
    await whenUnread(bob, Number(postId.at(-1)))
    clock.advance(1_000)
  }
  const first = await inbox(bob, { limit: 2 })
  expect(first).toMatchObject({ unreadCount: 3, data: [{}, {}] })
  const rest = await inbox(bob, { limit: 2, cursor: first.pagination.nextCursor })
  expect(rest.data).toHaveLength(1)
  const upTo = (first.data[1] as unknown as { updatedAt: string }).updatedAt
  const read = await world.as(bob).call(markAllNotificationsRead, { body: { upTo } })
  expect(read.body.data.unreadCount).toBe(1)
  expect((await inbox(bob, { status: 'unread' })).data.map(({ _id }) => _id)).toEqual([first.data[0]?._id])
  expect((await inbox(bob, { status: 'read' })).data).toHaveLength(2)
  expect((await inbox(bob, { kind: 'mention' })).data).toEqual([])
  expect((await world.as(bob).call(markAllNotificationsRead)).body.data.unreadCount).toBe(0)
})

test('the unread count is exact however many change it at once', async () => {
  const bob = await reader()
  const { events } = await sockets.connect(world.key(bob))
  const posts = Array.from({ length: 24 }, (_, n) => `01939e5c-7a10-7c3e-8f21-3c5a9b2d4${String(n).padStart(3, '0')}`)
  const work = posts.map(async (postId, n) => {
    await tell([bob], { postId })
    if (n % 4 === 1) await world.as(bob).call(markAllNotificationsRead)
    if (n % 4 !== 3) return
    for (const { _id: id } of (await inbox(bob, { status: 'unread' })).data.slice(0, 2)) {
      await world.as(bob).call(markNotificationRead, { path: { id } })
    }
  })
  await Promise.all(work)
  await waitFor(async () => (await inbox(bob, { limit: 100 })).data.length === posts.length)
  const { data, unreadCount, version } = await inbox(bob, { limit: 100 })
  expect(unreadCount).toBe(data.filter(({ readAt }) => readAt === null).length)
  // The event with the highest version has the final count.
  const last = () =>
    events
      .filter(({ name }) => name.startsWith('notification.'))
      .sort((a, b) => a.data.version - b.data.version)
      .at(-1)
  await waitFor(() => last()?.data.version === version)
  expect(last()?.data.unreadCount).toBe(unreadCount)
})

test('a mail is sent once for a group, again after an hour, and not for what was read meanwhile', async () => {
  const bob = await reader({ kinds: { comment: { email: true } } })
  await tell([bob])
  const mail = await app.outbox.newest(`${bob}@example.com`, /commented/)
  expect(mail.text).toContain('Shall we?')
  expect(mail.text).toContain('The workspace is “acme”')
  await tell([bob], { comment: 'Another' })
  await waitFor(async () => (await inbox(bob)).data[0]?.count === 2)
  clock.advance(HOUR + 1)
  await waitFor(async () => (await mailsTo(bob, /commented/)).length === 2)
  await tell([bob], { comment: 'Read before its mail' })
  await waitFor(async () => (await inbox(bob)).data[0]?.count === 3)
  await world.as(bob).call(markAllNotificationsRead)
  await tell([bob], { comment: 'New', postId: POST.replace(/1$/, '9') })
  await waitFor(async () => (await mailsTo(bob, /commented/)).length === 3)
  clock.advance(HOUR + 1)
  await waitFor(
    async () =>
      (await app.database.rows('select 1 from notification_mails where user_id = $1', [world.id(bob)])).length === 0,
  )
  expect((await mailsTo(bob, /commented/)).map(({ text }) => text).join('\n')).not.toContain('Read before')
})

test('a digest is one mail in the language of the reader, and quiet hours hold it back', async () => {
  const bob = await reader({ kinds: { comment: { email: true } }, digest: 'hourly' })
  await world.as(bob).call('PATCH /api/users/me/settings/ui', { body: { language: 'de-AT' } })
  for (const n of [1, 2]) {
    await tell([bob], { postId: POST.slice(0, -1) + n, comment: `Nummer ${n}` })
    await whenUnread(bob, n)
  }
  expect(await mailsTo(bob, /Benachrichtigungen/)).toEqual([])
  clock.advance(HOUR)
  const mail = await app.outbox.newest(`${bob}@example.com`, /^2 Benachrichtigungen von Crier$/)
  for (const text of ['ada hat „Launch day“ kommentiert', 'Nummer 1', 'Nummer 2']) expect(mail.text).toContain(text)
  await change(bob, { digest: 'immediate', quietHours: { enabled: true, start: '00:00', end: '23:59' } })
  await tell([bob], { postId: POST.slice(0, -1) + 7, comment: 'Quiet' })
  await whenUnread(bob, 3)
  expect(await mailsTo(bob, /kommentiert/)).toEqual([])
  clock.advance(DAY)
  await app.outbox.newest(`${bob}@example.com`, /kommentiert/)
})

test('one click in a mail ends mails of its kind, without a login, and opening the link does not', async () => {
  const bob = await reader({ kinds: { comment: { email: true } } })
  await tell([bob])
  const mail = await app.outbox.newest(`${bob}@example.com`, /commented/)
  const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value ?? ''
  expect(header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
  const [, link = ''] = /^<(.+)>$/.exec(header('list-unsubscribe')) ?? []
  expect(mail.text).toContain(link)
  expect(mail.html).toContain('prefers-color-scheme: dark')
  const url = app.url + new URL(link).pathname
  const wanted = async () =>
    (await world.as(bob).call('GET /api/users/me/settings')).body.data.notifications.kinds.comment.email as boolean
  await world.as(bob).call('PATCH /api/users/me/settings/ui', { body: { theme: 'dark', density: 'compact' } })
  const opened = await (await fetch(url)).text()
  expect(opened).toContain('No more mails about comments')
  expect(opened).toContain('<html lang="en" data-theme="dark" data-density="compact">')
  expect(await wanted()).toBe(true)
  const form = new FormData()
  form.set('List-Unsubscribe', 'One-Click')
  for (const body of [form, new URLSearchParams({ 'List-Unsubscribe': 'One-Click' })]) {
    expect((await fetch(url, { method: 'POST', body })).status).toBe(200)
    expect(await wanted()).toBe(false)
  }
  expect((await fetch(`${url.slice(0, -2)}xx`, { method: 'POST' })).status).toBe(404)
})

test('push messages go to no private address, and only keys that can be used are accepted', async () => {
  const bob = await reader()
  const p256dh = 'BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM'
  const register = (keys: object) =>
    world.as(bob).call('POST /api/users/me/devices', {
      body: { kind: 'web', subscription: { endpoint: 'https://10.0.0.1/push', keys } },
    })
  const auth = 'tBHItJI5svbpez7KI4CCXg'
  const refused = await register({ p256dh: `B${'A'.repeat(86)}`, auth })
  expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: '/body/subscription/keys/p256dh' }] } })
  const phone = await world.as(bob).call('POST /api/users/me/devices', { body: { kind: 'fcm', token: 'x' } })
  expect(phone).toMatchObject({ status: 400, body: { errors: [{ path: '/body/kind', code: 'not_configured' }] } })
  expect((await register({ p256dh, auth })).status).toBe(201)
  const sent = await world.as(bob).call('POST /api/users/me/devices/test')
  expect(sent.body.data.results).toMatchObject([
    { delivered: false, error: expect.stringMatching(/private|not allowed|refus/i) },
  ])
})

test('notifications are kept for 90 days, and the box survives the end of a workspace', async () => {
  const bob = await reader()
  await tell([bob])
  await whenUnread(bob, 1)
  clock.advance(91 * DAY)
  await app.composition.services.notifications.inbox.prune(new AbortController().signal)
  expect(await inbox(bob)).toMatchObject({ data: [], unreadCount: 0 })
})

test('what a client reports as visible is not notified, while its user is not away', async () => {
  const [bob, eve] = [await reader(), await reader()]
  const { socket } = await sockets.connect(world.key(bob))
  const views = (count: number) =>
    waitFor(async () => {
      const rows = await app.database.rows('select 1 from user_screens where user_id = $1', [world.id(bob)])
      return rows.length === count
    })
  const view = (resources: object[]) => socket.emitWithAck('viewing', { resources })
  expect((await view([{ kind: 'post', resourceId: POST }])).status).toBe(200)
  await views(1)
  const other = POST.replace(/.$/, '9')
  await tell([bob, eve])
  await tell([bob, eve], { postId: other })
  await whenUnread(eve, 2)
  await whenUnread(bob, 1)
  expect((await inbox(bob)).data).toMatchObject([{ resourceId: other }])
  await socket.emitWithAck('presence', { presence: 'away' })
  await views(0)
  await tell([bob])
  await whenUnread(bob, 2)
  await socket.emitWithAck('presence', { presence: 'online' })
  await views(1)
  socket.disconnect()
  await views(0)
  const again = await sockets.connect(world.key(bob))
  const refused = await again.socket.emitWithAck('viewing', { resources: [{ kind: 'Post', resourceId: 'x' }] })
  expect([refused.status, refused.body?.code ?? refused.code]).toEqual([400, 'validation_failed'])
})
