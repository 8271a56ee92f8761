import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/core/clock.ts'
import { startSandbox, type Sandbox } from '../../sandbox/sandbox.ts'
import { startApp, type App } from '../support/app.ts'
import { launchBrowser } from '../support/browser.ts'
import { startPds, type Pds, type PdsAccount } from '../support/pds.ts'
import type { Reply } from '../support/send.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'

/**
 * A user connects accounts in a real browser: Bluesky on the pages of a real PDS, X and Facebook on those of the sandbox.
 */

let folder: string
let pds: Pds
let sandbox: Sandbox
let app: App
let browser: Browser
let context: BrowserContext
/** A page that calls the API. */
let frontEnd: Page
let owner: SeededUser
let workspaceId: string
/** Errors on the console of Crier's own pages. */
const complaints: string[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-flow-accounts-'))
  pds = await startPds()
  sandbox = await startSandbox({ clock: systemClock, folder, host: '127.0.0.1', port: 0 })
  app = await startApp({ env: { SANDBOX: '0', ...settings() } })
  owner = await seedUser(app, 'owner', { plan: 'business' })
  workspaceId = await seedWorkspace(app, 'Flow', owner)
  browser = await launchBrowser()
  context = await newContext()
  frontEnd = await context.newPage()
  await frontEnd.goto(`${app.config.PUBLIC_URL}/docs/states`)
})
afterAll(async () => {
  await browser?.close()
  await app?.stop()
  await sandbox?.close()
  await pds?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** A real PDS in place of Bluesky, and the sandbox in place of X and Facebook. */
function settings(): Record<string, string> {
  const names = { BLUESKY_API_URL: pds.url, BLUESKY_AUTH_URL: pds.url, ATPROTO_PLC_URL: pds.plcUrl }
  const apps = ['x', 'facebook'].flatMap((key): [string, string][] => {
    const { apiUrl = '', authUrl = '', clientId = '', clientSecret = '' } = sandbox.settings[key] ?? {}
    const values = { API_URL: apiUrl, AUTH_URL: authUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret }
    return Object.entries(values).map(([name, value]) => [`${key.toUpperCase()}_${name}`, value])
  })
  return { ...names, ATPROTO_VIDEO_URL: pds.plcUrl, ...Object.fromEntries(apps) }
}

/** A new browser. */
async function newContext(): Promise<BrowserContext> {
  const made = await browser.newContext({ locale: 'en-US' })
  made.on('console', (message) => {
    const isOurs = message.page()?.url().startsWith(app.config.PUBLIC_URL) === true
    if (isOurs && message.type() === 'error') complaints.push(message.text())
  })
  return made
}

/** Calls the API as a front end does, in the browser in which the user signs in. */
async function call(route: string, body?: object): Promise<{ status: number; data: Reply['body'] }> {
  const [method = '', path = ''] = route.split(' ')
  const { status, text } = await frontEnd.evaluate(
    async (request) => {
      const reply = await fetch(request.path, {
        method: request.method,
        headers: { 'X-API-Key': request.key, 'Content-Type': 'application/json' },
        ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
      })
      return { status: reply.status, text: await reply.text() }
    },
    { method, path, body, key: owner.apiKey },
  )
  const { data } = JSON.parse(text) as { data: Reply['body'] }
  return { status, data }
}

/** Requests a sign-in link, and opens it in another tab. */
async function startSignIn(platform: string, query: Record<string, string> = {}): Promise<Page> {
  const page = await context.newPage()
  const search = new URLSearchParams({ workspaceId, ...query }).toString()
  const { data } = await call(`GET /api/social-accounts/oauth/${platform}/url?${search}`)
  await page.goto(data.url as string)
  return page
}

/** Signs in on the pages of the PDS, and decides. */
async function atPds({ handle, password }: PdsAccount, decision: 'Authorize' | 'Deny access'): Promise<Page> {
  const page = await startSignIn('bluesky', { handle })
  await page.locator('input[name=password]').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: decision }).click()
  await arrived(page)
  return page
}

/** Decides on the consent page of the sandbox. */
async function atSandbox(platform: string, decision: 'Allow' | 'Deny', account = 'ada'): Promise<Page> {
  const page = await startSignIn(platform)
  await page.getByText('This is Crier’s sandbox').waitFor()
  await page.getByLabel('Account').fill(account)
  await page.getByRole('button', { name: decision }).click()
  await arrived(page)
  return page
}

/** Waits for the result page of a sign-in, and checks that it can be used. */
async function arrived(page: Page): Promise<void> {
  await page.waitForURL((url) => url.origin === app.config.PUBLIC_URL)
  expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1)
  expect(await page.getByRole('link', { name: 'Back to Crier' }).getAttribute('href')).toBe('/')
  expect(await page.getAttribute('html', 'lang')).toBe('en')
  expect(await page.title()).toContain('Crier')
}

const heading = (page: Page) => page.getByRole('heading', { level: 1 }).innerText()
const text = (page: Page) => page.getByRole('main').innerText()

interface Account {
  readonly _id: string
  readonly name: string
  readonly handle: string
  readonly remoteId: string
  readonly status: string
  readonly kind: string
}

async function accounts(platform: string): Promise<readonly Account[]> {
  return (await call(`GET /api/social-accounts?workspaceId=${workspaceId}&platform=${platform}`)).data
}

describe('Bluesky at a real PDS', () => {
  let ada: PdsAccount
  beforeAll(async () => {
    ada = await pds.createAccount('ada')
  })

  test('a denied consent connects nothing, and the page says what to do next', async () => {
    const before = await accounts('bluesky')
    const page = await atPds(ada, 'Deny access')
    expect(await heading(page)).toBe('Not connected')
    expect(await text(page)).toContain('start again and allow the access')
    expect(await accounts('bluesky')).toEqual(before)
    await page.getByRole('link', { name: 'Back to Crier' }).click()
    await page.waitForURL(`${app.config.PUBLIC_URL}/docs`)
    await page.close()
  })

  test('an account is connected with consent, and recognized when it is connected again', async () => {
    const page = await atPds(ada, 'Authorize')
    expect([await heading(page), await text(page)]).toEqual([
      'Bluesky is connected',
      expect.stringContaining(`@${ada.handle}`),
    ])
    const [first] = await accounts('bluesky')
    expect(first).toMatchObject({ remoteId: ada.did, status: 'connected' })
    await page.close()
    const again = await atPds(ada, 'Authorize')
    expect(await heading(again)).toBe('Bluesky is connected')
    expect((await accounts('bluesky')).map(({ _id }) => _id)).toEqual([first?._id])
    const { data } = await call(`GET /api/social-accounts/${first?._id}`)
    expect([data.history[0]?.reason, data.history.at(-1)?.reason]).toEqual(['connected again', 'connected'])
    await again.close()
  })
})

describe('X in the sandbox', () => {
  test('a denied consent connects nothing', async () => {
    const before = await accounts('x')
    const page = await atSandbox('x', 'Deny')
    expect([await heading(page), await text(page)]).toEqual(['Not connected', expect.stringContaining('X account')])
    expect(await accounts('x')).toEqual(before)
    await page.close()
  })

  test('a link works once, and only in the browser that requested it', async () => {
    const before = await accounts('x')
    const page = await startSignIn('x')
    await page.getByLabel('Account').fill('ada')
    // The browser does not follow the link yet.
    let link = ''
    await page.route(/authorize/, async (route) => {
      link = (await route.fetch({ maxRedirects: 0 })).headers()['location'] ?? ''
      await route.fulfill({ status: 200, contentType: 'text/html', body: '<p>Allowed' })
    })
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByText('Allowed').waitFor()
    expect(link).toContain('/callback?')
    const elsewhere = await newContext()
    const other = await elsewhere.newPage()
    await other.goto(link)
    await arrived(other)
    expect([await heading(other), await text(other)]).toEqual([
      'Wrong browser',
      expect.stringContaining('Start again in this one'),
    ])
    expect(await accounts('x')).toEqual(before)
    await elsewhere.close()
    await page.goto(link)
    await arrived(page)
    expect(await heading(page)).toBe('X is connected')
    await page.goto(link)
    await arrived(page)
    expect([await heading(page), await text(page)]).toEqual([
      'This link was used already',
      expect.stringContaining('Look at your accounts'),
    ])
    expect(await accounts('x')).toMatchObject([{ status: 'connected' }])
    await page.close()
  })

  test('its health is shown, and it is disconnected after a preview', async () => {
    const [account] = await accounts('x')
    const path = `/api/social-accounts/${account?._id}`
    const checked = await call(`POST ${path}/refresh`)
    expect(checked).toMatchObject({ status: 200, data: { status: 'connected' } })
    const shown = await call(`GET ${path}`)
    expect(shown.data).toMatchObject({ status: 'connected', missingScopes: [] })
    expect(shown.data.history[0]).toMatchObject({ status: 'connected' })
    const preview = await call(`GET ${path}/disconnect-preview`)
    expect(preview.data).toEqual({ posts: [], accounts: [], restorable: true, grantMessage: null })
    expect(await call(`DELETE ${path}`)).toMatchObject({ status: 200, data: { status: 'removed' } })
    expect(await accounts('x')).toEqual([])
    const revoked = 'select 1 from social_accounts where id = $1 and broken_reason is not null'
    await waitFor(() => app.database.row(revoked, [account?._id ?? '']), { what: 'the revocation at X' })
    const again = await atSandbox('x', 'Allow')
    expect(await heading(again)).toBe('X is connected')
    expect(await accounts('x')).toMatchObject([{ _id: account?._id, status: 'connected' }])
    await again.close()
  })
})

describe('Facebook in the sandbox', () => {
  test('a login is connected, and then the pages that the user chooses', async () => {
    const page = await atSandbox('facebook', 'Allow')
    expect([await heading(page), await text(page)]).toEqual([
      'Facebook is connected',
      expect.stringContaining('Now choose which of its pages'),
    ])
    const login = (await accounts('facebook')).find(({ kind }) => kind !== 'page')
    const path = `/api/social-accounts/facebook/${login?._id}/pages`
    const listed = await call(`GET ${path}`)
    const free = (listed.data as { remoteId: string; blocked: string | null }[])
      .filter(({ blocked }) => blocked === null)
      .map(({ remoteId }) => remoteId)
    expect(free.length).toBeGreaterThan(0)
    const chosen = free.slice(0, 1)
    const connected = await call(`POST ${path}`, { pageIds: chosen })
    expect(connected).toMatchObject({ status: 200, data: [{ remoteId: chosen[0], kind: 'page', status: 'connected' }] })
    const ids = (connected.data as Account[]).map(({ _id }) => _id)
    const preview = await call(`GET /api/social-accounts/${login?._id}/disconnect-preview`)
    expect((preview.data.accounts as { accountId: string }[]).map(({ accountId }) => accountId)).toEqual(ids)
    await page.close()
    const again = await atSandbox('facebook', 'Allow')
    expect((await accounts('facebook')).map(({ _id }) => _id).toSorted()).toEqual([login?._id ?? '', ...ids].toSorted())
    await again.close()
  })
})

test('no page of Crier complains on the console', () => {
  // A result page for a refused sign-in has the status 400, which the browser reports.
  expect(complaints.filter((line) => !/status of 400/.test(line))).toEqual([])
})
