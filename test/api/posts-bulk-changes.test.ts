import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DAY, ManualClock, MINUTE } from '../../src/core/clock.ts'
import type { BulkChangeReplyData } from '../../src/domains/publishing/writing/bulk-changes/schemas.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { seedMember, seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import type { Reply } from '../support/send.ts'
import { waitFor } from '../support/wait.ts'

let app: App
let owner: SeededUser
let workspaceId: string
let accountId: string
/** A Monday. The clocks of Berlin went back in October, and go forward on 28 March 2027. */
const START = Date.parse('2026-11-30T08:00:00Z')
const clock = new ManualClock(START)

beforeAll(async () => {
  app = await startApp({ clock, jobTimes: QUICK, env: { RATE_LIMITS: 'off' } })
})
afterAll(() => app.stop())

beforeEach(async () => {
  owner = await seedUser(app, `owner-${randomUUID()}`, { plan: 'business' })
  workspaceId = await seedWorkspace(app, 'Agency', owner)
  accountId = await connected('mastodon')
})

function send(route: string, body?: object, path: Record<string, string> = {}, user = owner): Promise<Reply> {
  return app.send(route, { apiKey: user.apiKey, path, ...(body && { body }) })
}

async function connected(platform: string): Promise<string> {
  const reply = await send('POST /api/social-accounts', { workspaceId, platform, sandbox: true })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data._id
}

async function create(extra: object = {}): Promise<PostData> {
  const body = { workspaceId, content: randomUUID(), targets: [{ accountId }], ...extra }
  const reply = await send('POST /api/posts', body)
  expect(reply.status, reply.text).toBe(201)
  return get(reply.body.data)
}

const at = (scheduledFor: string) => ({ scheduledFor, timezone: 'Europe/Berlin' })

async function change(action: string, body: object, user = owner): Promise<BulkChangeReplyData> {
  const reply = await send(`POST /api/posts/bulk/${action}`, { workspaceId, ...body }, {}, user)
  expect(reply.status, reply.text).toBe(200)
  return reply.body.data
}

async function undo(changeId: string | null): Promise<BulkChangeReplyData> {
  const reply = await send('POST /api/posts/bulk/changes/{changeId}/undo', undefined, { changeId: changeId ?? '' })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.data
}

async function get({ _id: id }: Pick<PostData, '_id'>): Promise<PostData> {
  const reply = await send('GET /api/posts/{id}', undefined, { id })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.data
}

const ids = (posts: readonly PostData[]) => posts.map(({ _id }) => _id)
const results = ({ results: all }: BulkChangeReplyData) => all.map(({ outcome, refusal }) => refusal?.code ?? outcome)

/** What a restored post has in common with the post before: all but its numbers and times of change. */
function lasting(post: PostData) {
  const undated = post.targets.map((target) => ({ ...target, updatedAt: '' }))
  return { ...post, targets: undated, updatedAt: '', version: 0 }
}

describe('posts are rescheduled', () => {
  test('by days, which keeps the clock time over a change to summer time, and undone', async () => {
    const made = [
      await create(at('2027-03-27T09:30')),
      await create(at('2027-03-20T09:30')),
      await create({ ...at('2027-03-20T10:00'), targets: [{ accountId, override: at('2027-03-27T11:00') }] }),
    ]
    const reply = await change('reschedule', { postIds: ids(made), shift: { days: 1 } })
    expect(results(reply)).toEqual(['changed', 'changed', 'changed'])
    expect(reply.results.map(({ localTime, scheduledFor }) => [localTime, scheduledFor])).toEqual([
      ['2027-03-28T09:30:00', '2027-03-28T07:30:00.000Z'],
      ['2027-03-21T09:30:00', '2027-03-21T08:30:00.000Z'],
      ['2027-03-21T10:00:00', '2027-03-21T09:00:00.000Z'],
    ])
    expect((await get(made[2]!)).targets[0]).toMatchObject({ localTime: '2027-03-28T11:00:00', status: 'scheduled' })
    expect(results(await undo(reply.changeId))).toEqual(['changed', 'changed', 'changed'])
    for (const post of made) expect(lasting(await get(post))).toEqual(lasting(post))
  })

  test('by minutes, and a post that has none of its own is named', async () => {
    const [timed, draft] = [await create(at('2026-12-24T18:00')), await create()]
    const reply = await change('reschedule', { postIds: ids([timed, draft]), shift: { minutes: -90 } })
    expect(results(reply)).toEqual(['changed', 'post_state_conflict'])
    expect(reply.results[0]?.localTime).toBe('2026-12-24T16:30:00')
    expect(reply.results[1]?.refusal?.message).toContain('It has no time that could be moved.')
    expect((await get(draft)).scheduledFor).toBeNull()
  })

  test('to the next free slots, in their order', async () => {
    const queue = { workspaceId, timezone: 'Europe/Berlin', slots: [{ weekday: 'monday', time: '09:00' }] }
    const stored = await send('PUT /api/posts/queue', queue)
    expect(stored.status, stored.text).toBe(200)
    const made = [await create(at('2027-02-02T10:00')), await create(at('2027-02-01T10:00')), await create()]
    const reply = await change('reschedule', { postIds: ids(made), queue: true })
    expect(reply.results.map(({ localTime }) => localTime)).toEqual([
      '2026-12-14T09:00:00',
      '2026-12-07T09:00:00',
      '2026-12-21T09:00:00',
    ])
  })

  test('without taking the time of a post that is yet to move', async () => {
    const made: PostData[] = []
    for (let day = 1; day <= 5; day += 1) made.push(await create(at(`2026-12-0${day}T09:00`)))
    const later = await change('reschedule', { postIds: ids(made), shift: { days: 1 } })
    expect(results(later)).toEqual(Array.from({ length: 5 }, () => 'changed'))
  })

  test('not into the past, and one refusal leaves the others', async () => {
    const made = [await create(at('2026-12-24T18:00')), await create(at('2026-12-01T09:00'))]
    const reply = await change('reschedule', { postIds: [...ids(made), randomUUID()], shift: { days: -2 } })
    expect(results(reply)).toEqual(['changed', 'validation_failed', 'not_found'])
    expect(reply).toMatchObject({ changedCount: 1, refusedCount: 2 })
    expect(lasting(await get(made[1]!))).toEqual(lasting(made[1]!))
  })

  test('200 at once, and undone', async () => {
    const posts = Array.from({ length: 200 }, (_, index) => ({
      content: `Post ${index}`,
      targets: [{ accountId }],
      ...at(new Date(START + (2 + index) * DAY).toISOString().slice(0, 16)),
    }))
    const bulk = await send('POST /api/posts/bulk', { workspaceId, posts })
    expect(bulk.status, bulk.text).toBe(201)
    const { batchId, rows } = bulk.body.data as { batchId: string; rows: { postId: string; localTime: string }[] }
    const dry = await change('reschedule', { filter: { batchId: [batchId] }, shift: { days: 7 }, dryRun: true })
    expect(dry).toMatchObject({ changeId: null, changedCount: 200, refusedCount: 0 })
    expect((await get({ _id: rows[0]?.postId ?? '' })).localTime).toBe(rows[0]?.localTime)
    const reply = await change('reschedule', { filter: { batchId: [batchId] }, shift: { days: 7 } })
    expect(reply).toMatchObject({ changedCount: 200, refusedCount: 0 })
    const shifted = new Date(Date.parse(`${rows[0]?.localTime ?? ''}Z`) + 7 * DAY).toISOString().slice(0, 19)
    expect((await get({ _id: rows[0]?.postId ?? '' })).localTime).toBe(shifted)
    expect(await undo(reply.changeId)).toMatchObject({ changedCount: 200, refusedCount: 0 })
    const now = (await get({ _id: rows[199]?.postId ?? '' })).localTime
    expect(now).toBe(rows[199]?.localTime)
  })

  test('with one of a time, a shift or a queue', async () => {
    const { _id } = await create()
    for (const [body, message] of [
      [{}, 'scheduledFor is required'],
      [{ ...at('2026-12-24T18:00'), shift: { days: 1 } }, 'shift cannot be combined with scheduledFor'],
    ] as const) {
      const reply = await send('POST /api/posts/bulk/reschedule', { workspaceId, postIds: [_id], ...body })
      expect([reply.status, reply.text]).toEqual([400, expect.stringContaining(message)])
    }
  })
})

describe('posts are cancelled', () => {
  test('and scheduled again by an undo, which is possible once', async () => {
    const made = [await create(at('2026-12-24T18:00')), await create(at('2026-12-25T18:00'))]
    const reply = await change('cancel', { filter: { accountId: [accountId] } })
    expect(reply.results.map(({ status }) => status)).toEqual(['cancelled', 'cancelled'])
    await undo(reply.changeId)
    for (const post of made) expect(lasting(await get(post))).toEqual(lasting(post))
    const path = { changeId: reply.changeId ?? '' }
    const again = await send('POST /api/posts/bulk/changes/{changeId}/undo', undefined, path)
    expect([again.status, again.text]).toEqual([409, expect.stringContaining('was undone already')])
  })

  test('and published at their time after an undo', async () => {
    const post = await create({ scheduledFor: new Date(clock.now() + 10 * MINUTE).toISOString() })
    const reply = await change('cancel', { postIds: [post._id] })
    await undo(reply.changeId)
    clock.advance(11 * MINUTE)
    await waitFor(async () => (await get(post)).status === 'published')
  })

  test('and stay cancelled if their time has passed, or if they have changed since', async () => {
    const soon = new Date(clock.now() + 10 * MINUTE).toISOString()
    const made = [await create({ scheduledFor: soon, lateMinutes: 0 }), await create(at('2026-12-24T18:00'))]
    const reply = await change('cancel', { postIds: ids(made) })
    await send('PATCH /api/posts/{id}', { content: 'Changed' }, { id: made[1]?._id ?? '' })
    clock.advance(20 * MINUTE)
    const undone = await undo(reply.changeId)
    expect(results(undone)).toEqual(['conflict', 'conflict'])
    expect(undone.results.map(({ refusal }) => refusal?.message)).toEqual([
      'The earlier time of the post passed 10 minutes ago, so it stays as it is.',
      'The post has changed since, so it stays as it is.',
    ])
    expect((await get(made[0]!)).status).toBe('cancelled')
  })
})

describe('posts are labelled', () => {
  test('also if they are published, and get their labels back', async () => {
    const made = [await create({ labels: ['a', 'b'] }), await create({ publishNow: true, labels: ['b'] })]
    await waitFor(async () => (await get(made[1]!)).status === 'published')
    const reply = await change('label', { postIds: ids(made), addLabels: ['b', 'c'], removeLabels: ['a'] })
    expect(results(reply)).toEqual(['changed', 'changed'])
    expect([(await get(made[0]!)).labels, (await get(made[1]!)).labels]).toEqual([
      ['b', 'c'],
      ['b', 'c'],
    ])
    await undo(reply.changeId)
    expect([(await get(made[0]!)).labels, (await get(made[1]!)).labels]).toEqual([['a', 'b'], ['b']])
  })

  test('unless they have the labels, or would have too many', async () => {
    const many = Array.from({ length: 20 }, (_, index) => `label ${index}`)
    const made = [await create({ labels: ['a'] }), await create({ labels: many })]
    const reply = await change('label', { postIds: ids(made), addLabels: ['a'] })
    expect(results(reply)).toEqual(['unchanged', 'validation_failed'])
    expect(reply.changeId).toBeNull()
  })
})

describe('reviews', () => {
  let ann: SeededUser

  beforeEach(async () => {
    ann = await seedUser(app, `ann-${randomUUID()}`)
    await seedMember(app, workspaceId, ann, { role: 'editor' })
    const stages = [{ name: 'Legal', approvers: { userIds: [ann.id] } }]
    const reply = await send('PUT /api/approvals/{workspaceId}/flow', { stages }, { workspaceId })
    expect(reply.status, reply.text).toBe(200)
  })

  test('begin and are decided together, each for the content that was seen', async () => {
    const made = [await create(at('2026-12-24T18:00')), await create(), await create()]
    const submitted = await change('submit', { postIds: ids(made).slice(1) })
    expect(submitted.results.map(({ status }) => status)).toEqual(['in_review', 'in_review'])
    const dry = await change('approval', { filter: { status: ['in_review'] }, decision: 'approve', dryRun: true }, ann)
    expect(dry).toMatchObject({ changedCount: 3, refusedCount: 0 })
    expect((await get(made[0]!)).status).toBe('in_review')
    const contentHashes = Object.fromEntries(dry.results.map(({ contentHash, postId }) => [postId, contentHash]))
    await send('PATCH /api/posts/{id}', { content: 'Changed' }, { id: made[1]?._id ?? '' })
    const decided = await change('approval', { postIds: ids(made), decision: 'approve', contentHashes }, ann)
    expect(results(decided)).toEqual(['changed', 'conflict', 'changed'])
    expect(decided.results.map(({ status }) => status)).toEqual(['scheduled', 'in_review', 'ready'])
    const path = { changeId: decided.changeId ?? '' }
    const others = await send('POST /api/posts/bulk/approval/{changeId}/undo', undefined, path)
    expect([others.status, others.text]).toEqual([403, expect.stringContaining('Only the person who made')])
    const undone = await send('POST /api/posts/bulk/approval/{changeId}/undo', undefined, path, ann)
    expect(undone.status, undone.text).toBe(200)
    expect(undone.body.data.results.map(({ status }: { status: string }) => status)).toEqual(['in_review', 'in_review'])
    expect((await get(made[0]!)).approval).toMatchObject({ status: 'open', decisions: [], approverIds: [ann.id] })
    const again = await change('approval', { postIds: [made[0]?._id], decision: 'approve' }, ann)
    expect(again.results[0]?.status).toBe('scheduled')
  })

  test('open again when an approved post is moved, and an undo restores the approval', async () => {
    const post = await create(at('2026-12-24T18:00'))
    await change('approval', { postIds: [post._id], decision: 'approve' }, ann)
    const approved = await get(post)
    const reply = await change('reschedule', { postIds: [post._id], shift: { days: 1 } })
    expect(reply.results[0]).toMatchObject({
      status: 'in_review',
      note: expect.stringContaining('went back into review'),
    })
    await undo(reply.changeId)
    expect(lasting(await get(post))).toEqual(lasting(approved))
  })

  test('are not restored into another flow', async () => {
    const post = await create(at('2026-12-24T18:00'))
    const reply = await change('cancel', { postIds: [post._id] })
    clock.advance(MINUTE)
    const stages = [{ name: 'Boss', approvers: { userIds: [owner.id] } }]
    await send('PUT /api/approvals/{workspaceId}/flow', { stages }, { workspaceId })
    expect(results(await undo(reply.changeId))).toEqual(['conflict'])
  })

  test('notify nobody of a dry run', async () => {
    const post = await create(at('2026-12-24T18:00'))
    const told = async () => {
      const query = { workspaceId }
      const { body } = await app.send('GET /api/notifications', { apiKey: owner.apiKey, query })
      return (body.data as { title: string }[]).length
    }
    const dry = await change('approval', { postIds: [post._id], decision: 'reject', dryRun: true }, ann)
    expect(dry.changedCount).toBe(1)
    await change('approval', { postIds: [post._id], decision: 'reject' }, ann)
    await waitFor(async () => (await told()) > 0)
    expect(await told()).toBe(1)
  })
})

test('a filter that matches too many posts, or nothing, says so', async () => {
  const none = await change('cancel', { filter: { label: ['nothing'] } })
  expect(none).toMatchObject({ changeId: null, results: [] })
  const neither = await send('POST /api/posts/bulk/cancel', { workspaceId })
  expect([neither.status, neither.text]).toEqual([400, expect.stringContaining('postIds is required, or `filter`')])
  const posts = Array.from({ length: 201 }, (_, index) => ({ content: `Post ${index}`, labels: ['many'] }))
  await send('POST /api/posts/bulk', { workspaceId, posts })
  const many = await send('POST /api/posts/bulk/cancel', { workspaceId, filter: { label: ['many'] } })
  expect([many.status, many.text]).toEqual([400, expect.stringContaining('matches more than 200 posts')])
})

test('posts of another workspace are not found', async () => {
  const post = await create(at('2026-12-24T18:00'))
  const other = await seedUser(app, `other-${randomUUID()}`)
  const theirs = await seedWorkspace(app, 'Other', other)
  const reply = await send('POST /api/posts/bulk/cancel', { workspaceId: theirs, postIds: [post._id] }, {}, other)
  expect(results(reply.body.data)).toEqual(['not_found'])
  expect((await get(post)).status).toBe('scheduled')
})

describe('a copy of a post', () => {
  test('has its content and accounts, and is a draft', async () => {
    const override = { content: 'For Mastodon', options: { visibility: 'unlisted' } }
    const post = await create({ ...at('2026-12-24T18:00'), labels: ['a'], targets: [{ accountId, override }] })
    const reply = await send('POST /api/posts/{id}/copy', {}, { id: post._id })
    expect(reply.status, reply.text).toBe(201)
    const { content, labels, scheduledFor, status, targets } = reply.body.data as PostData
    expect({ content, labels, scheduledFor, status }).toEqual({
      content: post.content,
      labels: ['a'],
      scheduledFor: null,
      status: 'draft',
    })
    expect(targets.map(({ override: own }) => own)).toEqual([override])
  })

  test('goes to other accounts at a time', async () => {
    const post = await create()
    const other = await connected('bluesky')
    const body = { accountIds: [other], ...at('2026-12-24T18:00') }
    const reply = await send('POST /api/posts/{id}/copy', body, { id: post._id })
    expect(reply.body.data).toMatchObject({ status: 'scheduled', targets: [{ accountId: other }] })
  })

  test('leaves out an account that is gone, and says so', async () => {
    const other = await connected('bluesky')
    const post = await create({ targets: [{ accountId }, { accountId: other }] })
    const removed = await send('DELETE /api/social-accounts/{id}', undefined, { id: other })
    expect(removed.status, removed.text).toBe(200)
    const reply = await send('POST /api/posts/{id}/copy', undefined, { id: post._id })
    expect(reply.status, reply.text).toBe(201)
    expect(reply.body.message).toContain('without accounts that no longer exist')
    expect((reply.body.data as PostData).targets.map((target) => target.accountId)).toEqual([accountId])
  })
})
