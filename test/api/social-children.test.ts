import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { connectAtSandbox } from '../support/sandbox-sign-in.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'

let app: App
let owner: SeededUser
let workspaceId: string
let loginId: string

interface Child {
  readonly remoteId: string
  readonly name: string
  readonly blocked: string | null
  readonly accountId: string | null
}

beforeAll(async () => {
  app = await startApp({ clock: new ManualClock(Date.now()) })
  owner = await seedUser(app, 'owner')
  workspaceId = await seedWorkspace(app, 'Pages', owner)
  loginId = await connect('ada')
})
afterAll(() => app.stop())

function connect(account: string, platform = 'facebook') {
  return connectAtSandbox(app, { apiKey: owner.apiKey, workspaceId, platform, account })
}

async function pages(id = loginId): Promise<Child[]> {
  const reply = await app.send('GET /api/social-accounts/facebook/{id}/pages', { apiKey: owner.apiKey, path: { id } })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.data as Child[]
}

function connectPages(pageIds: readonly string[], id = loginId) {
  const body = { pageIds: [...pageIds] }
  return app.send('POST /api/social-accounts/facebook/{id}/pages', { apiKey: owner.apiKey, path: { id }, body })
}

async function details(id: string) {
  return (await app.send('GET /api/social-accounts/{id}', { apiKey: owner.apiKey, path: { id } })).body.data
}

describe('pages of a login', () => {
  test('are listed with the reason why one cannot be connected', async () => {
    const listed = await pages()
    expect(listed.filter(({ blocked }) => blocked === null).length).toBeGreaterThan(0)
    expect(listed.every(({ accountId }) => accountId === null)).toBe(true)
  })

  test('are connected, marked in the list, and listed for the workspace', async () => {
    const free = (await pages()).filter(({ blocked }) => blocked === null).slice(0, 2)
    const reply = await connectPages(free.map(({ remoteId }) => remoteId))
    expect(reply.status, reply.text).toBe(200)
    const connected = reply.body.data as { _id: string; kind: string; loginAccountId: string; status: string }[]
    expect(connected).toMatchObject(free.map(() => ({ kind: 'page', loginAccountId: loginId, status: 'connected' })))
    const marked = (await pages()).flatMap(({ accountId }) => (accountId === null ? [] : [accountId]))
    expect(marked.toSorted()).toEqual(connected.map(({ _id }) => _id).toSorted())
    const { body } = await app.send('GET /api/social-accounts/facebook/pages', {
      apiKey: owner.apiKey,
      query: { workspaceId },
    })
    expect((body.data as { _id: string }[]).map(({ _id }) => _id).toSorted()).toEqual(marked.toSorted())
  })

  test('keep their ids when they are connected again', async () => {
    const before = (await pages()).find(({ accountId }) => accountId !== null)!
    const reply = await connectPages([before.remoteId])
    expect([reply.status, reply.body.data[0]._id]).toEqual([200, before.accountId])
  })

  test('that the login does not manage are refused by name', async () => {
    const [first] = await pages()
    const reply = await connectPages([first!.remoteId, '999'])
    expect([reply.status, reply.body.errors]).toEqual([
      400,
      [{ path: '/body/pageIds/1', code: 'unknown', message: 'is not managed by this login' }],
    ])
  })

  test('are not listed for an account of another kind', async () => {
    const page = (await pages()).find(({ accountId }) => accountId !== null)!
    for (const id of [page.accountId!, await connect('eve', 'mastodon')]) {
      const reply = await app.send('GET /api/social-accounts/facebook/{id}/pages', {
        apiKey: owner.apiKey,
        path: { id },
      })
      expect([reply.status, reply.body.code]).toEqual([400, 'not_supported_by_platform'])
    }
  })

  test('get new tokens when the login is connected again', async () => {
    const page = (await pages()).find(({ accountId }) => accountId !== null)!
    await app.database.run(
      `update social_accounts set broken_reason = 'ended', status = 'reconnect_needed' where id = $1`,
      [page.accountId],
    )
    const version = `select version from social_credentials where account_id = $1`
    const before = await app.database.row<{ version: number }>(version, [page.accountId])
    expect(await connect('ada')).toBe(loginId)
    const after = await app.database.row<{ version: number }>(version, [page.accountId])
    expect(after!.version).toBe(before!.version + 1)
    expect((await details(page.accountId!)).status).toBe('connected')
  })

  test('are removed and restored with their login', async () => {
    const connected = (await pages()).flatMap(({ accountId }) => (accountId === null ? [] : [accountId]))
    const path = { id: loginId }
    const preview = await app.send('GET /api/social-accounts/{id}/disconnect-preview', { apiKey: owner.apiKey, path })
    expect(
      (preview.body.data.accounts as { accountId: string }[]).map(({ accountId }) => accountId).toSorted(),
    ).toEqual(connected.toSorted())
    expect((await app.send('DELETE /api/social-accounts/{id}', { apiKey: owner.apiKey, path })).status).toBe(200)
    for (const id of connected) expect((await details(id)).status).toBe('removed')
    const child = { id: connected[0]! }
    const alone = await app.send('POST /api/limits/accounts/{id}/restore', { apiKey: owner.apiKey, path: child })
    expect([alone.status, alone.body.message]).toEqual([409, expect.stringContaining('Restore the login first')])
    expect((await app.send('POST /api/limits/accounts/{id}/restore', { apiKey: owner.apiKey, path })).status).toBe(200)
    for (const id of connected) expect((await details(id)).status).not.toBe('removed')
  })

  test('over the limit of the plan are refused together, with the numbers', async () => {
    await app.send('POST /api/limits/accounts/{id}/archive', { apiKey: owner.apiKey, path: { id: loginId } })
    const login = await connect('bea')
    const free = (await pages(login)).filter(({ blocked }) => blocked === null)
    const connectOne = () =>
      app.send('POST /api/social-accounts', {
        apiKey: owner.apiKey,
        body: { workspaceId, platform: 'telegram', sandbox: true },
      })
    let status = 201
    while (status === 201) status = (await connectOne()).status
    expect(status).toBe(402)
    const reply = await connectPages(
      free.map(({ remoteId }) => remoteId),
      login,
    )
    expect([reply.status, reply.body.details]).toMatchObject([402, { limit: 'socialAccounts', used: 5 }])
  })
})

test('a TikTok creator is checked against what TikTok says about it', async () => {
  const member = await seedUser(app, 'tiktok')
  const workspace = await seedWorkspace(app, 'TikTok', member)
  const { body: created } = await app.send('POST /api/social-accounts', {
    apiKey: member.apiKey,
    body: { workspaceId: workspace, platform: 'tiktok', sandbox: true },
  })
  const path = { id: created.data._id as string }
  const check = async (body: object) =>
    (await app.send('POST /api/social-accounts/tiktok/{id}/validate-creator', { apiKey: member.apiKey, path, body }))
      .body.data
  expect(await check({ privacyLevel: 'SELF_ONLY', durationSeconds: 10 })).toMatchObject({ ok: true, problems: [] })
  const refused = await check({ privacyLevel: 'EVERYBODY', durationSeconds: 86_000 })
  expect(refused.ok).toBe(false)
  expect((refused.problems as { field: string }[]).map(({ field }) => field)).toEqual([
    'privacyLevel',
    'durationSeconds',
  ])
  expect(refused.info.isCurrent).toBe(true)
})

test('organizations of LinkedIn share the credential of their login', async () => {
  const member = await seedUser(app, 'linkedin')
  const { apiKey } = member
  const workspace = await seedWorkspace(app, 'LinkedIn', member)
  const login = await connectAtSandbox(app, { apiKey, workspaceId: workspace, platform: 'linkedin', account: 'ada' })
  const path = { id: login }
  const route = '/api/social-accounts/linkedin/{id}/organizations' as const
  const listed = (await app.send(`GET ${route}`, { apiKey, path })).body.data as Child[]
  const free = listed.find(({ blocked }) => blocked === null)
  const reply = await app.send(`POST ${route}`, { apiKey, path, body: { organizationIds: [free!.remoteId] } })
  expect(reply.status, reply.text).toBe(200)
  const [organization] = reply.body.data as { _id: string }[]
  const held = await app.database.rows('select account_id from social_credentials where account_id = $1', [
    organization!._id,
  ])
  expect(held).toEqual([])
  const refreshed = await app.send('POST /api/social-accounts/{id}/refresh', {
    apiKey,
    path: { id: organization!._id },
  })
  expect([refreshed.status, refreshed.body.data?.status], refreshed.text).toEqual([200, 'connected'])
})

test('boards of Pinterest are created and listed', async () => {
  const member = await seedUser(app, 'pinterest')
  const { apiKey } = member
  const workspace = await seedWorkspace(app, 'Pinterest', member)
  const { body: created } = await app.send('POST /api/social-accounts', {
    apiKey,
    body: { workspaceId: workspace, platform: 'pinterest', sandbox: true },
  })
  const path = { id: created.data._id as string }
  const route = '/api/social-accounts/pinterest/{id}/boards' as const
  const board = await app.send(`POST ${route}`, { apiKey, path, body: { name: 'Recipes', privacy: 'SECRET' } })
  expect(board.status, board.text).toBe(201)
  const { body } = await app.send(`GET ${route}`, { apiKey, path })
  expect(body.data).toContainEqual(board.body.data)
})
