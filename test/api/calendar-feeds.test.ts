import ICAL from 'ical.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HOUR, MINUTE } from '../../src/core/clock.ts'
import { PostWorld } from '../support/post-world.ts'
import { seedMember, seedUser, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'

/** The calendar of posts, read by ical.js, which Mozilla's calendar uses. */

let world: PostWorld
let accountId: string

beforeAll(async () => {
  world = await PostWorld.start('calendar', '2026-11-30T08:00:00Z', { RATE_LIMITS: '1' })
  accountId = await world.account()
})
afterAll(() => world.stop())

const { stringify } = JSON

async function link(user: SeededUser = world.owner, name = 'Phone'): Promise<{ id: string; url: string }> {
  const reply = await world.app.send('POST /api/posts/calendar-feeds', {
    apiKey: user.apiKey,
    body: { workspaceId: world.workspaceId, name },
  })
  expect(reply.status, reply.text).toBe(201)
  const { feed, url } = reply.body.data
  return { id: feed._id, url: `${world.app.url}${new URL(url).pathname}` }
}

interface Entry {
  readonly uid: string
  readonly summary: string
  readonly description: string | null
  readonly start: string
  readonly status: unknown
  readonly sequence: number
  readonly categories: readonly string[]
}

function parsed(text: string): { name: unknown; zone: unknown; events: Entry[] } {
  const calendar = new ICAL.Component(ICAL.parse(text))
  const events = calendar.getAllSubcomponents('vevent').map((component): Entry => {
    const event = new ICAL.Event(component)
    return {
      uid: event.uid,
      summary: event.summary,
      description: event.description,
      start: event.startDate.toJSDate().toISOString(),
      status: component.getFirstPropertyValue('status'),
      sequence: event.sequence,
      categories: component.getAllProperties('categories').flatMap((one) => one.getValues() as string[]),
    }
  })
  const value = (property: string) => calendar.getFirstPropertyValue(property)
  return { name: value('x-wr-calname') ?? value('name'), zone: value('x-wr-timezone'), events }
}

async function read(url: string) {
  const reply = await fetch(url)
  expect(reply.status).toBe(200)
  return parsed(await reply.text())
}

async function entry(url: string, id: string): Promise<Entry | undefined> {
  return (await read(url)).events.find(({ uid }) => uid.startsWith(`${id}@`))
}

const make = (content: string, scheduledFor: string, extra: object = {}) =>
  world.create({ content, targets: [{ accountId }], scheduledFor, timezone: 'America/New_York', ...extra })

test('shows posts at their instants on both sides of a change of the clocks', async () => {
  const { url } = await link()
  const winter = await make('winter', '2027-03-13T09:00')
  const summer = await make('summer', '2027-03-15T09:00')
  await world.create({ content: 'a draft without a time' })
  const bluesky = await world.account('bluesky')
  const two = await make('two times', '2027-04-01T09:00', {
    targets: [{ accountId }, { accountId: bluesky, override: { scheduledFor: '2027-04-01T10:00' } }],
  })
  const { events, name, zone } = await read(url)
  expect([name, zone]).toEqual(['calendar', expect.stringMatching(/^UTC$|\//)])
  const shown = events.map(({ categories, start, status, summary }) => [summary, start, status, categories])
  expect(shown).toEqual([
    ['winter', '2027-03-13T14:00:00.000Z', 'CONFIRMED', ['mastodon']],
    ['summer', '2027-03-15T13:00:00.000Z', 'CONFIRMED', ['mastodon']],
    ['two times', '2027-04-01T13:00:00.000Z', 'CONFIRMED', ['mastodon']],
    ['two times', '2027-04-01T14:00:00.000Z', 'CONFIRMED', ['bluesky']],
  ])
  expect(new Set(events.map(({ uid }) => uid)).size).toBe(4)
  for (const { _id } of [winter, summer, two]) await world.on(_id, 'DELETE ')
})

test('keeps the UID of a post and raises its SEQUENCE when it is rescheduled, cancelled or deleted', async () => {
  const { url } = await link()
  const post = await make('moves', '2027-05-01T09:00')
  const first = await entry(url, post._id)
  world.clock.advance(MINUTE)
  await world.on(post._id, 'reschedule', { body: { scheduledFor: '2027-05-02T09:00', timezone: 'America/New_York' } })
  const moved = await entry(url, post._id)
  world.clock.advance(MINUTE)
  await world.on(post._id, 'cancel')
  const cancelled = await entry(url, post._id)
  world.clock.advance(MINUTE)
  expect((await world.on(post._id, 'DELETE ')).status).toBe(200)
  const deleted = await entry(url, post._id)
  const all = [first, moved, cancelled, deleted]
  expect(all.map((one) => [one?.start, one?.status])).toEqual([
    ['2027-05-01T13:00:00.000Z', 'CONFIRMED'],
    ['2027-05-02T13:00:00.000Z', 'CONFIRMED'],
    ['2027-05-02T13:00:00.000Z', 'CANCELLED'],
    ['2027-05-02T13:00:00.000Z', 'CANCELLED'],
  ])
  expect(new Set(all.map((one) => one?.uid)).size).toBe(1)
  const sequences = all.map((one) => one?.sequence ?? 0)
  expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b))
  expect([deleted?.summary, deleted?.description]).toEqual(['moves', null])
})

test('hostile texts stay texts, and no line is longer than 75 bytes', async () => {
  const { url } = await link()
  const content = [
    'a; b, c \\ d: "e"',
    'END:VEVENT\r\nBEGIN:VEVENT\rUID:forged',
    'BEGIN:VALARM\nATTACH:file:///etc/passwd',
    '\u2028ACTION:AUDIO',
    '日本語のテキスト'.repeat(12),
    '🎉👩‍👩‍👧‍👦'.repeat(10),
    String.raw`\nliteral \, \;`,
  ].join('\n')
  const title = `${'ü'.repeat(60)};SUMMARY:x\r\nDTSTART:20200101T000000Z`
  const post = await make(content, '2027-06-01T09:00', { title: title.slice(0, 95) })
  const text = await (await fetch(url)).text()
  for (const line of text.split('\r\n')) expect(Buffer.byteLength(line), line).toBeLessThanOrEqual(75)
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
  const { events } = parsed(text)
  const [event, ...others] = events.filter(({ uid }) => uid.includes(post._id) || uid.includes('forged'))
  expect(others).toEqual([])
  expect(event?.start).toBe('2027-06-01T13:00:00.000Z')
  expect(event?.description).toBe(post.content.replaceAll(/\r\n?|\u2028/g, '\n'))
  expect(event?.summary).toBe((post.title ?? '').replaceAll(/\s+/g, ' '))
})

test('replies 304 until a post changes, and is not for search engines or shared caches', async () => {
  const { url } = await link()
  const first = await fetch(url)
  const tag = first.headers.get('etag') ?? ''
  expect(tag).toMatch(/^"[0-9a-f]{32}"$/)
  expect(first.headers.get('content-type')).toBe('text/calendar; charset=utf-8')
  expect(first.headers.get('x-robots-tag')).toBe('noindex, nofollow')
  expect(first.headers.get('cache-control')).toBe('private, no-cache')
  const again = () => fetch(url, { headers: { 'if-none-match': tag } })
  world.clock.advance(HOUR)
  expect((await again()).status).toBe(304)
  const post = await make('new', '2027-07-01T09:00')
  const changed = await again()
  expect([changed.status, changed.headers.get('etag') === tag]).toEqual([200, false])
  await world.on(post._id, 'DELETE ')
})

test('is per person: it ends with the link, the scope and the membership', async () => {
  const bob = await seedUser(world.app, 'calendar-bob')
  await seedMember(world.app, world.workspaceId, bob, { role: 'contributor' })
  const one = await link(bob, 'Laptop')
  const other = await link(bob, 'Phone')
  const mine = await link()
  const status = async (url: string) => (await fetch(url)).status
  expect(await status(one.url)).toBe(200)
  const own = await world.app.send('GET /api/posts/calendar-feeds', {
    apiKey: bob.apiKey,
    query: { workspaceId: world.workspaceId },
  })
  expect(own.body.data.map(({ name }: { name: string }) => name)).toEqual(['Phone', 'Laptop'])
  expect(stringify(own.body.data)).not.toContain(new URL(one.url).pathname.slice(-20, -4))
  const revoke = (user: SeededUser, id: string) =>
    world.app.send('DELETE /api/posts/calendar-feeds/{id}', { apiKey: user.apiKey, path: { id } })
  expect((await revoke(bob, mine.id)).status).toBe(404)
  expect((await revoke(bob, one.id)).status).toBe(200)
  const gone = await fetch(one.url)
  const unknown = await fetch(one.url.replace(/[^/]+\.ics$/, `${'x'.repeat(43)}.ics`))
  expect([gone.status, unknown.status]).toEqual([404, 404])
  const comparable = async (reply: Response) => ({ ...((await reply.json()) as object), requestId: '' })
  expect(await comparable(gone)).toEqual(await comparable(unknown))
  expect(await status(other.url)).toBe(200)
  const removed = await world.send('DELETE /api/team/{workspaceId}/members/{userId}', {
    path: { workspaceId: world.workspaceId, userId: bob.id },
  })
  expect(removed.status, removed.text).toBe(200)
  await waitFor(async () => (await status(other.url)) === 404)
  expect(await status(mine.url)).toBe(200)
})

test('a member has at most 20 links, and an address is limited', async () => {
  const carl = await seedUser(world.app, 'calendar-carl')
  await seedMember(world.app, world.workspaceId, carl, { role: 'contributor' })
  for (let index = 0; index < 20; index += 1) await link(carl, `Device ${index}`)
  const full = await world.app.send('POST /api/posts/calendar-feeds', {
    apiKey: carl.apiKey,
    body: { workspaceId: world.workspaceId, name: 'One more' },
  })
  expect([full.status, full.body.code]).toEqual([409, 'too_many_calendar_feeds'])
  const { url } = await link()
  const guess = url.replace(/[^/]+\.ics$/, `${'y'.repeat(43)}.ics`)
  const statuses = new Set<number>()
  for (let index = 0; index < 120; index += 1) {
    const reply = await fetch(guess)
    await reply.arrayBuffer()
    statuses.add(reply.status)
  }
  expect((await fetch(url)).status).toBe(429)
  expect([...statuses]).toEqual([404, 429])
})
