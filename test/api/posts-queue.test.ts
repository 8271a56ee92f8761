import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { HOUR, ManualClock, MINUTE } from '../../src/core/clock.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { addFault } from '../support/sandbox-faults.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'

let app: App
let owner: SeededUser
let workspaceId: string
let accountId: string
let otherId: string
/** A Monday. */
const clock = new ManualClock(Date.parse('2026-11-30T08:00:00Z'))
const DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']

beforeAll(async () => {
  app = await startApp({ clock, jobTimes: QUICK })
})
afterAll(() => app.stop())

beforeEach(async () => {
  owner = await seedUser(app, `owner-${randomUUID()}`)
  workspaceId = await seedWorkspace(app, 'Queue', owner)
  accountId = await account('mastodon')
  otherId = await account('bluesky')
})

const as = () => ({ apiKey: owner.apiKey })

async function account(platform: string): Promise<string> {
  const body = { workspaceId, platform, sandbox: true }
  const reply = await app.send('POST /api/social-accounts', { ...as(), body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data._id
}

const replace = (body: object, headers = {}) =>
  app.send('PUT /api/posts/queue', { ...as(), headers, body: { workspaceId, ...body } })

async function queue(body: object): Promise<void> {
  const reply = await replace({ timezone: 'Europe/Berlin', ...body })
  expect(reply.status, reply.text).toBe(200)
}

const daily = (...times: string[]) => DAYS.flatMap((weekday) => times.map((time) => ({ weekday, time })))

const post = (body: object) =>
  app.send('POST /api/posts', {
    ...as(),
    body: { workspaceId, content: 'queued', targets: [{ accountId }], queue: true, ...body },
  })

async function queued(body: object = {}): Promise<PostData> {
  const reply = await post(body)
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}

/** A busy server refuses requests before they have an effect, and asks the client to repeat them. */
async function untilAccepted(): Promise<PostData> {
  const reply = await waitFor(async () => {
    const answer = await post({})
    return answer.status === 503 ? undefined : answer
  })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}

const preview = async (query: object = {}) => {
  const reply = await app.send('GET /api/posts/queue/preview', {
    ...as(),
    query: { workspaceId, accountIds: accountId, ...query },
  })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.data as {
    slots: { localTime: string; timeAdjustment: unknown }[]
    shortage: { code: string } | null
  }
}

const localTimes = (slots: readonly { localTime: string | null }[]) => slots.map(({ localTime }) => localTime)

describe('the queue of a workspace', () => {
  test('is empty at first, and follows the time zone of the workspace', async () => {
    const reply = await app.send('GET /api/posts/queue', { ...as(), query: { workspaceId } })
    expect(reply.body.data).toMatchObject({ version: 0, timezone: null, slots: [], minimumGapMinutes: 0 })
    expect((await preview()).shortage?.code).toBe('no_slots')
    const refused = await post({})
    expect([refused.status, refused.body.code]).toEqual([409, 'queue_full'])
  })

  test('is replaced by its version', async () => {
    await queue({ slots: daily('09:00') })
    const stale = await replace({ slots: [] }, { 'if-match': '"0"' })
    expect(stale.status).toBe(412)
    expect((await replace({ slots: [] }, { 'if-match': '"1"' })).body.data.version).toBe(2)
  })

  test.each([
    [{ slots: [{ weekday: 'monday', time: '25:00' }] }, '/body/slots'],
    [{ slots: [], timezone: 'Europe/Berln' }, '/body/timezone'],
    [{ slots: [], blackouts: [{ from: '2026-12-02', to: '2026-12-01' }] }, '/body/blackouts'],
    [{ slots: [{ weekday: 'monday', time: '09:00', accountIds: [randomUUID()] }] }, '/body/slots/0/accountIds/0'],
  ])('refuses %j', async (body, path) => {
    const reply = await replace(body)
    expect(reply.status).toBe(400)
    expect(reply.body.errors[0].path).toBe(path)
  })
})

describe('the next free slot', () => {
  test('goes to each of fifty posts that are created at once', async () => {
    await queue({ slots: daily('09:00', '15:00') })
    const expected = localTimes((await preview()).slots)
    const made = await Promise.all(Array.from({ length: 50 }, () => untilAccepted()))
    const times = localTimes(made).toSorted((a, b) => String(a).localeCompare(String(b)))
    expect(new Set(times).size).toBe(50)
    expect(times.slice(0, 20)).toEqual(expected)
    expect(times[0]).toBe('2026-11-30T15:00:00')
    expect(times.at(-1)).toBe('2026-12-25T09:00:00')
  })

  test('is the same for accounts that do not share posts, and free for all accounts of a post', async () => {
    await queue({ slots: daily('15:00') })
    expect((await queued()).localTime).toBe('2026-11-30T15:00:00')
    expect((await queued({ targets: [{ accountId: otherId }] })).localTime).toBe('2026-11-30T15:00:00')
    await queued({ targets: [{ accountId: otherId }] })
    const both = await queued({ targets: [{ accountId }, { accountId: otherId }] })
    expect(both.localTime).toBe('2026-12-02T15:00:00')
    expect((await queued()).localTime).toBe('2026-12-01T15:00:00')
  })

  test('has the label that is asked for, and is outside of blackouts', async () => {
    await queue({
      slots: [...daily('09:00'), { weekday: 'tuesday', time: '12:00', label: 'launch' }],
      blackouts: [{ from: '2026-12-01', to: '2026-12-02' }],
    })
    expect((await queued()).localTime).toBe('2026-12-03T09:00:00')
    expect((await queued({ queue: { label: 'launch' } })).localTime).toBe('2026-12-08T12:00:00')
    expect((await post({ queue: { label: 'other' } })).body.details.reason).toBe('no_slots')
  })

  test('keeps the least distance to other posts of the account', async () => {
    await queue({ slots: daily('12:00', '13:00', '14:00'), minimumGapMinutes: 120 })
    await queued({ queue: undefined, scheduledFor: '2026-11-30T12:30', timezone: 'Europe/Berlin' })
    expect((await queued()).localTime).toBe('2026-12-01T12:00:00')
    expect((await queued()).localTime).toBe('2026-12-01T14:00:00')
  })

  test('is taken again after a post was deleted, cancelled or moved', async () => {
    await queue({ slots: daily('15:00') })
    const [first, second, third] = [await queued(), await queued(), await queued()]
    expect(localTimes([first, second, third])).toEqual(
      ['2026-11-30', '2026-12-01', '2026-12-02'].map((day) => `${day}T15:00:00`),
    )
    await app.send('DELETE /api/posts/{id}', { ...as(), path: { id: first._id } })
    await app.send('POST /api/posts/{id}/cancel', { ...as(), path: { id: second._id } })
    expect((await queued()).localTime).toBe('2026-11-30T15:00:00')
    const moved = await app.send('POST /api/posts/{id}/reschedule', {
      ...as(),
      path: { id: third._id },
      body: { queue: true },
    })
    expect(moved.body.data.localTime).toBe('2026-12-01T15:00:00')
    expect((await queued()).localTime).toBe('2026-12-02T15:00:00')
  })

  test('is given to a post that was missed', async () => {
    await queue({ slots: daily('15:00') })
    await addFault(app, 'mastodon', { path: '/api/v1/statuses', kind: 'status', status: 429, times: 1 })
    const scheduledFor = new Date(clock.now() + HOUR).toISOString()
    const { _id: id } = await queued({ queue: undefined, scheduledFor, lateMinutes: 5 })
    const get = async () => (await app.send('GET /api/posts/{id}', { ...as(), path: { id } })).body.data as PostData
    clock.advance(HOUR + 1)
    await waitFor(async () => (await get()).targets[0]?.nextAttemptAt)
    clock.advance(6 * MINUTE)
    await waitFor(async () => (await get()).status === 'missed')
    const reply = await app.send('POST /api/posts/{id}/reschedule', { ...as(), path: { id }, body: { queue: true } })
    expect(reply.body.data).toMatchObject({ status: 'scheduled', localTime: '2026-11-30T15:00:00' })
  })

  test('is refused together with a time, and without an account', async () => {
    await queue({ slots: daily('15:00') })
    expect((await post({ scheduledFor: '2026-12-01T09:00' })).status).toBe(400)
    expect((await post({ targets: [] })).body.errors[0].path).toBe('/body/targets')
    const { _id: id } = await queued()
    const neither = await app.send('POST /api/posts/{id}/reschedule', { ...as(), path: { id }, body: {} })
    expect(neither.body.errors[0].path).toBe('/body/scheduledFor')
  })
})
