import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock, MINUTE } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { waitFor } from '../support/wait.ts'
import { seedMember, seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'

let app: App
let owner: SeededUser
let workspaceId: string
const clock = new ManualClock(Date.now())

beforeAll(async () => {
  app = await startApp({ clock })
  owner = await seedUser(app, 'owner')
  workspaceId = await seedWorkspace(app, 'Accounts', owner)
})
afterAll(() => app.stop())

const as = () => ({ apiKey: owner.apiKey })

/** A browser that signs in at the sandbox: it keeps the cookie of the link. */
async function link(platform = 'mastodon', query: Record<string, string> = {}, cookie = '') {
  const reply = await app.send('GET /api/social-accounts/oauth/{platform}/url', {
    ...as(),
    path: { platform },
    query: { workspaceId, instance: await instance(), ...query },
    headers: cookie === '' ? {} : { cookie },
  })
  expect(reply.status, reply.text).toBe(200)
  const set = reply.headers.get('set-cookie') ?? ''
  return { url: new URL(reply.body.data.url), cookie: set.split(';')[0] ?? '', set }
}

async function instance(): Promise<string> {
  const { body } = await app.send('GET /api/platforms')
  return (body.data as { platform: string; sandboxUrl: string }[]).find(({ platform }) => platform === 'mastodon')
    ?.sandboxUrl as string
}

/** Decides on the consent page. @returns where the platform sends the browser */
async function decide(url: URL, account: string, decision = 'allow'): Promise<URL> {
  const page = await fetch(url)
  expect(page.headers.get('x-crier-sandbox')).toBe('mastodon')
  expect(await page.text()).toContain('This is Crier’s sandbox')
  const form = new URLSearchParams([...url.searchParams, ['account', account], ['decision', decision]])
  const reply = await fetch(`${url.origin}${url.pathname}`, { method: 'POST', body: form, redirect: 'manual' })
  return new URL(reply.headers.get('location') ?? '')
}

function open(url: URL, cookie: string) {
  return fetch(url, { headers: { cookie }, redirect: 'manual' })
}

async function signIn(account: string, query: Record<string, string> = {}) {
  const { cookie, url } = await link('mastodon', query)
  const back = await decide(url, account)
  return open(back, cookie)
}

async function accounts(query: Record<string, string> = {}) {
  const { body } = await app.send('GET /api/social-accounts', { ...as(), query: { workspaceId, ...query } })
  return body.data as { _id: string; name: string; status: string; handle: string; remoteId: string }[]
}

describe('sign-in at a platform', () => {
  test('connects the account and shows a page', async () => {
    const { cookie, set, url } = await link()
    expect(set).toMatch(/HttpOnly; SameSite=Lax/)
    expect(url.searchParams.get('code_challenge_method')).toBe('S256')
    const reply = await open(await decide(url, 'anna'), cookie)
    expect([reply.status, reply.headers.get('content-security-policy')]).toEqual([
      200,
      expect.stringContaining("default-src 'none'"),
    ])
    expect(await reply.text()).toContain('Mastodon is connected')
    const [account] = await accounts()
    expect(account).toMatchObject({ name: 'anna', status: 'connected', platform: 'mastodon', sandbox: false })
    const shown = await app.send('GET /api/social-accounts/{id}', { ...as(), path: { id: account?._id ?? '' } })
    expect(shown.body.data).toMatchObject({
      missingScopes: [],
      history: [{ status: 'connected', reason: 'connected' }],
    })
  })

  test('recognizes the account when it is connected again', async () => {
    const before = await accounts()
    expect((await signIn('anna')).status).toBe(200)
    expect((await accounts()).map(({ _id }) => _id)).toEqual(before.map(({ _id }) => _id))
  })

  test('refuses a different account when reconnecting, and names both', async () => {
    const [anna] = await accounts()
    const reply = await signIn('bert', { accountId: anna?._id ?? '' })
    expect(reply.status).toBe(400)
    const text = await reply.text()
    expect(text).toContain('as @bert@')
    expect(text).toContain('@anna@')
    expect(await accounts()).toHaveLength(1)
  })

  test('explains a denied consent', async () => {
    const { cookie, url } = await link()
    const reply = await open(await decide(url, 'carl', 'deny'), cookie)
    expect([reply.status, await reply.text()]).toEqual([400, expect.stringContaining('You did not allow Crier')])
  })

  test('works once', async () => {
    const { cookie, url } = await link()
    const back = await decide(url, 'anna')
    expect((await open(back, cookie)).status).toBe(200)
    const again = await open(back, cookie)
    expect([again.status, await again.text()]).toEqual([400, expect.stringContaining('was finished already')])
  })

  test('works only in the browser that requested the link', async () => {
    const { cookie, url } = await link()
    const back = await decide(url, 'dora')
    for (const other of ['', 'crier_sign_in=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA']) {
      const reply = await open(back, other)
      expect([reply.status, await reply.text()]).toEqual([400, expect.stringContaining('another browser')])
    }
    // The attempt of the other browser has not used it up.
    expect((await open(back, cookie)).status).toBe(200)
  })

  test('expires after ten minutes', async () => {
    const { cookie, url } = await link()
    const back = await decide(url, 'anna')
    clock.advance(10 * MINUTE)
    const reply = await open(back, cookie)
    expect([reply.status, await reply.text()]).toEqual([400, expect.stringContaining('longer than ten minutes')])
  })

  test.each([
    ['NN', ['anna']],
    ['@dor', ['dora']],
    ['an', ['anna']],
    ['nobody', []],
    ['%', []],
  ])('lists the accounts with %s in their name or handle', async (q, expected) => {
    expect((await accounts({ q })).map(({ name }) => name)).toEqual(expected)
  })

  test('refuses an unknown state', async () => {
    const reply = await open(new URL(`${app.url}/api/social-accounts/oauth/mastodon/callback?code=x&state=y`), '')
    expect([reply.status, await reply.text()]).toEqual([400, expect.stringContaining('unknown')])
  })

  test('reports an error of the platform', async () => {
    const { cookie, url } = await link()
    const state = url.searchParams.get('state')
    const back = `${app.url}/api/social-accounts/oauth/mastodon/callback?state=${state}&error=server_error&error_description=%3Cb%3Eout%3C%2Fb%3E`
    const reply = await open(new URL(back), cookie)
    expect([reply.status, await reply.text()]).toEqual([
      400,
      expect.stringContaining('reported an error: &lt;b&gt;out&lt;/b&gt;'),
    ])
  })

  test('sends the browser back to a page of the front end, and only there', async () => {
    const returnTo = `${new URL(app.config.PUBLIC_URL).origin}/done?tab=1`
    const reply = await signIn('anna', { redirectUri: returnTo })
    const location = new URL(reply.headers.get('location') ?? '')
    expect([
      reply.status,
      location.pathname,
      location.searchParams.get('tab'),
      location.searchParams.get('status'),
    ]).toEqual([302, '/done', '1', 'connected'])
    for (const redirectUri of ['https://evil.example/', returnTo.replace('//', '//u:p@'), 'javascript:alert(1)']) {
      const refused = await app.send('GET /api/social-accounts/oauth/{platform}/url', {
        ...as(),
        path: { platform: 'mastodon' },
        query: { workspaceId, instance: await instance(), redirectUri },
      })
      expect([refused.status, refused.body.errors?.[0]?.path]).toEqual([400, '/query/redirectUri'])
    }
  })

  test('is refused for a member who has since lost the scope', async () => {
    const member = await seedUser(app, 'member')
    await seedMember(app, workspaceId, member, { scopes: ['accounts:manage'] })
    const begun = await app.send('GET /api/social-accounts/oauth/{platform}/url', {
      apiKey: member.apiKey,
      path: { platform: 'mastodon' },
      query: { workspaceId, instance: await instance() },
    })
    const cookie = (begun.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    const back = await decide(new URL(begun.body.data.url), 'emil')
    const removed = await app.send('DELETE /api/team/{workspaceId}/members/{userId}', {
      ...as(),
      path: { workspaceId, userId: member.id },
    })
    expect(removed.status).toBe(200)
    const reply = await open(back, cookie)
    expect([reply.status, await reply.text()]).toEqual([400, expect.stringContaining('no longer connect')])
  })

  test('refuses a private server and an invalid server address', async () => {
    for (const name of ['127.0.0.1:1', 'https://10.0.0.1', 'not a server']) {
      const refused = await app.send('GET /api/social-accounts/oauth/{platform}/url', {
        ...as(),
        path: { platform: 'mastodon' },
        query: { workspaceId, instance: name },
      })
      expect([name, refused.status, refused.body.details?.kind]).toEqual([name, 409, 'validation'])
    }
  })
})

describe('accounts with credentials', () => {
  const connect = (body: object) => app.send('POST /api/social-accounts', { ...as(), body: { workspaceId, ...body } })

  test('a wrong bot token is explained', async () => {
    const credentials = { botToken: '123456789:AAEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPL', chat: '@nobody_here' }
    const reply = await connect({ platform: 'telegram', credentials })
    expect([reply.status, reply.body.code, reply.body.details]).toEqual([
      409,
      'platform_refused',
      { kind: 'auth_expired', whoActs: 'user', platformCode: '401', platformMessage: 'Unauthorized' },
    ])
  })

  test('malformed credentials name the field', async () => {
    const reply = await connect({
      platform: 'telegram',
      credentials: { botToken: 'secret-token', chat: '@nobody_here' },
    })
    expect([reply.status, reply.body.errors[0].path]).toEqual([400, '/body/credentials/botToken'])
    expect(reply.text).not.toContain('secret-token')
  })

  test('a platform with a sign-in page is refused with an explanation', async () => {
    const reply = await connect({ platform: 'mastodon' })
    expect([reply.status, reply.body.code]).toEqual([400, 'not_supported_by_platform'])
  })

  test('an unknown platform is not found', async () => {
    expect((await connect({ platform: 'orkut' })).status).toBe(404)
  })

  test('the sandbox connects a fresh account of each platform', async () => {
    for (const platform of ['telegram', 'mastodon']) {
      const reply = await connect({ platform, sandbox: true })
      expect([reply.status, reply.body.data?.sandbox]).toEqual([201, true])
    }
  })

  test('the plan limit is reported with its numbers', async () => {
    while ((await accounts()).length < 5) await connect({ platform: 'telegram', sandbox: true })
    const reply = await connect({ platform: 'telegram', sandbox: true })
    expect(await accounts()).toHaveLength(5)
    expect([reply.status, reply.body.details]).toEqual([
      402,
      { limit: 'socialAccounts', value: 5, used: 5, plan: 'free', nextPlan: 'starter', isTrial: false },
    ])
  })

  test('an archived account does not count, and can be restored below the limit', async () => {
    const [newest] = await accounts()
    const path = { id: newest?._id ?? '' }
    expect((await app.send('POST /api/limits/accounts/{id}/archive', { ...as(), path })).body.data.status).toBe(
      'archived',
    )
    expect((await connect({ platform: 'telegram', sandbox: true })).status).toBe(201)
    expect((await app.send('POST /api/limits/accounts/{id}/unarchive', { ...as(), path })).status).toBe(402)
    const status = await app.send('GET /api/limits/status', as())
    expect(status.body.data).toMatchObject({
      isOver: false,
      quotas: [{ kind: 'socialAccounts', used: 5, over: 0 }, {}],
    })
  })
})

test('disconnecting revokes access at the platform, and restoring requires a new connection', async () => {
  const mastodon = (await accounts({ platform: 'mastodon' })).find(({ name }) => name === 'anna')
  const path = { id: mastodon?._id ?? '' }
  const preview = await app.send('GET /api/social-accounts/{id}/disconnect-preview', { ...as(), path })
  expect(preview.body.data).toEqual({ posts: [], accounts: [], restorable: true, grantMessage: null })
  const gone = await app.send('DELETE /api/social-accounts/{id}', { ...as(), path })
  expect([gone.status, gone.body.data.status]).toEqual([200, 'removed'])
  expect((await accounts()).map(({ _id }) => _id)).not.toContain(path.id)
  expect((await accounts({ status: 'removed' })).map(({ _id }) => _id)).toContain(path.id)
  const reason = async () => {
    const text = 'select broken_reason from social_accounts where id = $1'
    return (await app.database.row<{ broken_reason: string | null }>(text, [path.id]))?.broken_reason
  }
  await waitFor(async () => (await reason())?.includes('revoked'), { what: 'the revocation' })
  const restored = await app.send('POST /api/limits/accounts/{id}/restore', { ...as(), path })
  expect(restored.status, restored.text).toBe(200)
  expect(restored.body.data).toMatchObject({
    status: 'reconnect_needed',
    statusMessage: expect.stringContaining('revoked'),
  })
  expect((await signIn('anna', { accountId: path.id })).status).toBe(200)
  const again = await app.send('GET /api/social-accounts/{id}', { ...as(), path })
  expect(again.body.data).toMatchObject({ status: 'connected' })
  expect((again.body.data.history as { status: string }[]).map(({ status }) => status)).toEqual([
    'connected',
    'reconnect_needed',
    'removed',
    ...(again.body.data.history as { status: string }[]).slice(3).map(({ status }) => status),
  ])
})

test('disconnecting says where to end the access, at a platform without an API for that', async () => {
  const [newest] = await accounts({ platform: 'telegram' })
  await app.send('POST /api/limits/accounts/{id}/archive', { ...as(), path: { id: newest?._id ?? '' } })
  const body = { workspaceId, platform: 'threads', sandbox: true }
  const made = await app.send('POST /api/social-accounts', { ...as(), body })
  const path = { id: made.body.data._id }
  const grantMessage = expect.stringContaining('https://www.threads.com/settings/account')
  const preview = await app.send('GET /api/social-accounts/{id}/disconnect-preview', { ...as(), path })
  expect(preview.body.data).toMatchObject({ grantMessage })
  const gone = await app.send('DELETE /api/social-accounts/{id}', { ...as(), path })
  expect(gone.body.data).toMatchObject({ status: 'removed', statusMessage: grantMessage })
})

test.each([
  ['telegram', '@BotFather'],
  ['discord', 'delete the webhook'],
])('disconnecting says how to end the access of a bot or webhook at %s', async (platform, advice) => {
  const refresher = await seedUser(app, `${platform}-keeper`, { plan: 'business' })
  const workspace = await seedWorkspace(app, `Bots of ${platform}`, refresher)
  const by = { apiKey: refresher.apiKey }
  const body = { workspaceId: workspace, platform, sandbox: true }
  const made = await app.send('POST /api/social-accounts', { ...by, body })
  expect(made.status, made.text).toBe(201)
  const path = { id: made.body.data._id }
  const preview = await app.send('GET /api/social-accounts/{id}/disconnect-preview', { ...by, path })
  expect(preview.body.data).toMatchObject({ grantMessage: expect.stringContaining(advice), restorable: true })
  const gone = await app.send('DELETE /api/social-accounts/{id}', { ...by, path })
  expect(gone.body.data).toMatchObject({ status: 'removed', statusMessage: expect.stringContaining(advice) })
  const restored = await app.send('POST /api/limits/accounts/{id}/restore', { ...by, path })
  // The bot is still there, so the account works again.
  expect(restored.body.data).toMatchObject({ status: 'connected', statusMessage: null })
})

test('tokens appear in no reply, log line or row', async () => {
  const sandbox = JSON.stringify(
    await import('node:fs/promises').then(({ readFile }) => readFile(`${app.dataDir}/sandbox/mastodon.json`, 'utf8')),
  )
  const tokens = [...sandbox.matchAll(/\\"([\w-]{43})\\":\{\\"app\\":/g)].map(([, token]) => token ?? '')
  expect(tokens.length).toBeGreaterThan(1)
  const tables = await app.database.rows<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public'`,
  )
  const rows: string[] = []
  for (const { name } of tables) {
    for (const row of await app.database.rows(`select to_jsonb(t) as row from "${name}" t`))
      rows.push(JSON.stringify(row))
  }
  const written = [...rows, JSON.stringify(app.logs)].join('\n')
  expect(rows.length).toBeGreaterThan(20)
  for (const token of tokens) expect(written).not.toContain(token)
})
