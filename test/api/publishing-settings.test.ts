import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { ManualClock, MINUTE } from '../../src/core/clock.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { addFault, sandboxPosts } from '../support/sandbox-faults.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'

/** The effects of a user's publishing settings. */

let app: App
let owner: SeededUser
let workspaceId: string
let mastodon: string
let pinterest: string
const clock = new ManualClock(Date.parse('2026-11-30T08:00:00Z'))

beforeAll(async () => {
  app = await startApp({ clock, jobTimes: QUICK })
  owner = await seedUser(app, 'owner')
  workspaceId = await seedWorkspace(app, 'Settings', owner)
  mastodon = await account('mastodon')
  pinterest = await account('pinterest')
})
afterEach(() =>
  set({
    defaultTimezone: null,
    queueSlots: [],
    defaultFirstComment: '',
    utm: { enabled: false },
    autoRetry: { enabled: true, maxAttempts: null },
  }),
)
afterAll(() => app?.stop())

const as = () => ({ apiKey: owner.apiKey })

async function account(platform: string): Promise<string> {
  const reply = await app.send('POST /api/social-accounts', { ...as(), body: { workspaceId, platform, sandbox: true } })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data._id
}

async function set(body: object): Promise<void> {
  const reply = await app.send('PATCH /api/users/me/settings/publishing', { ...as(), body })
  expect(reply.status, reply.text).toBe(200)
}

async function create(body: object): Promise<PostData> {
  const reply = await app.send('POST /api/posts', { ...as(), body: { workspaceId, ...body } })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}

const validate = async (body: object) =>
  (await app.send('POST /api/posts/validate', { ...as(), body: { workspaceId, ...body } })).body.data
const at = (accountId: string) => [{ accountId }]

async function ended(id: string, status: string): Promise<PostData> {
  return waitFor(async () => {
    const post = (await app.send('GET /api/posts/{id}', { ...as(), path: { id } })).body.data as PostData
    return post.status === status ? post : undefined
  })
}

test('new posts have the default time zone, unless they name one', async () => {
  await set({ defaultTimezone: 'America/New_York' })
  const timed = { content: 'zone', scheduledFor: '2026-12-01T09:00', targets: at(mastodon) }
  const expected = { scheduledFor: '2026-12-01T14:00:00.000Z', timezone: 'America/New_York' }
  expect(await create(timed)).toMatchObject(expected)
  expect(await validate({ ...timed, scheduledFor: '2026-12-01T10:00' })).toMatchObject({
    scheduledFor: '2026-12-01T15:00:00.000Z',
  })
  const own = await create({ ...timed, timezone: 'Europe/Berlin' })
  expect(own.scheduledFor).toBe('2026-12-01T08:00:00.000Z')
})

test('new posts have the default first comment, at accounts that take comments', async () => {
  await set({ defaultFirstComment: 'Subscribe!' })
  const post = await create({ content: 'comment', draft: true, targets: [...at(mastodon), ...at(pinterest)] })
  expect(post.firstComment).toBe('Subscribe!')
  expect(post.targets.map(({ override }) => override)).toEqual([null, { firstComment: null }])
  expect((await create({ content: 'none', draft: true, firstComment: null })).firstComment).toBeNull()
  expect((await create({ content: 'own', draft: true, firstComment: 'Mine' })).firstComment).toBe('Mine')
  const sent = await create({ content: 'with the default comment', publishNow: true, targets: at(mastodon) })
  await ended(sent._id, 'published')
  expect((await sandboxPosts(app, 'mastodon')).filter(({ text }) => text === 'Subscribe!')).toHaveLength(1)
})

test('links of new posts get the parameters of the campaign', async () => {
  await set({ utm: { enabled: true, source: 'crier', medium: '', campaign: 'spring' } })
  const query = 'utm_source=crier&utm_campaign=spring'
  const post = await create({
    content: 'Read https://example.com/a, then https://example.com/b?utm_source=mail.',
    link: 'https://example.com/c',
    firstComment: 'More: https://example.com/d',
    targets: [{ accountId: mastodon, override: { content: 'https://example.com/e' } }],
    draft: true,
  })
  expect(post).toMatchObject({
    content: `Read https://example.com/a?${query}, then https://example.com/b?utm_source=mail.`,
    link: `https://example.com/c?${query}`,
    firstComment: `More: https://example.com/d?${query}`,
    targets: [{ override: { content: `https://example.com/e?${query}` } }],
  })
})

test('own queue slots count until the workspace has a queue', async () => {
  await set({ queueSlots: [{ weekday: 'tuesday', time: '18:00' }], defaultTimezone: 'America/New_York' })
  const preview = await app.send('GET /api/posts/queue/preview', {
    ...as(),
    query: { workspaceId, accountIds: [mastodon] },
  })
  expect(preview.body.data.slots[0]).toMatchObject({ localTime: '2026-12-01T18:00:00', timezone: 'America/New_York' })
  const queued = { content: 'queued', queue: true, targets: at(mastodon) }
  expect(await validate(queued)).toMatchObject({ scheduledFor: '2026-12-01T23:00:00.000Z' })
  expect((await create(queued)).localTime).toBe('2026-12-01T18:00:00')
  expect((await create(queued)).localTime).toBe('2026-12-08T18:00:00')
  const body = { workspaceId, slots: [{ weekday: 'wednesday', time: '07:00' }] }
  const replaced = await app.send('PUT /api/posts/queue', { ...as(), headers: { 'if-match': '"0"' }, body })
  expect(replaced.status, replaced.text).toBe(200)
  expect((await create({ ...queued, timezone: 'UTC' })).localTime).toBe('2026-12-02T07:00:00')
})

const retried = (targets: PostData['targets']) => targets.map(({ attemptCount, status }) => [status, attemptCount])

test('a post is tried as often as its author allows, and says so', async () => {
  await set({ autoRetry: { enabled: false } })
  await addFault(app, 'mastodon', { path: '/api/v1/statuses', kind: 'status', status: 429, times: 1 })
  const once = await create({ content: 'tried once', publishNow: true, targets: at(mastodon) })
  const failed = await ended(once._id, 'failed')
  expect(retried(failed.targets)).toEqual([['failed', 1]])
  expect(failed.targets[0]?.statusReason?.message).toContain('allow no retries')
  await set({ autoRetry: { enabled: true, maxAttempts: 2 } })
  clock.advance(30 * MINUTE)
  await addFault(app, 'mastodon', { path: '/api/v1/statuses', kind: 'status', status: 429, times: 1 })
  const twice = await create({ content: 'tried twice', publishNow: true, targets: at(mastodon) })
  await waitFor(async () => {
    const { body } = await app.send('GET /api/posts/{id}', { ...as(), path: { id: twice._id } })
    return (body.data as PostData).targets[0]?.nextAttemptAt
  })
  clock.advance(6 * MINUTE)
  expect(retried((await ended(twice._id, 'published')).targets)).toEqual([['published', 2]])
})

test('link shortening is refused, because there is no service for it', async () => {
  const body = { linkShortening: { enabled: true } }
  const reply = await app.send('PATCH /api/users/me/settings/publishing', { ...as(), body })
  expect(reply.status).toBe(400)
  expect(reply.body.errors).toMatchObject([{ path: '/body/linkShortening/enabled', code: 'unavailable' }])
})

test('rows of a bulk request and of a file are written with the settings, and an export makes the same posts again', async () => {
  await set({
    defaultTimezone: 'America/New_York',
    defaultFirstComment: 'Subscribe!',
    utm: { enabled: true, source: 'crier', medium: '', campaign: '' },
  })
  const rows = [
    'content,scheduledFor,accounts',
    `https://example.com/a,2027-01-04 09:00,${mastodon}`,
    `plain,2027-01-05 09:00,"${mastodon},${pinterest}"`,
  ]
  const bulk = (body: object) => app.send('POST /api/posts/bulk', { ...as(), body: { workspaceId, ...body } })
  // Pinterest requires a file, so its row is refused, but not for the comment that nobody has asked for.
  const imported = await bulk({ csv: rows.join('\n'), partial: true })
  expect(imported.status, imported.text).toBe(201)
  expect(JSON.stringify(imported.body.data.rows[1].errors)).not.toContain('first comment')
  const made = await app.send('GET /api/posts/{id}', { ...as(), path: { id: imported.body.data.rows[0].postId } })
  expect(made.body.data).toMatchObject({
    content: 'https://example.com/a?utm_source=crier',
    firstComment: 'Subscribe!',
    scheduledFor: '2027-01-04T14:00:00.000Z',
  })
  const json = [{ content: 'bulk', draft: true, firstComment: null }]
  const { body } = await bulk({ posts: json })
  const silent = await app.send('GET /api/posts/{id}', { ...as(), path: { id: body.data.rows[0].postId } })
  expect(silent.body.data.firstComment).toBeNull()
  for (const empty of ['content,draft,firstComment\nsheet,true,', 'content,draft\nsheet,true']) {
    const reply = await bulk({ csv: empty })
    const id = reply.body.data.rows[0].postId as string
    const post = (await app.send('GET /api/posts/{id}', { ...as(), path: { id } })).body.data as PostData
    // A sheet with the column says itself that there is none.
    expect(post.firstComment).toBe(empty.includes('firstComment') ? null : 'Subscribe!')
  }
})

test('the draft of an idea has the first comment and the campaign of who makes it', async () => {
  await set({ defaultFirstComment: 'Subscribe!', utm: { enabled: true, source: 'crier', medium: '', campaign: '' } })
  const board = await app.send('POST /api/ideas/boards', { ...as(), body: { workspaceId, name: 'Ideas' } })
  expect(board.status, board.text).toBe(201)
  const written = { title: 'Tour', description: 'https://example.com/tour', boardId: board.body.data._id }
  const idea = await app.send('POST /api/ideas', { ...as(), body: { workspaceId, ...written } })
  expect(idea.status, idea.text).toBe(201)
  const draft = await app.send('POST /api/ideas/{id}/convert', { ...as(), path: { id: idea.body.data._id } })
  expect(draft.status, draft.text).toBe(201)
  expect(draft.body.data).toMatchObject({
    content: 'Tour\n\nhttps://example.com/tour?utm_source=crier',
    firstComment: 'Subscribe!',
  })
})
