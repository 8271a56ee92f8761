import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { randomUUID } from 'node:crypto'
import { DAY, HOUR, ManualClock, MINUTE } from '../../src/core/clock.ts'
import type { SeriesData } from '../../src/domains/publishing/writing/series/schemas.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { makeOccurrencesTurn } from '../../src/domains/publishing/writing/series/turns.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { PostWorld, expectStatus } from '../support/post-world.ts'
import { seedMember, seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import type { SendOptions } from '../support/send.ts'
import { waitFor } from '../support/wait.ts'

/** Recurring posts. Each test has its own workspace, and all share a server. */

/** A Monday. Tests let whole days pass, so that it stays 9 or 10 o’clock in Berlin. */
const clock = new ManualClock(Date.parse('2026-11-30T08:00:00Z'))
let app: App
let world: PostWorld
let accountId: string
let owner: SeededUser

beforeAll(async () => {
  app = await startApp({ clock, jobTimes: QUICK })
  owner = await seedUser(app, 'owner', { plan: 'business' })
})
afterAll(() => app.stop())

beforeEach(async () => {
  world = new PostWorld({ app, clock, owner, workspaceId: await seedWorkspace(app, 'Recurrence', owner) })
  accountId = await world.account()
})

const BERLIN = 'Europe/Berlin'

function recurring(recurrence: object, extra: object = {}): Promise<PostData> {
  const time = { scheduledFor: '2026-12-01T09:00', timezone: BERLIN }
  return world.create({ content: 'Every time', targets: [{ accountId }], ...time, recurrence, ...extra })
}

function series(id: string, verb = 'GET', options: SendOptions = {}) {
  const [method, rest = ''] = verb.split(' ')
  const route = `${method} /api/posts/series/{seriesId}${rest === '' ? '' : `/${rest}`}`
  return world.send(route, { ...options, path: { seriesId: id, ...options.path } })
}

async function seriesOf(id: string): Promise<SeriesData> {
  return expectStatus(await series(id), 200).data
}

async function change(id: string, body: object): Promise<SeriesData> {
  return expectStatus(await series(id, 'PATCH', { body }), 200).data
}

/** The posts of a series in the order of time. */
async function postsOf(seriesId: string): Promise<PostData[]> {
  const query = { workspaceId: world.workspaceId, seriesId, sort: 'scheduledFor', limit: 100 }
  return expectStatus(await world.send('GET /api/posts', { query }), 200).data
}

/** Waits until a series has so many posts. */
function made(seriesId: string, count: number): Promise<PostData[]> {
  return waitFor(async () => {
    const posts = await postsOf(seriesId)
    if (posts.length === count) return posts
    throw new Error(`${posts.length} posts: ${posts.map(({ localTime }) => localTime).join(', ')}`)
  })
}

const timesOf = (posts: readonly PostData[]) => posts.map(({ localTime }) => localTime)
const idOf = ({ seriesId }: PostData) => seriesId ?? ''
const turn = (seriesId: string) =>
  app.composition.services.turns.system(world.workspaceId, makeOccurrencesTurn, { seriesId })

/** Lets time pass, and makes what is due then. */
async function pass(seriesId: string, ms: number): Promise<void> {
  clock.advance(ms)
  await turn(seriesId)
}

/** A local time of the calendar in Berlin, days from now. */
function local(days: number, time = '09:00'): string {
  return `${new Date(clock.now() + days * DAY).toISOString().slice(0, 10)}T${time}`
}
const key = (days: number, time = '09:00') => `${local(days, time)}:00`
/** A series from tomorrow on. */
const daily = (recurrence: object = {}, extra: object = {}) =>
  recurring({ rrule: 'FREQ=DAILY', ...recurrence }, { scheduledFor: local(1), ...extra })

describe('dates', () => {
  async function preview(rrule: string, scheduledFor: string, more: object = {}, timezone = BERLIN) {
    const body = { workspaceId: world.workspaceId, recurrence: { rrule, ...more }, scheduledFor, timezone, count: 4 }
    const { data } = expectStatus(await world.send('POST /api/posts/series/preview', { body }), 200)
    const occurrences = data.occurrences as SeriesData['upcoming']
    return { ...data, occurrences, dates: occurrences.map(({ occurrence }) => occurrence.slice(0, 10)) }
  }

  test('the 31st is the last day of shorter months, and the reply says so', async () => {
    const first = await recurring({ rrule: 'FREQ=MONTHLY;COUNT=3' }, { scheduledFor: '2098-12-31T09:00' })
    expect(first).toMatchObject({ occurrence: '2098-12-31T09:00:00', status: 'scheduled' })
    const { upcoming } = await seriesOf(idOf(first))
    const keys = upcoming.map(({ occurrence }) => occurrence)
    expect(keys).toEqual(['2098-12-31T09:00:00', '2099-01-31T09:00:00', '2099-02-28T09:00:00'])
    expect(upcoming[2]?.timeAdjustment).toMatchObject({ kind: 'short_month', requestedTime: '2099-02-31T09:00:00' })
  })

  test('the last Friday, leap days, UNTIL and exceptions', async () => {
    const friday = await preview('FREQ=MONTHLY;BYDAY=-1FR', '2026-11-27T12:00')
    expect(friday.dates).toEqual(['2026-11-27', '2026-12-25', '2027-01-29', '2027-02-26'])
    const leap = await preview('FREQ=YEARLY', '2028-02-29T12:00')
    expect(leap.dates).toEqual(['2028-02-29', '2029-02-28', '2030-02-28', '2031-02-28'])
    const until = await preview('FREQ=WEEKLY;UNTIL=20261212', '2026-12-01T12:00')
    expect([until.dates, until.ended]).toEqual([['2026-12-01', '2026-12-08'], 'until'])
    const without = await preview('FREQ=DAILY;COUNT=4', '2026-12-23T12:00', {
      exdates: ['2026-12-24', '2026-12-25T12:00'],
    })
    expect([without.dates, without.ended]).toEqual([['2026-12-23', '2026-12-26'], 'count'])
  })

  test('a rule that cannot be read is refused, with what to write instead', async () => {
    const reply = await world.send('POST /api/posts', {
      body: {
        workspaceId: world.workspaceId,
        content: 'Hourly',
        targets: [{ accountId }],
        scheduledFor: local(1),
        timezone: BERLIN,
        recurrence: { rrule: 'FREQ=HOURLY' },
      },
    })
    expect(reply.status).toBe(400)
    expect(reply.body.errors[0].path).toBe('/body/recurrence/rrule')
    const without = await world.send('POST /api/posts', {
      body: { workspaceId: world.workspaceId, targets: [{ accountId }], recurrence: { rrule: 'FREQ=DAILY' } },
    })
    expect(without.body.errors).toMatchObject([{ path: '/body/scheduledFor', code: 'required' }])
  })
})

describe('making posts', () => {
  test('a daily post is made 30 days ahead, and goes on day by day', async () => {
    const first = await daily()
    const id = idOf(first)
    const posts = await made(id, 30)
    expect(timesOf(posts)).toEqual(Array.from({ length: 30 }, (_, day) => key(day + 1)))
    expect(new Set(posts.map(({ occurrence }) => occurrence)).size).toBe(30)
    for (const post of posts) expect(post).toMatchObject({ status: 'scheduled', content: 'Every time', seriesId: id })
    await turn(id)
    expect(await postsOf(id)).toHaveLength(30)
    // The schedule finds it.
    clock.advance(DAY)
    expect(timesOf(await made(id, 31)).at(-1)).toBe(key(30))
  })

  test('a yearly post is always made once ahead', async () => {
    const first = await recurring({ rrule: 'FREQ=YEARLY' }, { scheduledFor: local(1) })
    await turn(idOf(first))
    expect(await postsOf(idOf(first))).toHaveLength(1)
    await pass(idOf(first), DAY)
    const posts = await made(idOf(first), 2)
    expect(Date.parse(posts[1]?.scheduledFor ?? '') - clock.now()).toBeGreaterThan(300 * DAY)
  })

  test('a series ends with its last occurrence', async () => {
    const id = idOf(await daily({ rrule: 'FREQ=DAILY;COUNT=2' }))
    await made(id, 2)
    expect((await seriesOf(id)).status).toBe('active')
    await pass(id, 3 * DAY)
    expect(await seriesOf(id)).toMatchObject({ status: 'ended', postCount: 2, missedCount: 0, upcoming: [] })
  })

  test('clocks that go forward and back', async () => {
    const year = new Date(clock.now()).getUTCFullYear() + 1
    const lastSunday = (month: number) => {
      const end = new Date(Date.UTC(year, month, 0))
      return new Date(end.getTime() - end.getUTCDay() * DAY).toISOString().slice(0, 10)
    }
    const [march, october] = [lastSunday(3), lastSunday(10)]
    const rule = { rrule: 'FREQ=DAILY;COUNT=3' }
    const before = (day: string) => `${new Date(Date.parse(day) - DAY).toISOString().slice(0, 10)}T02:30`
    const spring = await recurring(rule, { scheduledFor: before(march) })
    const autumn = await recurring(rule, { scheduledFor: before(october) })
    clock.advance(Date.parse(`${march}T08:00:00Z`) - 2 * DAY - clock.now())
    await turn(idOf(spring))
    const forward = await made(idOf(spring), 3)
    expect(forward.map(({ scheduledFor }) => scheduledFor?.slice(11, 16))).toEqual(['01:30', '01:30', '00:30'])
    expect(forward[1]?.timeAdjustment).toMatchObject({ kind: 'gap', usedTime: `${march}T03:30:00` })
    clock.advance(Date.parse(`${october}T08:00:00Z`) - 2 * DAY - clock.now())
    await turn(idOf(autumn))
    const back = await made(idOf(autumn), 3)
    expect(back.map(({ scheduledFor }) => scheduledFor?.slice(11, 16))).toEqual(['00:30', '00:30', '01:30'])
    expect(back[1]?.timeAdjustment?.kind).toBe('overlap')
  })

  test('a draft that is scheduled can be made to recur; a post of a series cannot again', async () => {
    const time = { scheduledFor: local(1), timezone: BERLIN }
    const post = await world.create({ content: 'Once', targets: [{ accountId }], ...time })
    const body = { content: 'Weekly', recurrence: { rrule: 'FREQ=WEEKLY' } }
    const { data } = expectStatus(await world.on(post._id, 'PATCH ', { body }), 200)
    const posts = await made(data.seriesId, 5)
    expect(posts.map(({ content }) => content)).toEqual(Array.from({ length: 5 }, () => 'Weekly'))
    expect(posts[0]?._id).toBe(post._id)
    expect((await world.on(post._id, 'PATCH ', { body })).body.code).toBe('conflict')
  })

  test('each occurrence goes through the approval flow', async () => {
    const approver = await seedUser(app, `approver-${randomUUID()}`)
    await seedMember(app, world.workspaceId, approver, { role: 'admin' })
    const flow = { stages: [{ name: 'Editors', approvers: { userIds: [approver.id] } }] }
    const set = await world.send('PUT /api/approvals/{workspaceId}/flow', {
      path: { workspaceId: world.workspaceId },
      body: flow,
    })
    expect(set.status, set.text).toBeLessThan(300)
    const posts = await made(idOf(await daily({ rrule: 'FREQ=DAILY;COUNT=3' })), 3)
    expect(posts.map(({ status }) => status)).toEqual(['in_review', 'in_review', 'in_review'])
    const path = { id: posts[1]?._id ?? '' }
    const decided = await app.send('POST /api/posts/{id}/approval', {
      apiKey: approver.apiKey,
      path,
      body: { decision: 'approve' },
    })
    expect(decided.body.data?.status, decided.text).toBe('scheduled')
  })
})

describe('variations', () => {
  const variations = [{ content: 'Another way' }, { content: 'A third way', title: 'Third' }]

  test('take turns', async () => {
    const posts = await made(idOf(await daily({ rrule: 'FREQ=DAILY;COUNT=5', variations })), 5)
    const texts = ['Every time', 'Another way', 'A third way', 'Every time', 'Another way']
    expect(posts.map(({ content }) => content)).toEqual(texts)
    expect(posts[2]?.title).toBe('Third')
  })

  test('are required where the platform refuses a text that repeats', async () => {
    const targets = [{ accountId }, { accountId: await world.account('x') }]
    const body = {
      workspaceId: world.workspaceId,
      content: 'Every time',
      targets,
      scheduledFor: local(1),
      timezone: BERLIN,
    }
    const refused = await world.send('POST /api/posts', { body: { ...body, recurrence: { rrule: 'FREQ=WEEKLY' } } })
    expect(refused.body.errors).toMatchObject([{ path: '/body/recurrence/variations', code: 'variations_required' }])
    expect(refused.body.errors[0].message).toContain('X refuses a text that repeats the post before it')
    // A variation that the account overrides does not help it.
    const fixed = [{ accountId }, { ...targets[1], override: { content: 'Always the same' } }]
    const same = { ...body, targets: fixed, recurrence: { rrule: 'FREQ=WEEKLY', variations } }
    expect((await world.send('POST /api/posts', { body: same })).body.errors[0].code).toBe('variations_required')
    const checked = await world.send('POST /api/posts/validate', { body: same })
    expect(checked.body.data).toMatchObject({ isValid: false, problems: [{ code: 'validation_failed' }] })
    const allowed = await world.create({ ...body, recurrence: { rrule: 'FREQ=WEEKLY', variations } })
    await made(idOf(allowed), 5)
    const less = await series(idOf(allowed), 'PATCH', { body: { variations: [] } })
    expect(less.body.errors).toMatchObject([{ path: '/body/variations', code: 'variations_required' }])
  })
})

describe('changing a series', () => {
  test('one occurrence: its post; the series leaves it alone', async () => {
    const id = idOf(await daily({ rrule: 'FREQ=DAILY;COUNT=4' }))
    const posts = await made(id, 4)
    await world.on(posts[1]?._id ?? '', 'PATCH ', { body: { content: 'Special' } })
    expect((await seriesOf(id)).upcoming.map(({ isEdited }) => isEdited)).toEqual([false, true, false, false])
    const after = await change(id, { content: 'New text' })
    expect(after).toMatchObject({ version: 2, content: 'New text' })
    const texts = (await postsOf(id)).map(({ content }) => content)
    expect(texts).toEqual(['New text', 'Special', 'New text', 'New text'])
    const same = await postsOf(id)
    expect(same.map(({ _id }) => _id)).toEqual(posts.map(({ _id }) => _id))
    expect(same[0]).toMatchObject({ version: 2, status: 'scheduled' })
  })

  test('this and those after it: they become a separate series', async () => {
    const id = idOf(await daily({ rrule: 'FREQ=DAILY;COUNT=6', variations: [{ content: 'Odd' }] }))
    const posts = await made(id, 6)
    const split = await change(id, { from: key(4), content: 'Even', labels: ['second half'] })
    expect(split).toMatchObject({ startsFrom: key(4), version: 1, postCount: 6 })
    expect(split._id).not.toBe(id)
    const [before, after] = [await postsOf(id), await postsOf(split._id)]
    expect(before.map(({ content }) => content)).toEqual(['Every time', 'Odd', 'Every time'])
    expect(after.map(({ content }) => content)).toEqual(['Odd', 'Even', 'Odd'])
    expect(after.map(({ labels }) => labels)).toEqual([['second half'], ['second half'], ['second half']])
    expect([...before, ...after].map(({ _id }) => _id)).toEqual(posts.map(({ _id }) => _id))
    expect(await seriesOf(id)).toMatchObject({ endsBefore: key(4), postCount: 3 })
    await turn(id)
    await turn(split._id)
    expect([await postsOf(id), await postsOf(split._id)].map(({ length }) => length)).toEqual([3, 3])
  })

  test('all at another clock time: the posts keep their ids, and their jobs move', async () => {
    const id = idOf(await daily({ rrule: 'FREQ=DAILY;COUNT=3' }))
    const posts = await made(id, 3)
    await change(id, { scheduledFor: local(1, '15:30') })
    const moved = await postsOf(id)
    expect(timesOf(moved)).toEqual([key(1, '15:30'), key(2, '15:30'), key(3, '15:30')])
    expect(moved.map(({ occurrence }) => occurrence)).toEqual(timesOf(moved))
    expect(moved.map(({ _id }) => _id)).toEqual(posts.map(({ _id }) => _id))
    const other = await series(id, 'PATCH', { body: { scheduledFor: local(2, '15:30') } })
    expect(other.body.errors[0].path).toBe('/body/scheduledFor')
  })

  test('all with another rule: posts are moved, made and deleted', async () => {
    const id = idOf(await daily({ rrule: 'FREQ=DAILY;COUNT=4' }))
    const posts = await made(id, 4)
    await change(id, { recurrence: { rrule: 'FREQ=DAILY;INTERVAL=2;COUNT=3' } })
    const now = await made(id, 3)
    expect(timesOf(now)).toEqual([key(1), key(3), key(5)])
    expect(now.slice(0, 2).map(({ _id }) => _id)).toEqual([posts[0]?._id, posts[2]?._id])
    expect(posts.map(({ _id }) => _id)).toContain(now[2]?._id)
  })

  test('all with other exceptions: the rule still counts from its beginning', async () => {
    const id = idOf(await daily({ rrule: 'FREQ=DAILY;COUNT=4', exdates: [local(2).slice(0, 10)] }))
    await made(id, 3)
    clock.advance(2 * DAY)
    const lists = { exdates: [key(1)], rdates: [key(5, '12:00')] }
    const changed = await change(id, { recurrence: { rrule: 'FREQ=DAILY;COUNT=4', ...lists } })
    expect(timesOf(await postsOf(id)).slice(1)).toEqual([key(2), key(5, '12:00')])
    expect(changed).toMatchObject({ localTime: key(-1), recurrence: lists })
  })

  test('a new rule keeps the 31st, also from a shorter month on', async () => {
    const id = idOf(await recurring({ rrule: 'FREQ=MONTHLY' }, { scheduledFor: '2098-12-31T09:00' }))
    const from = '2099-02-28T09:00'
    const changed = await change(id, { from, recurrence: { rrule: 'FREQ=MONTHLY;UNTIL=20990430' } })
    const days = changed.upcoming.map(({ occurrence }) => occurrence.slice(0, 10))
    expect(days).toEqual(['2099-02-28', '2099-03-31', '2099-04-30'])
    const [before] = (await seriesOf(id)).upcoming.slice(-1)
    expect(before?.occurrence).toBe('2099-01-31T09:00:00')
  })

  test('nothing changes if one of the posts cannot be changed', async () => {
    const id = idOf(await daily({ rrule: 'FREQ=DAILY;COUNT=3' }))
    await made(id, 3)
    const reply = await series(id, 'PATCH', { body: { content: 'x'.repeat(501) } })
    expect([reply.status, reply.body.code]).toEqual([400, 'platform_validation_failed'])
    expect((await postsOf(id)).map(({ content }) => content)).toEqual(Array.from({ length: 3 }, () => 'Every time'))
    const stale = await series(id, 'PATCH', { body: { content: 'New' }, headers: { 'If-Match': '"7"' } })
    expect(stale.body.code).toBe('precondition_failed')
  })

  test('an occurrence is left out, and not made again', async () => {
    const id = idOf(await daily({ rrule: 'FREQ=DAILY;COUNT=3' }))
    await made(id, 3)
    const path = { occurrence: key(2) }
    const skipped = await series(id, 'DELETE occurrences/{occurrence}', { path })
    expect(skipped.body.data.recurrence.exdates).toEqual([key(2)])
    expect(timesOf(await postsOf(id))).toEqual([key(1), key(3)])
    expect((await series(id, 'DELETE occurrences/{occurrence}', { path })).status).toBe(400)
    // Taken back, it is made again.
    await change(id, { recurrence: { rrule: 'FREQ=DAILY;COUNT=3', exdates: [] } })
    expect(timesOf(await postsOf(id))).toEqual([key(1), key(2), key(3)])
    await series(id, 'DELETE occurrences/{occurrence}', { path })
    // A post that is deleted by itself is not made again either.
    const [first] = await postsOf(id)
    await world.on(first?._id ?? '', 'DELETE ')
    await change(id, { content: 'New' })
    await turn(id)
    const left = await postsOf(id)
    expect([timesOf(left), left[0]?.content]).toEqual([[key(3)], 'New'])
    expect((await seriesOf(id)).upcoming.map(({ occurrence }) => occurrence)).toEqual([key(3)])
  })

  test('it is ended, at once or from an occurrence on', async () => {
    const id = idOf(await daily())
    await made(id, 30)
    const later = expectStatus(await series(id, 'POST end', { body: { from: key(3) } }), 200).data
    expect(later).toMatchObject({ status: 'active', endsBefore: key(3) })
    expect(timesOf(await postsOf(id))).toEqual([key(1), key(2)])
    const ended = expectStatus(await series(id, 'POST end', { body: { keepPosts: true } }), 200).data
    expect(ended.status).toBe('ended')
    await turn(id)
    expect(await postsOf(id)).toHaveLength(2)
    expect((await series(id, 'PATCH', { body: { content: 'New' } })).body.code).toBe('conflict')
  })
})

describe('what cannot be published is visible with its reason', () => {
  test('the author loses access: the series is paused until somebody resumes it', async () => {
    const author = await seedUser(app, `author-${randomUUID()}`)
    await seedMember(app, world.workspaceId, author, { role: 'editor' })
    const body = { workspaceId: world.workspaceId, content: 'Theirs', targets: [{ accountId }], timezone: BERLIN }
    const reply = await app.send('POST /api/posts', {
      apiKey: author.apiKey,
      body: { ...body, scheduledFor: local(1), recurrence: { rrule: 'FREQ=DAILY' } },
    })
    const id = expectStatus(reply, 201).data.seriesId
    await made(id, 30)
    const path = { workspaceId: world.workspaceId, userId: author.id }
    expectStatus(await world.send('DELETE /api/team/{workspaceId}/members/{userId}', { path }), 200)
    const paused = await waitFor(async () => {
      const found = await seriesOf(id)
      return found.status === 'paused' ? found : undefined
    })
    expect(paused.statusReason).toMatchObject({ code: 'author_has_no_access', whoActs: 'user' })
    await app.outbox.newest(world.owner.email, /recurring post is paused/)
    clock.advance(33 * DAY)
    await turn(id)
    expect(await postsOf(id)).toHaveLength(30)
    const resumed = expectStatus(await series(id, 'POST resume'), 200).data
    expect(resumed).toMatchObject({ status: 'active', authorId: world.owner.id })
    // Two days have passed without a post. The last one waits for a decision.
    await made(id, 30 + 1 + 1 + 30)
    const missed = (await postsOf(id)).filter(
      ({ localTime }) => (localTime ?? '') < key(0) && (localTime ?? '') > key(-3),
    )
    expect(missed.map(({ status }) => status)).toEqual(['missed'])
    expect(await seriesOf(id)).toMatchObject({ missedCount: 2, statusReason: { code: 'occurrences_missed' } })
  })

  test('a disconnected account: its posts are cancelled, and scheduled again with it', async () => {
    const other = await world.account('bluesky')
    const targets = [{ accountId }, { accountId: other }]
    const id = idOf(await recurring({ rrule: 'FREQ=MONTHLY;COUNT=2' }, { scheduledFor: local(3), targets }))
    await world.send('DELETE /api/social-accounts/{id}', { path: { id: other } })
    clock.advance(3 * DAY)
    await turn(id)
    const [, second] = await made(id, 2)
    expect(second?.targets).toMatchObject([
      { status: 'scheduled' },
      { status: 'cancelled', statusReason: { code: 'account_disconnected' } },
    ])
    expectStatus(await world.send('POST /api/limits/accounts/{id}/restore', { path: { id: other } }), 200)
    expect((await world.get(second?._id ?? '')).targets).toMatchObject([
      { status: 'scheduled' },
      { status: 'scheduled' },
    ])
  })

  test('a budget that is taken: the post is there, and says what to do', async () => {
    const id = idOf(await recurring({ rrule: 'FREQ=MONTHLY;COUNT=2' }, { scheduledFor: local(2) }))
    const next = (await seriesOf(id)).upcoming[1]
    const noon = Date.parse(next?.scheduledFor ?? '')
    const posts = Array.from({ length: 100 }, (_, index) => {
      const scheduledFor = new Date(noon - 30 * MINUTE + index * 1_000).toISOString()
      return { content: `post ${index}`, scheduledFor, targets: [{ accountId }] }
    })
    expectStatus(await world.send('POST /api/posts/bulk', { body: { workspaceId: world.workspaceId, posts } }), 201)
    clock.advance(3 * DAY)
    await turn(id)
    const [, full] = await made(id, 2)
    expect(full).toMatchObject({ status: 'failed', targets: [{ statusReason: { code: 'budget_exceeded' } }] })
    await app.outbox.newest(world.owner.email, /Posts of a recurring post need you/)
    const body = { scheduledFor: new Date(noon + 5 * HOUR).toISOString() }
    expect((await world.on(full?._id ?? '', 'reschedule', { body })).body.data.status).toBe('scheduled')
  })

  test('a file that is deleted: the post is there without it', async () => {
    const assetId = await world.picture()
    const id = idOf(await recurring({ rrule: 'FREQ=MONTHLY;COUNT=2' }, { scheduledFor: local(2), media: [assetId] }))
    await app.database.run('delete from assets where id = $1', [assetId])
    clock.advance(3 * DAY)
    await turn(id)
    const [, second] = await made(id, 2)
    expect(second?.targets).toMatchObject([{ status: 'failed', statusReason: { code: 'media_missing' } }])
  })
})

describe('exactly once', () => {
  test('two nodes make the posts of a series at once', async () => {
    const second = await startApp({ databaseUrl: app.databaseUrl, clock, env: { JWT_SECRET: 'x'.repeat(40) } })
    try {
      const id = idOf(await daily())
      const there = () =>
        second.composition.services.turns.system(world.workspaceId, makeOccurrencesTurn, { seriesId: id })
      await Promise.all(Array.from({ length: 6 }, (_, index) => (index % 2 === 0 ? turn(id) : there())))
      const posts = await made(id, 30)
      expect(timesOf(posts)).toEqual(Array.from({ length: 30 }, (_, day) => key(day + 1)))
      expect((await seriesOf(id)).postCount).toBe(30)
    } finally {
      await second.stop()
    }
  })

  test('a turn that fails in the middle leaves nothing, and a restarted node goes on', async () => {
    const { author } = app.composition.services.writing
    const write = author.write.bind(author)
    let calls = 0
    author.write = (...given) => {
      calls += 1
      // The first post is made with the series. Then the third turn fails at its fifth post, again and again.
      if (calls > 1 + 20 + 4) throw new Error('The node stops here')
      return write(...given)
    }
    const first = await daily()
    await made(idOf(first), 21)
    await waitFor(() => (calls > 25 ? true : undefined))
    expect(await postsOf(idOf(first))).toHaveLength(21)
    author.write = write
    const restarted = await startApp({ databaseUrl: app.databaseUrl, clock, env: { JWT_SECRET: 'x'.repeat(40) } })
    try {
      const input = { seriesId: idOf(first) }
      await restarted.composition.services.turns.system(world.workspaceId, makeOccurrencesTurn, input)
      const posts = await made(idOf(first), 30)
      expect(timesOf(posts)).toEqual(Array.from({ length: 30 }, (_, day) => key(day + 1)))
    } finally {
      await restarted.stop()
    }
  })
})
