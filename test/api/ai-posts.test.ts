import { LLMock } from '@copilotkit/aimock'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOUR, ManualClock, MINUTE } from '../../src/core/clock.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { login, PASSWORD } from '../support/people.ts'
import { expectStatus, PostWorld } from '../support/post-world.ts'
import { seedMember, seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import type { SendOptions } from '../support/send.ts'
import { waitFor } from '../support/wait.ts'

/** What a model wrote is marked in posts, and published only after a person or a rule of the workspace has decided so. */

const NOTES = 'The notes of the caller name the harbour, the old crane and the ferry at half past seven.'
const WRITTEN = 'Nine trucks, four days and one very tired drummer: that is how a tour begins. Come and hear it.'
const clock = new ManualClock(Date.parse('2026-11-30T08:00:00Z'))
const mock = new LLMock({ host: '127.0.0.1', port: 0 })
let app: App
let owner: SeededUser
let ann: SeededUser
let world: PostWorld
let accountId: string
let aiJobId: string
let tokens: Record<string, string>

beforeAll(async () => {
  mock.on({}, () => ({
    content: JSON.stringify({ captions: [{ title: '', text: `${WRITTEN} ${NOTES}`, hashtags: ['#tour'] }] }),
  }))
  await mock.start()
  const env = { AI_BASE_URL: `${mock.url}/v1`, AI_MODELS: 'small' }
  app = await startApp({ clock, jobTimes: QUICK, env })
  owner = await seedUser(app, 'owner', { plan: 'business' })
  ann = await seedUser(app, 'ann')
  const workspaceId = await seedWorkspace(app, 'Tour', owner)
  await seedMember(app, workspaceId, ann, { role: 'editor' })
  world = new PostWorld({ app, clock, owner, workspaceId })
  accountId = await world.account()
  tokens = { owner: await session(owner), ann: await session(ann) }
})
afterAll(async () => {
  await app?.stop()
  await mock.stop()
})

async function session({ email }: SeededUser): Promise<string> {
  return expectStatus(await login(app, email, PASSWORD), 200).data.accessToken
}

/** Sends as a member in a login session. */
const inSession = (route: string, options: SendOptions = {}, who = 'owner') =>
  app.send(route, { token: tokens[who], ...options })
const bodyOf = (content: string, more: object = {}) => ({
  workspaceId: world.workspaceId,
  content,
  targets: [{ accountId }],
  ...more,
})
const byKey = (content: string, more: object = {}) => world.send('POST /api/posts', { body: bodyOf(content, more) })
const byPerson = (content: string, more: object = {}) => inSession('POST /api/posts', { body: bodyOf(content, more) })
const soon = () => ({ scheduledFor: world.later(HOUR) })
const idOf = ({ body }: { body: { data: PostData } }) => body.data._id
const refusal = { status: 409, body: { code: 'model_text_not_released', details: { models: ['small'] } } }
const set = (body: object) =>
  world.send('PATCH /api/workspaces/{workspaceId}/ai-settings', { path: { workspaceId: world.workspaceId }, body })

test('before a model wrote anything, its words are as good as others', async () => {
  expect(expectStatus(await byKey(WRITTEN, soon()), 201).data).toMatchObject({ status: 'scheduled', textOrigin: null })
  const asked = await world.send('POST /api/ai/captions', {
    body: { workspaceId: world.workspaceId, text: NOTES, variantCount: 1 },
  })
  aiJobId = expectStatus(asked, 202).data._id
  await waitFor(async () => {
    const { data } = (await world.send('GET /api/ai/jobs/{id}', { path: { id: aiJobId } })).body
    return data.state === 'done'
  })
})

describe('a text of a model', () => {
  const mark = () => ({ aiJobIds: [aiJobId], models: ['small'] })

  test.each([
    ['as it is', WRITTEN],
    ['without its hashtags, in other letters', WRITTEN.toUpperCase().replace(',', ' —')],
    ['with words around it', `Dear friends! ${WRITTEN} Tickets at https://tickets.example #live`],
    ['with its beginning cut off', WRITTEN.replace('Nine trucks, four days and ', '')],
    ['with one word changed', WRITTEN.replace('drummer', 'bassist')],
  ])('is marked in a draft and not published with an API key: %s', async (_how, content) => {
    const draft = await byKey(content)
    expect(expectStatus(draft, 201).data.textOrigin).toEqual({
      ...mark(),
      release: null,
      releasedBy: null,
      releasedAt: null,
    })
    expect(await world.on(idOf(draft), 'publish')).toMatchObject(refusal)
    expect(await world.on(idOf(draft), 'reschedule', { body: soon() })).toMatchObject(refusal)
    expect(await byKey(content, soon())).toMatchObject(refusal)
    expect(await byKey(content, { publishNow: true })).toMatchObject(refusal)
  })

  test('is reported by a dry run where an API key could not schedule it', async () => {
    const problems = async (more: object, send: typeof inSession = (route, options) => world.send(route, options)) => {
      const { data } = expectStatus(await send('POST /api/posts/validate', { body: bodyOf(WRITTEN, more) }), 200)
      return { isValid: data.isValid, problems: data.problems }
    }
    const refused = {
      isValid: false,
      problems: [
        {
          code: 'model_text_not_released',
          nextStep: expect.stringContaining('autoPublishModelText'),
          details: { aiJobIds: [aiJobId], models: ['small'] },
        },
      ],
    }
    const accepted = { isValid: true, problems: [] }
    expect(await problems(soon())).toMatchObject(refused)
    expect(await problems({ publishNow: true })).toMatchObject(refused)
    const recurrence = { rrule: 'FREQ=DAILY;COUNT=2', variations: [{ content: WRITTEN }] }
    expect(await problems({ content: 'Our own words', ...soon(), recurrence })).toMatchObject(refused)
    expect(await problems({})).toEqual(accepted)
    expect(await problems(soon(), inSession)).toEqual(accepted)
  })

  test.each([
    'title',
    'firstComment',
    'thread',
    'override',
    'media',
    'media of the thread',
    'media of the override',
    'asset',
    'options',
  ])('is found in the field %s', async (field) => {
    const assetId = await world.picture()
    if (field === 'asset') {
      const renamed = await world.send('PATCH /api/assets/{id}', { path: { id: assetId }, body: { altText: WRITTEN } })
      expect(expectStatus(renamed, 200).data.altTextOrigin).toEqual(mark())
    }
    const media = [{ assetId, altText: WRITTEN }]
    const more = {
      title: { title: WRITTEN },
      firstComment: { firstComment: WRITTEN },
      thread: { thread: [{ content: WRITTEN }] },
      override: { targets: [{ accountId, override: { content: WRITTEN } }] },
      media: { media },
      'media of the thread': { thread: [{ content: 'More', media }] },
      'media of the override': { targets: [{ accountId, override: { media } }] },
      asset: { media: [assetId] },
      options: { targets: [{ accountId, override: { options: { spoiler_text: WRITTEN } } }] },
    }[field]
    const draft = await byKey('Our own words', { draft: true, ...more })
    expect(expectStatus(draft, 201).data.textOrigin).toMatchObject(mark())
    expect(await world.on(idOf(draft), 'publish')).toMatchObject(refusal)
  })

  test.each([
    ['what the caller gave the model', NOTES],
    ['other words', 'Nine trucks left the yard this morning, and nobody knows why.'],
    ['a few words in common', 'Come and hear it. Nine trucks.'],
  ])('is not %s', async (_what, content) => {
    expect(expectStatus(await byKey(content, soon()), 201).data).toMatchObject({
      status: 'scheduled',
      textOrigin: null,
    })
  })
})

describe('a decision of a person', () => {
  const person = () => ({ release: 'person', releasedBy: owner.id, releasedAt: new Date(clock.now()).toISOString() })

  test('is made by scheduling in a session, and kept while the text stays', async () => {
    const made = await byPerson(WRITTEN, soon())
    expect(expectStatus(made, 201).data).toMatchObject({ status: 'scheduled', textOrigin: person() })
    const id = idOf(made)
    const moved = await world.on(id, 'reschedule', { body: { scheduledFor: world.later(2 * HOUR) } })
    expect(expectStatus(moved, 200).data.textOrigin.release).toBe('person')
    const labels = await world.on(id, 'PATCH ', { body: { labels: ['tour'] } })
    expect(expectStatus(labels, 200).data.textOrigin.release).toBe('person')
    const { data } = (await world.on(id, 'GET versions')).body
    expect(data.at(-1)).toMatchObject({ version: 1, textOrigin: { release: 'person', releasedBy: owner.id } })
  })

  test('is made by publishing a draft of an API key', async () => {
    const id = idOf(await byKey(WRITTEN))
    const published = await inSession('POST /api/posts/{id}/publish', { path: { id } })
    expect(expectStatus(published, 200).data.textOrigin).toMatchObject(person())
  })

  test('does not cover another text of a model, and ends when the post is taken back', async () => {
    const id = idOf(await byPerson('Our own words', soon()))
    expect(await world.on(id, 'PATCH ', { body: { content: WRITTEN } })).toMatchObject(refusal)
    const edited = await inSession('PATCH /api/posts/{id}', { path: { id }, body: { content: WRITTEN } })
    expect(expectStatus(edited, 200).data.textOrigin.release).toBe('person')
    const back = await world.on(id, 'PATCH ', { body: { scheduledFor: null } })
    expect(expectStatus(back, 200).data).toMatchObject({ status: 'draft', textOrigin: { release: null } })
    expect(await world.on(id, 'publish')).toMatchObject(refusal)
    const own = await world.on(id, 'PATCH ', { body: { content: 'Our own words again', ...soon() } })
    expect(expectStatus(own, 200).data).toMatchObject({ status: 'scheduled', textOrigin: null })
    expect(await world.on(id, 'POST versions/{version}/restore', { path: { version: '1' } })).toMatchObject({
      status: 200,
    })
  })
})

test('a rule of the workspace lets API keys publish, and is recorded', async () => {
  expectStatus(await set({ autoPublishModelText: true }), 200)
  const made = await byKey(WRITTEN, soon())
  expect(expectStatus(made, 201).data.textOrigin).toMatchObject({ release: 'rule', releasedBy: owner.id })
  const checked = await world.send('POST /api/posts/validate', { body: bodyOf(WRITTEN, soon()) })
  expect(expectStatus(checked, 200).data).toMatchObject({ isValid: true, problems: [] })
  expectStatus(await set({ autoPublishModelText: false }), 200)
  expect(await byKey(WRITTEN, soon())).toMatchObject(refusal)
})

test('rows of an import are refused one by one', async () => {
  const csv = `Content,Scheduled For,Timezone,Accounts\n"${WRITTEN}",2026-12-05 09:00,UTC,${accountId}\nOur own words,2026-12-05 10:00,UTC,${accountId}\n`
  const body = { workspaceId: world.workspaceId, csv, partial: true }
  const { data } = expectStatus(await world.send('POST /api/posts/bulk', { body }), 201)
  expect(data).toMatchObject({ createdCount: 1, refusedCount: 1 })
  expect(data.rows[0].errors).toMatchObject([{ code: 'model_text_not_released' }])
  const all = expectStatus(await inSession('POST /api/posts/bulk', { body }), 201).data
  expect(all).toMatchObject({ createdCount: 2, refusedCount: 0 })
  expect((await world.get(all.rows[0].postId)).textOrigin).toMatchObject({ release: 'person', releasedBy: owner.id })
})

describe('recurring posts', () => {
  const recurrence = { rrule: 'FREQ=DAILY;COUNT=3', variations: [{ content: WRITTEN }] }
  const occurrences = async (seriesId: string): Promise<PostData[]> => {
    const query = { workspaceId: world.workspaceId, seriesId, sort: 'scheduledFor' }
    return waitFor(async () => {
      const { data } = (await world.send('GET /api/posts', { query })).body
      return data.length === 3 ? data : undefined
    })
  }

  test('are not begun or changed with an API key if a variation is of a model', async () => {
    expect(await byKey('Our own words', { ...soon(), recurrence })).toMatchObject(refusal)
    const own = { rrule: 'FREQ=DAILY;COUNT=3', variations: [{ content: 'Other words of ours' }] }
    const { seriesId } = expectStatus(await byKey('Our own words', { ...soon(), recurrence: own }), 201).data
    await occurrences(seriesId)
    const change = { path: { seriesId }, body: { content: WRITTEN } }
    expect(await world.send('PATCH /api/posts/series/{seriesId}', change)).toMatchObject(refusal)
    expectStatus(await inSession('PATCH /api/posts/series/{seriesId}', change), 200)
    const [first] = await occurrences(seriesId)
    expect(first).toMatchObject({ status: 'scheduled', textOrigin: { release: 'person' } })
  })

  test('are released by the person who began them', async () => {
    const begun = await byPerson('Our own words', { ...soon(), recurrence })
    const [first, second, third] = await occurrences(expectStatus(begun, 201).data.seriesId)
    expect([first?.textOrigin, third?.textOrigin]).toEqual([null, null])
    expect(second).toMatchObject({ status: 'scheduled', textOrigin: { release: 'person', releasedBy: owner.id } })
  })
})

describe('with an approval flow', () => {
  const path = () => ({ workspaceId: world.workspaceId })
  const decide = (id: string, options: SendOptions) =>
    app.send('POST /api/posts/{id}/approval', { path: { id }, body: { decision: 'approve' }, ...options })
  const flow = (stage: object = {}) =>
    world.send('PUT /api/approvals/{workspaceId}/flow', {
      path: path(),
      body: { stages: [{ name: 'Desk', approvers: { userIds: [ann.id] }, ...stage }] },
    })

  test('an API key submits, and only the approval of a person releases', async () => {
    expectStatus(await flow(), 200)
    const checked = await world.send('POST /api/posts/validate', { body: bodyOf(WRITTEN, soon()) })
    expect(expectStatus(checked, 200).data).toMatchObject({ isValid: true, problems: [] })
    const made = await byKey(WRITTEN, soon())
    expect(expectStatus(made, 201).data).toMatchObject({ status: 'in_review', textOrigin: { release: null } })
    expect(await decide(idOf(made), { apiKey: ann.apiKey })).toMatchObject(refusal)
    const approved = expectStatus(await decide(idOf(made), { token: tokens['ann'] }), 200).data
    expect(approved).toMatchObject({
      status: 'scheduled',
      textOrigin: { release: 'approval', releasedBy: ann.id, releasedAt: new Date(clock.now()).toISOString() },
    })
  })

  test('a deadline that passes releases nothing', async () => {
    expectStatus(await flow({ deadlineHours: 1, afterDeadline: 'skip' }), 200)
    const id = idOf(await byKey(WRITTEN, { scheduledFor: world.later(48 * HOUR) }))
    clock.advance(HOUR + MINUTE)
    const held = await world.until(id, ({ status }) => status === 'draft')
    expect(held.targets[0]?.statusReason).toMatchObject({ code: 'model_text_not_released', whoActs: 'user' })
    // The access tokens have expired by now.
    tokens = { owner: await session(owner), ann: await session(ann) }
    const again = await inSession('POST /api/posts/{id}/publish', { path: { id } })
    // Another time needs another approval.
    const person = { release: 'person', releasedBy: owner.id }
    expect(expectStatus(again, 200).data).toMatchObject({ status: 'in_review', textOrigin: person })
    const approved = await decide(id, { token: tokens['ann'] })
    expect(expectStatus(approved, 200).data).toMatchObject({ status: 'scheduled', textOrigin: { releasedBy: ann.id } })
    await world.passing(id, ({ status }) => status === 'published')
  })
})
