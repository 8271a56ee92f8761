import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOUR, ManualClock, MINUTE } from '../../src/core/clock.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { addFault, sandboxPosts } from '../support/sandbox-faults.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'

let app: App
let owner: SeededUser
let workspaceId: string
const clock = new ManualClock(Date.parse('2026-11-30T08:00:00Z'))

beforeAll(async () => {
  app = await startApp({ clock, jobTimes: QUICK })
  owner = await seedUser(app, 'owner')
  workspaceId = await seedWorkspace(app, 'Posts', owner)
})
afterAll(() => app.stop())

const as = () => ({ apiKey: owner.apiKey })

const connected = new Map<string, string>()

/** An account at the sandbox of a platform. */
async function account(platform = 'mastodon'): Promise<string> {
  const known = connected.get(platform)
  if (known !== undefined) return known
  const reply = await app.send('POST /api/social-accounts', {
    ...as(),
    body: { workspaceId, platform, sandbox: true },
  })
  expect(reply.status, reply.text).toBe(201)
  connected.set(platform, reply.body.data._id)
  return reply.body.data._id
}

async function create(body: object): Promise<PostData> {
  const reply = await app.send('POST /api/posts', { ...as(), body: { workspaceId, ...body } })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}

async function get(id: string): Promise<PostData> {
  return (await app.send('GET /api/posts/{id}', { ...as(), path: { id } })).body.data
}

const act = (verb: string, id: string, body?: object) =>
  app.send(`POST /api/posts/{id}/${verb}`, { ...as(), path: { id }, ...(body && { body }) })

async function ended(id: string, status: string): Promise<PostData> {
  return waitFor(async () => {
    const post = await get(id)
    return post.status === status ? post : undefined
  })
}

async function published(text: string, platform = 'mastodon') {
  return (await sandboxPosts(app, platform)).filter((post) => post.text.includes(text))
}

test('offers the changes that make a post valid', async () => {
  const accountId = await account('telegram')
  const validate = async (body: object) => {
    const whole = { workspaceId, targets: [{ accountId, override: { options: { parse_mode: 'HTML' } } }], ...body }
    const reply = await app.send('POST /api/posts/validate', { ...as(), body: whole })
    expect(reply.status, reply.text).toBe(200)
    return reply.body.data.targets[0]
  }
  const checked = await validate({ content: `<b>${'All of it is bold. '.repeat(300)}</b>` })
  expect(checked).toMatchObject({ isValid: false, failures: [{ rule: 'text.max' }] })
  expect(checked?.fixes).toMatchObject([{ kind: 'split', rule: 'text.max', path: '/text', text: null, settings: null }])
  const [content = '', ...rest] = checked?.fixes[0]?.parts ?? []
  expect(content).toMatch(/^<b>All .* bold\.<\/b>$/)
  const fixed = await validate({ content, thread: rest.map((text: string) => ({ content: text })) })
  expect(fixed).toMatchObject({ isValid: true, failures: [], fixes: [] })
})

describe('publication', () => {
  test('publishes a post at its time, once', async () => {
    const accountId = await account()
    const scheduledFor = new Date(clock.now() + HOUR).toISOString()
    const post = await create({ content: 'on time', targets: [{ accountId }], scheduledFor })
    expect(post).toMatchObject({ status: 'scheduled', scheduledFor, targets: [{ status: 'scheduled' }] })
    expect(await published('on time')).toEqual([])
    clock.advance(HOUR + 1)
    const done = await ended(post._id, 'published')
    expect(done.targets[0]).toMatchObject({ attemptCount: 1, publishedVersion: 1, statusReason: null })
    const [remote, ...others] = await published('on time')
    expect(others).toEqual([])
    expect(done.targets[0]?.remoteId).toBe(remote?.id)
  })

  test('publishes a thread with its first comment in order', async () => {
    const accountId = await account()
    const post = await create({
      content: 'part one',
      thread: [{ content: 'part two' }, { content: 'part three' }],
      targets: [{ accountId }],
      publishNow: true,
    })
    await ended(post._id, 'published')
    const all = await published('part ')
    expect(all.map(({ text }) => text).toSorted()).toHaveLength(3)
  })

  test('finds a post whose reply was lost, and does not publish it again', async () => {
    const accountId = await account('x')
    await addFault(app, 'x', { path: '/2/tweets', method: 'POST', kind: 'cut', times: 1 })
    const post = await create({ content: 'lost reply', targets: [{ accountId }], publishNow: true })
    const lost = await ended(post._id, 'unconfirmed')
    expect(lost.targets[0]?.statusReason?.code).toBe('outcome_unknown')
    clock.advance(MINUTE)
    await ended(post._id, 'published')
    expect(await published('lost reply', 'x')).toHaveLength(1)
  })

  test('marks a post as missed when it is too late, and publishes it on request', async () => {
    const accountId = await account()
    const scheduledFor = new Date(clock.now() + HOUR).toISOString()
    const post = await create({ content: 'too late', targets: [{ accountId }], scheduledFor, lateMinutes: 5 })
    await addFault(app, 'mastodon', { path: '/api/v1/statuses', kind: 'status', status: 429, times: 1 })
    clock.advance(HOUR + 1)
    await waitFor(async () => (await get(post._id)).targets[0]?.nextAttemptAt)
    clock.advance(6 * MINUTE)
    const missed = await ended(post._id, 'missed')
    expect(missed.targets[0]?.statusReason).toMatchObject({ code: 'too_late', whoActs: 'user' })
    expect((await act('publish', post._id)).status).toBe(200)
    await ended(post._id, 'published')
    expect(await published('too late')).toHaveLength(1)
  })
})

describe('writing', () => {
  test('refuses a post that a platform would refuse, with the failures of each account', async () => {
    const accountId = await account('x')
    const body = { workspaceId, content: 'x'.repeat(300), targets: [{ accountId }] }
    const reply = await app.send('POST /api/posts', { ...as(), body })
    expect(reply.status).toBe(400)
    expect(reply.body.details.targets[0]).toMatchObject({ accountId, platform: 'x', failures: [{ rule: 'text.max' }] })
    expect(await create({ ...body, draft: true })).toMatchObject({ status: 'draft' })
  })

  test('refuses an edit of a version that is not the newest', async () => {
    const post = await create({ content: 'first', targets: [{ accountId: await account() }] })
    const patch = (content: string) =>
      app.send('PATCH /api/posts/{id}', {
        ...as(),
        path: { id: post._id },
        body: { content },
        headers: { 'if-match': '"1"' },
      })
    expect((await patch('second')).body.data).toMatchObject({ content: 'second', version: 2 })
    expect((await patch('third')).status).toBe(412)
  })

  test('cancels a scheduled post, which is then not published', async () => {
    const scheduledFor = new Date(clock.now() + HOUR).toISOString()
    const post = await create({ content: 'cancelled', targets: [{ accountId: await account() }], scheduledFor })
    expect((await act('cancel', post._id)).body.data).toMatchObject({ status: 'cancelled' })
    expect((await act('cancel', post._id)).status).toBe(409)
    const other = await create({ content: 'after it', targets: [{ accountId: await account() }], scheduledFor })
    clock.advance(HOUR + 1)
    await ended(other._id, 'published')
    expect(await published('cancelled')).toEqual([])
  })
})

describe('times', () => {
  const time = async (body: object) => {
    const accountId = await account()
    return create({ content: 'a time', targets: [{ accountId }], ...body })
  }

  test('a local time belongs to the zone of the request, or to that of the workspace', async () => {
    const local = { scheduledFor: '2027-06-01T09:00', timezone: 'Asia/Kathmandu' }
    expect(await time(local)).toMatchObject({
      scheduledFor: '2027-06-01T03:15:00.000Z',
      localTime: '2027-06-01T09:00:00',
      timezone: 'Asia/Kathmandu',
      timeAdjustment: null,
    })
    expect(await time({ scheduledFor: '2027-06-01T09:00' })).toMatchObject({
      timezone: 'Europe/Berlin',
      scheduledFor: '2027-06-01T07:00:00.000Z',
    })
  })

  test('a missing hour moves forward, and the reply says so', async () => {
    expect(await time({ scheduledFor: '2027-03-28T02:30', timezone: 'Europe/Berlin' })).toMatchObject({
      scheduledFor: '2027-03-28T01:30:00.000Z',
      timeAdjustment: { kind: 'gap', usedTime: '2027-03-28T03:30:00' },
    })
  })

  describe('a time in the past', () => {
    const ago = (minutes: number) => new Date(clock.now() - minutes * MINUTE).toISOString()

    const refusal = (now: string) => ({
      code: 'time_in_past',
      message: expect.stringMatching(
        new RegExp(`^must not be in the past: it is .* publish the post now with .*${now}`),
      ),
    })

    test('is refused in each request, with how to publish now', async () => {
      const accountId = await account()
      const own = { accountId, override: { scheduledFor: ago(6) } }
      const post = await create({ content: 'a draft', targets: [{ accountId }] })
      const on = (route: string, body: object) => app.send(route, { ...as(), path: { id: post._id }, body })
      const fresh = { workspaceId, content: 'late', targets: [{ accountId }] }
      const replies = [
        await app.send('POST /api/posts', { ...as(), body: { ...fresh, scheduledFor: ago(6) } }),
        await app.send('POST /api/posts', { ...as(), body: { ...fresh, scheduledFor: ago(6), onFull: 'move' } }),
        await app.send('POST /api/posts', { ...as(), body: { ...fresh, targets: [own] } }),
        await app.send('POST /api/posts/validate', { ...as(), body: { ...fresh, scheduledFor: ago(6) } }),
        await on('PATCH /api/posts/{id}', { scheduledFor: ago(6) }),
        await on('PATCH /api/posts/{id}', { targets: [own] }),
        await on('POST /api/posts/{id}/reschedule', { scheduledFor: ago(6) }),
      ]
      expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 400))
      const faults = replies.map(({ body }) => body.errors[0])
      expect(faults.map(({ path }) => path)).toEqual(
        [0, 0, 1, 0, 0, 1, 0].map((isOwn) => `/body/${isOwn ? 'targets/0/override/' : ''}scheduledFor`),
      )
      for (const fault of faults.slice(0, 4)) expect(fault).toMatchObject(refusal('publishNow: true'))
      for (const fault of faults.slice(4)) expect(fault).toMatchObject(refusal('POST /api/posts/{id}/publish'))
      const rows = (
        await app.send('POST /api/posts/bulk', {
          ...as(),
          body: {
            workspaceId,
            posts: [{ content: 'late', targets: [{ accountId }], scheduledFor: ago(6) }],
            dryRun: true,
          },
        })
      ).body.data.rows
      expect(rows[0].errors[0]).toMatchObject(refusal('publishNow: true'))
    })

    test('is accepted within five minutes, and published', async () => {
      const accountId = await account()
      const post = await create({ content: 'just now', targets: [{ accountId }], scheduledFor: ago(4) })
      await ended(post._id, 'published')
    })

    test('that a published post has can be sent back with a change of its labels', async () => {
      const accountId = await account()
      const post = await create({ content: 'sent back', targets: [{ accountId }], publishNow: true })
      const { scheduledFor } = await ended(post._id, 'published')
      clock.advance(HOUR)
      const body = { scheduledFor, labels: ['done'] }
      const reply = await app.send('PATCH /api/posts/{id}', { ...as(), path: { id: post._id }, body })
      expect(reply.status, reply.text).toBe(200)
    })
  })

  test('an unknown zone and an impossible date are refused with what to write', async () => {
    const accountId = await account()
    const send = (fields: object) =>
      app.send('POST /api/posts', {
        ...as(),
        body: { workspaceId, content: 'a time', targets: [{ accountId }], ...fields },
      })
    const zone = await send({ scheduledFor: '2027-06-01T09:00', timezone: 'Europe/Berln' })
    expect([zone.status, zone.body.errors[0].path]).toEqual([400, '/body/timezone'])
    expect(zone.body.errors[0].message).toContain('Europe/Berlin')
    const date = await send({ scheduledFor: '2027-02-30T09:00' })
    expect([date.status, date.body.errors[0].path]).toEqual([400, '/body/scheduledFor'])
  })
})
