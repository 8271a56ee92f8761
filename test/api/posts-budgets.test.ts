import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { randomUUID } from 'node:crypto'
import { ManualClock, MINUTE } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'

let app: App
let owner: SeededUser
let workspaceId: string
let accountId: string
/** A Monday. */
const clock = new ManualClock(Date.parse('2026-11-30T08:00:00Z'))
const NOON = Date.parse('2026-12-01T12:00:00Z')
/** What Mastodon allows in an hour. */
const HOURLY = 100

beforeAll(async () => {
  app = await startApp({ clock, jobTimes: QUICK })
})
afterAll(() => app.stop())

beforeEach(async () => {
  owner = await seedUser(app, `owner-${randomUUID()}`)
  workspaceId = await seedWorkspace(app, 'Budgets', owner)
  const body = { workspaceId, platform: 'mastodon', sandbox: true }
  accountId = (await app.send('POST /api/social-accounts', { ...as(), body })).body.data._id
})

const as = () => ({ apiKey: owner.apiKey })

const create = (body: object) =>
  app.send('POST /api/posts', {
    ...as(),
    body: { workspaceId, content: 'one more', targets: [{ accountId }], ...body },
  })

/** Posts within half an hour before noon. */
async function fill(count: number): Promise<void> {
  const posts = Array.from({ length: count }, (_, index) => {
    const scheduledFor = new Date(NOON - 30 * MINUTE + index * 1_000).toISOString()
    return { content: `post ${index}`, scheduledFor, targets: [{ accountId }] }
  })
  const reply = await app.send('POST /api/posts/bulk', { ...as(), body: { workspaceId, posts } })
  expect(reply.status, reply.text).toBe(201)
}

const noon = { scheduledFor: new Date(NOON).toISOString(), timezone: 'Europe/Berlin' }

test('refuses a post for which an account has no room, and shows the next day and slot', async () => {
  await fill(HOURLY)
  const slots = [
    { weekday: 'tuesday', time: '12:45' },
    { weekday: 'tuesday', time: '18:00' },
  ]
  await app.send('PUT /api/posts/queue', { ...as(), body: { workspaceId, timezone: 'Europe/Berlin', slots } })
  const reply = await create(noon)
  expect([reply.status, reply.body.code]).toEqual([409, 'budget_exceeded'])
  expect(reply.body.details).toMatchObject({
    accountId,
    rule: 'posts.perHour',
    allowed: HOURLY,
    used: HOURLY,
    needed: 1,
    nextDay: { localTime: '2026-12-02T13:00:00' },
    nextSlot: { localTime: '2026-12-01T18:00:00' },
  })
  const queued = await create({ queue: true })
  expect(queued.body.data.localTime).toBe('2026-12-01T18:00:00')
})

test('moves a post to the next day with room on request', async () => {
  await fill(HOURLY)
  const moved = await create({ ...noon, onFull: 'move' })
  expect(moved.body.data).toMatchObject({ status: 'scheduled', localTime: '2026-12-02T13:00:00' })
})

test('counts the parts of a thread, and what was cancelled no longer', async () => {
  await fill(HOURLY - 2)
  expect((await create({ ...noon, thread: [{ content: 'two' }, { content: 'three' }] })).status).toBe(409)
  const made = await create({ ...noon, thread: [{ content: 'two' }] })
  expect(made.status, made.text).toBe(201)
  const path = { id: made.body.data._id }
  expect((await create(noon)).status).toBe(409)
  expect((await app.send('PATCH /api/posts/{id}', { ...as(), path, body: { content: 'the same size' } })).status).toBe(
    200,
  )
  await app.send('POST /api/posts/{id}/cancel', { ...as(), path })
  expect((await create(noon)).status).toBe(201)
  expect((await create(noon)).status).toBe(201)
  const again = await app.send('POST /api/posts/{id}/reschedule', { ...as(), path, body: noon })
  expect([again.status, again.body.code]).toEqual([409, 'budget_exceeded'])
})

test('reports the rows of an import that have no room', async () => {
  await fill(HOURLY - 1)
  const posts = [
    { content: 'fits', targets: [{ accountId }], ...noon },
    { content: 'is too much', targets: [{ accountId }], ...noon },
  ]
  const reply = await app.send('POST /api/posts/bulk', { ...as(), body: { workspaceId, posts, dryRun: true } })
  expect(
    reply.body.data.rows.map(({ errors }: { errors: { code: string }[] }) => errors.map(({ code }) => code)),
  ).toEqual([[], ['budget_exceeded']])
})

test('takes what the platform says is left into account, until its budget is full again', async () => {
  const connected = await app.send('POST /api/social-accounts', {
    ...as(),
    body: { workspaceId, platform: 'x', sandbox: true },
  })
  const x = connected.body.data._id as string
  const post = (content: string, more: object) => ({ content, targets: [{ accountId: x }], ...more })
  const { _id: id } = (await create(post('now', { publishNow: true }))).body.data
  await waitFor(async () => {
    const reply = await app.send('GET /api/posts/{id}', { ...as(), path: { id } })
    return reply.body.data.status === 'published'
  })
  const left = await waitFor(async () => {
    const reports = 'select budgets from social_account_reports where account_id = $1'
    const row = await app.database.row<{ budgets: Record<string, { remaining: number }> }>(reports, [x])
    return row?.budgets['POST /2/tweets']?.remaining
  })
  expect(left).toBe(99)
  const within = { scheduledFor: new Date(clock.now() + 5 * MINUTE).toISOString() }
  const posts = Array.from({ length: left + 1 }, (_, index) => post(`number ${index}`, within))
  const reply = await app.send('POST /api/posts/bulk', { ...as(), body: { workspaceId, posts, partial: true } })
  expect(reply.body.data).toMatchObject({ createdCount: left, refusedCount: 1 })
  const refused = await create(post('one too many', within))
  expect(refused.body).toMatchObject({
    code: 'budget_exceeded',
    details: { scope: 'account', rule: 'POST /2/tweets', allowed: left, used: left, needed: 1, origin: 'live' },
  })
  expect(refused.body.message).toContain(`allows ${left} more posts until ${refused.body.details.resetsAt}`)
  const after = { scheduledFor: new Date(clock.now() + 16 * MINUTE).toISOString() }
  expect((await create(post('in the next window', after))).status).toBe(201)
})

describe('checking a post that is not stored', () => {
  const check = async (body: object) => {
    const whole = { workspaceId, content: 'one more', targets: [{ accountId }], ...body }
    const reply = await app.send('POST /api/posts/validate', { ...as(), body: whole })
    expect(reply.status, reply.text).toBe(200)
    return reply.body.data
  }

  test('reports the budget that createPost would report, and takes nothing of it', async () => {
    await fill(HOURLY - 1)
    const fits = { isValid: true, localTime: '2026-12-01T13:00:00', timezone: 'Europe/Berlin', problems: [] }
    for (let count = 0; count < 3; count += 1) expect(await check(noon)).toMatchObject(fits)
    expect((await create(noon)).status).toBe(201)
    const refused = await create(noon)
    const { code, details, message } = refused.body
    expect(code).toBe('budget_exceeded')
    const full = await check(noon)
    expect(full).toMatchObject({ isValid: false, targets: [{ isValid: true }], scheduledFor: null })
    expect(full.problems).toEqual([
      { code, message, details, nextStep: expect.stringContaining('`details.nextSlot`') as string },
    ])
    expect(await check({ ...noon, onFull: 'move' })).toMatchObject({ ...fits, localTime: '2026-12-02T13:00:00' })
    expect(await check({})).toMatchObject({ isValid: true, scheduledFor: null, problems: [] })
  })

  test('shows the next slot of the queue, or why there is none', async () => {
    expect(await check({ queue: true })).toMatchObject({ isValid: false, problems: [{ code: 'queue_full' }] })
    const slots = [{ weekday: 'tuesday', time: '12:45' }]
    await app.send('PUT /api/posts/queue', { ...as(), body: { workspaceId, timezone: 'Europe/Berlin', slots } })
    const shown = await check({ queue: true })
    expect(shown).toMatchObject({ isValid: true, localTime: '2026-12-01T12:45:00', problems: [] })
    const queued = await create({ queue: true })
    expect(queued.body.data.scheduledFor).toBe(shown.scheduledFor)
    expect(await check({ queue: true })).toMatchObject({ localTime: '2026-12-08T12:45:00' })
  })

  test('names an account to which nothing can be published', async () => {
    const path = { id: accountId }
    expect((await app.send('POST /api/limits/accounts/{id}/archive', { ...as(), path })).status).toBe(200)
    const held = await check(noon)
    expect(held).toMatchObject({ isValid: false, problems: [{ code: 'account_not_usable', details: { accountId } }] })
    expect(await check({})).toMatchObject({ isValid: true, problems: [] })
  })
})
