import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ManualClock, MINUTE } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { seedMember, seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'

let app: App
let owner: SeededUser
let workspaceId: string
let accountId: string
let sandboxUrl: string
const clock = new ManualClock(Date.now())
const folder = mkdtempSync(join(tmpdir(), 'rules-'))
const file = join(folder, 'rules.json')

interface Rule {
  readonly rule: string
  readonly value: unknown
  readonly origin: string
  readonly source: string
}

beforeAll(async () => {
  writeFileSync(file, '{ "mastodon": { "media.max": 3, "hashtags.max": 5 } }')
  app = await startApp({ clock, env: { PLATFORM_RULES_FILE: file } })
  owner = await seedUser(app, 'owner')
  workspaceId = await seedWorkspace(app, 'Accounts', owner)
  const { body } = await get('mastodon')
  sandboxUrl = body.data.sandboxUrl as string
})
afterAll(async () => {
  await app.stop()
  rmSync(folder, { recursive: true })
})

// Each test uses its own account, because capabilities are cached by account.
beforeEach(async () => {
  accountId = await connect('mastodon')
})

async function connect(platform: string): Promise<string> {
  const body = { workspaceId, platform, sandbox: true }
  for (const { _id: id } of (await list()) as { _id: string }[]) {
    await app.send('POST /api/limits/accounts/{id}/archive', { apiKey: owner.apiKey, path: { id } })
  }
  const reply = await app.send('POST /api/social-accounts', { apiKey: owner.apiKey, body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data._id as string
}

async function list() {
  return (await app.send('GET /api/social-accounts', { apiKey: owner.apiKey, query: { workspaceId } })).body.data
}

function get(platform: string, query: Record<string, string> = {}, apiKey?: string) {
  return app.send('GET /api/platforms/{platform}', {
    path: { platform },
    query,
    ...(apiKey !== undefined && { apiKey }),
  })
}

const getAccount = () => get('mastodon', { accountId }, owner.apiKey)

function fault(body: object) {
  const headers = { 'Content-Type': 'application/json' }
  return fetch(`${sandboxUrl}/_sandbox/faults`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ times: 1, ...body }),
  })
}

function ruleOf(data: unknown, id: string): Rule | undefined {
  return (data as { rules: Rule[] }).rules.find(({ rule }) => rule === id)
}

test('anyone can read the rules of a platform, with the limits of the operator', async () => {
  const { body, status } = await get('mastodon')
  expect(status).toBe(200)
  expect(body.data.account).toBeNull()
  expect(ruleOf(body.data, 'text.max')).toMatchObject({ value: 500, origin: 'rule', confidence: 'read' })
  expect(ruleOf(body.data, 'media.max')).toMatchObject({ value: 3, origin: 'operator', source: 'your administrator' })
  expect(ruleOf(body.data, 'hashtags.max')).toMatchObject({ value: 5, origin: 'operator' })
})

test('the options of a platform are described as JSON Schema', async () => {
  const { body } = await get('tiktok')
  expect(body.data.options).toMatchObject({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    additionalProperties: false,
    properties: {
      privacy_level: { title: 'Privacy level', type: 'string', enum: expect.arrayContaining(['SELF_ONLY']) },
      photo_cover_index: { title: 'Photo cover index', type: 'integer', minimum: 0 },
    },
  })
})

test.each([
  ['pinterest', 'board_id'],
  ['reddit', 'subreddit'],
  ['wordpress', 'categories'],
  ['tiktok', 'privacy_level'],
])('an account of %s lists what it can choose of %s', async (platform, option) => {
  const id = await connect(platform)
  const { body } = await get(platform, { accountId: id }, owner.apiKey)
  const [first] = body.data.account.choices as { option: string; values: { value: string; title: string }[] }[]
  expect(first).toMatchObject({
    option,
    values: expect.arrayContaining([expect.objectContaining({ title: expect.any(String) })]),
  })
  expect(body.data.options.properties).toHaveProperty(option)
})

test('replies have a tag, and who knows it gets no body', async () => {
  for (const path of [{}, { platform: 'mastodon' }, { platform: 'mastodon', accountId }]) {
    const route = 'platform' in path ? 'GET /api/platforms/{platform}' : 'GET /api/platforms'
    const { accountId: id, ...rest } = path as { accountId?: string }
    const options = { path: rest, ...(id && { query: { accountId: id } }), apiKey: owner.apiKey }
    const first = await app.send(route, options)
    const tag = first.headers.get('etag')
    expect(tag).toMatch(/^"[\w-]{22}"$/)
    const known = await app.send(route, { ...options, headers: { 'If-None-Match': tag ?? '' } })
    expect([known.status, known.text]).toEqual([304, ''])
    const other = await app.send(route, { ...options, headers: { 'If-None-Match': '"other"' } })
    expect(other.text).toBe(first.text)
  }
})

test('the file of the operator is read again when it changes', async () => {
  writeFileSync(file, '{ "mastodon": { "media.max": 2 } }')
  await waitFor(async () => ruleOf((await get('mastodon')).body.data, 'media.max')?.value === 2)
  writeFileSync(file, '{ "mastodon": { "media.most": 1 } }')
  const named = () => app.logs.some(({ reason }) => String(reason).includes('has no rule “media.most”'))
  await waitFor(named, { what: 'the error in the log' })
  expect(ruleOf((await get('mastodon')).body.data, 'media.max')?.value).toBe(2)
})

test('an account without a reply of its platform has the rules of that platform', async () => {
  for (const platform of ['threads', 'reddit']) {
    const id = await connect(platform)
    const failedAt = new Date(clock.now()).toISOString()
    await app.database.run('delete from social_account_reports where account_id = $1', [id])
    await app.database.run(
      `insert into social_account_reports (account_id, error, failed_at) values ($1, 'It is away.', $2)`,
      [id, failedAt],
    )
    const { body } = await get(platform, { accountId: id }, owner.apiKey)
    expect(body.data.account).toMatchObject({ accountId: id, checkedAt: null, error: 'It is away.' })
    expect(body.data.rules).toEqual((await get(platform)).body.data.rules)
  }
})

describe('with an account', () => {
  test('the platform’s reply wins, and its budgets are shown', async () => {
    const { body, status, text } = await getAccount()
    expect(status, text).toBe(200)
    expect(ruleOf(body.data, 'media.max')).toMatchObject({ value: 4, origin: 'live', source: 'the account, live' })
    expect(body.data.account).toMatchObject({
      accountId,
      status: 'connected',
      canPublish: true,
      unavailable: [],
      details: { version: '4.3.0' },
      checkedAt: new Date(clock.now()).toISOString(),
      error: null,
      budgets: [
        { name: 'api', limit: 300, remaining: expect.any(Number), resetsAt: expect.any(String) },
        // What was published elsewhere is unknown.
        { name: 'posts.perHour', limit: 100, remaining: null, resetsAt: null, reportedAt: null },
      ],
    })
  })

  test('the platform is asked again only after ten minutes', async () => {
    const checkedAt = async () => (await getAccount()).body.data.account.checkedAt as string
    const first = await checkedAt()
    clock.advance(9 * MINUTE)
    expect(await checkedAt()).toBe(first)
    clock.advance(2 * MINUTE)
    expect(await checkedAt()).toBe(new Date(clock.now()).toISOString())
  })

  test('a failing platform gives the last reply with its time', async () => {
    const first = (await getAccount()).body.data.account
    clock.advance(11 * MINUTE)
    await fault({ kind: 'status', status: 503, path: '/api/v2/instance' })
    const { body, status } = await getAccount()
    expect(status).toBe(200)
    expect(body.data.account).toMatchObject({
      checkedAt: first.checkedAt,
      details: first.details,
      error: expect.stringContaining('Mastodon has a problem at the moment'),
    })
    expect(ruleOf(body.data, 'media.max')).toMatchObject({ value: 4, origin: 'live' })
    clock.advance(MINUTE)
    expect((await getAccount()).body.data.account).toMatchObject({ error: null })
  })

  test('a platform that has never replied leaves the rules of the platform', async () => {
    await fault({ kind: 'refuse', path: '/api/v2/instance' })
    const { body, status } = await getAccount()
    expect(status).toBe(200)
    expect(body.data.account).toMatchObject({ checkedAt: null, details: null, error: expect.any(String) })
    expect(ruleOf(body.data, 'text.max')).toMatchObject({ origin: 'rule' })
  })

  test('a platform that does not answer holds nobody up, and its late reply counts', async () => {
    await fault({ kind: 'slow', delayMs: 4_000, path: '/api/v2/instance' })
    const { body, status } = await getAccount()
    expect(status).toBe(200)
    expect(body.data.account).toMatchObject({ error: 'The platform has not answered within 3 seconds.' })
    await waitFor(async () => (await getAccount()).body.data.account.error === null)
  })

  test('an archived account cannot publish, and the reason is given', async () => {
    await app.send('POST /api/limits/accounts/{id}/archive', { apiKey: owner.apiKey, path: { id: accountId } })
    expect((await getAccount()).body.data.account).toMatchObject({
      status: 'archived',
      canPublish: false,
      unavailable: [{ capability: 'publish', reason: expect.any(String) }],
    })
  })

  test('callers without access to the account get 404', async () => {
    const stranger = await seedUser(app, 'stranger')
    const member = await seedUser(app, 'member')
    await seedMember(app, workspaceId, member, { scopes: ['media:read'] })
    expect((await get('mastodon', { accountId })).status).toBe(404)
    expect((await get('mastodon', { accountId }, member.apiKey)).status).toBe(404)
    expect((await get('mastodon', { accountId }, stranger.apiKey)).status).toBe(404)
    expect((await get('telegram', { accountId }, owner.apiKey)).status).toBe(404)
    const unknown = '019a0000-0000-7000-8000-00000000dead'
    expect((await get('mastodon', { accountId: unknown }, owner.apiKey)).status).toBe(404)
    await seedMember(app, workspaceId, member, { scopes: ['accounts:read'] })
    expect((await get('mastodon', { accountId }, member.apiKey)).status).toBe(200)
  })
})
