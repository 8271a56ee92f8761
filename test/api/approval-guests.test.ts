import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, HOUR, ManualClock, MINUTE } from '../../src/core/clock.ts'
import type { PostData } from '../../src/domains/publishing/posts/index.ts'
import { startApp, type App } from '../support/app.ts'
import { closePages, foreignRequests, sharedBrowser } from '../support/browser.ts'
import { QUICK } from '../support/jobs.ts'
import { PIXEL } from '../support/pixel.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import type { Reply } from '../support/send.ts'
import { waitFor } from '../support/wait.ts'

let app: App
let browser: Browser
let owner: SeededUser
let workspaceId: string
let accountId: string
const clock = new ManualClock(Date.parse('2026-11-30T08:00:00Z'))

beforeAll(async () => {
  app = await startApp({ clock, jobTimes: QUICK, env: { RATE_LIMITS: 'off' } })
  browser = await sharedBrowser()
  owner = await seedUser(app, 'owner', { plan: 'business' })
  workspaceId = await seedWorkspace(app, 'Guests', owner)
  const connected = await as('POST /api/social-accounts', {
    body: { workspaceId, platform: 'mastodon', sandbox: true },
  })
  accountId = connected.body.data._id
  const stages = [{ name: 'Client', approvers: { guests: true } }]
  const flow = await as('PUT /api/approvals/{workspaceId}/flow', { body: { stages } })
  expect(flow.status, flow.text).toBe(200)
})
afterAll(async () => {
  await closePages(browser)
  await app?.stop()
})

interface Sent {
  readonly path?: Record<string, string>
  readonly query?: object
  readonly body?: object
  readonly file?: object
}

function as(route: string, { path, ...sent }: Sent = {}): Promise<Reply> {
  return app.send(route, { apiKey: owner.apiKey, path: { workspaceId, ...path }, ...sent } as never)
}

async function create(content: string, extra: object = {}): Promise<PostData> {
  const scheduledFor = new Date(clock.now() + 2 * HOUR).toISOString()
  const body = { workspaceId, content, targets: [{ accountId }], scheduledFor, ...extra }
  const reply = await as('POST /api/posts', { body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}

async function link(extra: object = {}): Promise<{ id: string; path: string }> {
  const reply = await as('POST /api/approvals/{workspaceId}/guests', { body: { name: 'Grace', ...extra } })
  expect(reply.status, reply.text).toBe(201)
  const { guest, url } = reply.body.data
  return { id: guest._id, path: new URL(url).pathname }
}

const get = async (id: string): Promise<PostData> => (await as('GET /api/posts/{id}', { path: { id } })).body.data
const look = (path: string, cookie = '') => fetch(app.url + path, { headers: cookie === '' ? {} : { cookie } })
const send = (path: string, fields: Record<string, string>, cookie = '') =>
  fetch(app.url + path, { method: 'POST', body: new URLSearchParams(fields), headers: cookie === '' ? {} : { cookie } })

/** The value of a hidden field of a page. */
const hidden = (html: string, name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(html)?.[1] ?? ''

async function auditActions(): Promise<string[]> {
  const log = await as('GET /api/workspaces/{workspaceId}/audit-log')
  return log.body.data.map(({ action }: { action: string }) => action)
}

test('a guest decides on a phone, without an account and without scripts', async () => {
  const uploaded = await as('POST /api/assets/upload', {
    path: {},
    body: { workspaceId },
    file: { name: 'stage.png', content: PIXEL, type: 'image/png' },
  })
  expect(uploaded.status, uploaded.text).toBe(201)
  const assetId = uploaded.body.data._id
  const post = await create('See you on stage <b>tonight</b>', { labels: ['acme'], media: [assetId] })
  await create('For somebody else', { labels: ['other'] })
  const { path } = await link({ label: 'acme', timezone: 'America/New_York' })

  const context = await browser.newContext({
    viewport: { width: 390, height: 844 },
    isMobile: true,
    javaScriptEnabled: false,
  })
  const page = await context.newPage()
  const requested: string[] = []
  const referrers: string[] = []
  page.on('request', (request) => {
    requested.push(request.url())
    referrers.push(request.headers()['referer'] ?? '')
  })
  await page.goto(app.url + path)
  await page.getByText('See you on stage <b>tonight</b>').waitFor()
  expect(await page.getByText('For somebody else').count()).toBe(0)
  expect(await page.getByRole('heading', { level: 2 }).innerText()).toContain('05:00 (America/New_York)')
  expect(await page.getByRole('heading', { level: 3 }).first().innerText()).toContain('Mastodon')
  const image = page.getByRole('img')
  await waitFor(() => image.evaluate((one) => (one as unknown as { naturalWidth: number }).naturalWidth > 0))
  const width = await page.evaluate('document.documentElement.scrollWidth')
  expect(width, 'nothing is wider than the phone').toBeLessThanOrEqual(390)

  await page.getByLabel('Comment').fill('A larger logo, please')
  await page.getByRole('button', { name: 'Request changes' }).click()
  await page.getByRole('status').filter({ hasText: 'recorded' }).waitFor()
  expect(await get(post._id)).toMatchObject({
    status: 'draft',
    approval: {
      status: 'changes_requested',
      decisions: [{ kind: 'guest', guestName: 'Grace', comment: 'A larger logo, please' }],
    },
  })

  await as('PATCH /api/posts/{id}', { path: { id: post._id }, body: { content: 'See you on stage tomorrow' } })
  expect(await (await look(path)).text(), 'a draft is not for guests').not.toContain('tomorrow')
  await as('POST /api/posts/{id}/submit', { path: { id: post._id } })
  await page.goto(app.url + path)
  await page.getByText('A larger logo, please').waitFor()
  expect(await page.locator('ins').allInnerTexts()).toContain('tomorrow')
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByRole('status').filter({ hasText: 'recorded' }).waitFor()
  expect(await get(post._id)).toMatchObject({ status: 'scheduled', approval: { status: 'approved' } })
  expect(foreignRequests(requested, app.url)).toEqual([])
  expect(referrers.filter((one) => one !== '' && new URL(one).origin !== new URL(app.url).origin)).toEqual([])
  const actions = await auditActions()
  expect(actions).toContain('guestDecided')
  expect(actions.filter((action) => action === 'guestLooked').length).toBeGreaterThanOrEqual(2)
  await context.close()
})

test('the page has no scripts and no referrer for other servers', async () => {
  const { path } = await link()
  const { headers } = await look(path)
  expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(headers.get('content-security-policy')).not.toContain('script')
  expect(headers.get('referrer-policy')).toBe('same-origin')
  expect(headers.get('cache-control')).toBe('no-store')
})

test('a link that was revoked or has expired shows and decides nothing', async () => {
  const post = await create('Revoked', { labels: ['revoked'] })
  const { id, path } = await link({ label: 'revoked' })
  const html = await (await look(path)).text()
  const fields = {
    form: hidden(html, 'form'),
    post: hidden(html, 'post'),
    seen: hidden(html, 'seen'),
    decision: 'approve',
  }
  expect(fields.post).toBe(post._id)
  await as('DELETE /api/approvals/{workspaceId}/guests/{id}', { path: { id } })
  expect((await look(path)).status).toBe(404)
  expect((await send(path, fields)).status).toBe(404)
  const short = await link({ validDays: 1 })
  clock.advance(DAY + 1)
  expect((await look(short.path)).status).toBe(404)
  expect((await get(post._id)).approval).toMatchObject({ decisions: [] })
})

test('a passcode is asked for, and a few wrong ones lock the link', async () => {
  const post = await create('Secret plans', { labels: ['secret'] })
  const { path } = await link({ postId: post._id, passcode: 'open sesame' })
  const closed = await (await look(path)).text()
  expect(closed).not.toContain('Secret plans')
  const form = hidden(closed, 'form')
  expect((await send(path, { form, passcode: 'wrong one' })).status).toBe(403)
  const opened = await send(path, { form, passcode: 'open sesame' })
  expect(await opened.text()).toContain('Secret plans')
  const cookie = (opened.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  expect(opened.headers.get('set-cookie')).toMatch(/HttpOnly; SameSite=Strict/)
  expect(await (await look(path, cookie)).text()).toContain('Secret plans')
  const decided = { form, post: post._id, seen: post.approval?.contentHash ?? '', decision: 'approve' }
  expect((await send(path, decided)).status).toBe(403)
  for (let tries = 0; tries < 5; tries += 1) await send(path, { form, passcode: 'wrong one' })
  expect((await send(path, { form, passcode: 'open sesame' })).status).toBe(429)
  clock.advance(16 * MINUTE)
  expect((await send(path, { form, passcode: 'open sesame' })).status).toBe(200)
  expect(await auditActions()).toContain('guestPasscodeRefused')
})

test('a form of another site, of another post or of a content that has changed is refused', async () => {
  const post = await create('Mine', { labels: ['mine'] })
  const other = await create('Not mine', { labels: ['not-mine'] })
  const { path } = await link({ label: 'mine' })
  const html = await (await look(path)).text()
  const fields = { form: hidden(html, 'form'), post: post._id, seen: hidden(html, 'seen'), decision: 'approve' }
  expect((await send(path, { ...fields, form: 'forged' })).status).toBe(403)
  expect((await send(path, { ...fields, post: other._id })).status).toBe(404)
  await as('PATCH /api/posts/{id}', { path: { id: post._id }, body: { content: 'Mine, changed' } })
  expect((await send(path, fields)).status).toBe(409)
  const again = await (await look(path)).text()
  expect((await send(path, { ...fields, seen: hidden(again, 'seen') })).status).toBe(200)
  expect((await send(path, { ...fields, seen: hidden(again, 'seen') })).status).toBe(409)
})

test('a stage waits for no guest whose link was revoked', async () => {
  const revoke = (id: string) => as('DELETE /api/approvals/{workspaceId}/guests/{id}', { path: { id } })
  const links = await as('GET /api/approvals/{workspaceId}/guests', { query: { limit: 100 } })
  for (const { _id, revokedAt } of links.body.data) if (revokedAt === null) await revoke(_id)
  const { id } = await link({ label: 'nobody' })
  const post = await create('Nobody', { labels: ['nobody'] })
  expect(post.approval).toMatchObject({ isFallback: false })
  await revoke(id)
  const waiting = await waitFor(async () => {
    const { approval } = await get(post._id)
    return approval?.isFallback === true ? approval : undefined
  })
  expect(waiting.message).toContain('approvals:manage')
})
