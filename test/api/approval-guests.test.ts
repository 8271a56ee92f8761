import axe from 'axe-core'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, HOUR, ManualClock, MINUTE, SECOND } from '../../src/core/clock.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
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
const lookInGerman = async (path: string) =>
  (await fetch(app.url + path, { headers: { 'Accept-Language': 'de-AT,de;q=0.9,en;q=0.5' } })).text()
const send = (path: string, fields: Record<string, string>, cookie = '') =>
  fetch(app.url + path, { method: 'POST', body: new URLSearchParams(fields), headers: cookie === '' ? {} : { cookie } })

/** Sends the form of the list, with its fields as a browser sends them. */
const approveAll = async (path: string, html: string, language = 'en') => {
  const fields = [...html.matchAll(/<input type="hidden" name="(form|approve)" value="([^"]*)">/g)]
  const read = (value: string) => value.replaceAll('&lt;', '<').replaceAll('&gt;', '>')
  const body = new URLSearchParams(fields.map(([, name = '', value = '']): [string, string] => [name, read(value)]))
  const reply = await fetch(app.url + path, { method: 'POST', body, headers: { 'Accept-Language': language } })
  return { status: reply.status, html: await reply.text() }
}

const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, locale: 'de-DE' }

/** Nothing is wider than the phone, and axe accepts the page in light and in dark. `SCREENSHOTS` names a folder for pictures. */
async function inspect({ name, path }: { readonly name: string; readonly path: string }): Promise<void> {
  // axe needs scripts. The page itself has none.
  const page = await browser.newPage({ ...PHONE, bypassCSP: true })
  await page.goto(app.url + path)
  expect(await page.evaluate('document.documentElement.scrollWidth'), name).toBeLessThanOrEqual(360)
  const folder = process.env['SCREENSHOTS']
  await page.evaluate(axe.source)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}-${colorScheme}.png`, fullPage: true })
    const { violations } = await page.evaluate(() =>
      (globalThis as unknown as { axe: { run: () => Promise<{ violations: { id: string }[] }> } }).axe.run(),
    )
    expect(violations, `${name}, ${colorScheme}`).toEqual([])
  }
  await page.close()
}

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
  expect(await page.getByRole('heading', { level: 3 }).innerText()).toContain('05:00 (America/New_York)')
  expect(await page.getByRole('heading', { level: 4 }).first().innerText()).toContain('Mastodon')
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

test('what waits comes first, then what comes next, and what was published is folded', async () => {
  const labels = ['order']
  const { path } = await link({ label: 'order' })
  const published = await create('Out already', { labels })
  const approve = async (post: PostData) => {
    const html = await (await look(path)).text()
    const fields = { form: hidden(html, 'form'), post: post._id, seen: post.approval?.contentHash ?? '' }
    expect((await send(path, { ...fields, decision: 'approve' })).status).toBe(200)
  }
  await approve(published)
  clock.advance(2 * HOUR)
  await waitFor(
    async () => {
      // Posts of an account that are late together are published one after the other.
      clock.advance(SECOND)
      return (await get(published._id)).status === 'published'
    },
    { intervalMs: 100 },
  )
  const scheduled = await create('Decided already', { labels })
  await approve(scheduled)
  await create('Decide on me, please', { labels })
  await create('And on me, with https://crier.example/a/rather/long/address/that/is/wider/than/any/phone', { labels })

  const uploaded = await as('POST /api/assets/upload', {
    path: {},
    body: { workspaceId },
    file: { name: 'logo.png', content: PIXEL, type: 'image/png' },
  })
  const logoAssetId = uploaded.body.data._id
  const logo = async () => (await as('GET /api/assets/{id}', { path: { id: logoAssetId } })).body.data
  await waitFor(async () => (await logo()).thumbnail?.status === 'ready')
  const branding = { workspaceId, logoAssetId, accentColor: '#ffcc00', companyName: 'Northwind & Söhne' }
  expect((await as('PUT /api/analytics/report-branding', { path: {}, body: branding })).status).toBe(200)

  const context = await browser.newContext({ ...PHONE, javaScriptEnabled: false })
  const page = await context.newPage()
  await page.goto(app.url + path)
  const texts = await page.getByRole('heading').allInnerTexts()
  const order = ['2 Beiträge warten auf deine Entscheidung', 'Demnächst']
  expect(texts.filter((text) => order.includes(text))).toEqual(order)
  expect(texts.join(), 'days are German').toMatch(/Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag/)
  expect(await page.locator('html').getAttribute('lang')).toBe('de')
  expect(await page.locator('header').innerText()).toBe('Northwind & Söhne')
  expect(await page.locator('header img').getAttribute('src')).toMatch(/^data:image\/webp;base64,/)
  const html = await page.content()
  const places = ['Decide on me, please', 'Decided already', 'Out already'].map((text) => html.indexOf(text))
  expect(places, 'all are there, in this order').toEqual(places.toSorted((a, b) => a - b))
  expect(places[0]).toBeGreaterThan(0)
  expect(await page.getByText('Decided already').isVisible()).toBe(true)
  expect(await page.getByText('Out already').isVisible(), 'folded').toBe(false)
  await page.getByText('1 veröffentlichter Beitrag').click()
  expect(await page.getByText('Out already').isVisible()).toBe(true)
  await page.getByText('1 veröffentlichter Beitrag').click()
  await inspect({ name: 'guest-posts', path })

  await page.getByRole('link', { name: 'Alle freigeben' }).click()
  expect(await page.getByRole('listitem').count()).toBe(2)
  expect(await page.getByRole('listitem').first().innerText()).toContain('Decide on me, please')
  expect(await page.getByRole('button', { name: 'freigeben' }).count(), 'one button').toBe(1)
  await inspect({ name: 'guest-list', path: `${path}?view=approve_all` })
  await page.getByRole('button', { name: 'Alle 2 Beiträge freigeben' }).click()
  await page.getByRole('heading', { name: '2 von 2 Beiträgen freigegeben' }).waitFor()
  await page.getByRole('button', { name: 'Zurück' }).click()
  await page.getByText('Im Moment gibt es nichts freizugeben.').waitFor()
  await context.close()
})

test('of a list, each post has its own result, and one that has changed since is named and not approved', async () => {
  const labels = ['list']
  const same = await create('Stays the same', { labels })
  const edited = await create('Before the <edit>', { labels })
  const withdrawn = await create('Taken back', { labels })
  const decided = await create('Decided in another tab', { labels })
  const { path } = await link({ label: 'list' })
  const list = await (await look(`${path}?view=approve_all`)).text()
  expect(list).toContain('Before the &lt;edit&gt;')
  expect(list, 'nothing is decided by looking').not.toContain('name="decision"')
  expect((await get(same._id)).status).toBe('in_review')

  await as('PATCH /api/posts/{id}', { path: { id: edited._id }, body: { content: 'After the edit' } })
  await as('POST /api/posts/{id}/withdraw', { path: { id: withdrawn._id } })
  const one = { form: hidden(list, 'form'), post: decided._id, seen: decided.approval?.contentHash ?? '' }
  expect((await send(path, { ...one, decision: 'approve' })).status).toBe(200)
  // A post that was made after the list is not in it.
  const later = await create('Made later', { labels })

  const { html, status } = await approveAll(path, list)
  expect(status).toBe(200)
  expect(html).toContain('2 of 4 posts approved')
  const results = [...html.matchAll(/<li><strong>(.*?)<\/strong><br>(.*?)<\/li>/g)].map(([, ...parts]) => parts)
  expect(results).toEqual([
    ['Before the &lt;edit&gt;', expect.stringContaining('has changed')],
    ['Taken back', expect.stringContaining('not up for approval any more')],
    ['Stays the same', 'Approved'],
    ['Decided in another tab', 'You have decided on it before.'],
  ])
  expect((await get(same._id)).status).toBe('scheduled')
  expect((await get(edited._id)).approval).toMatchObject({ status: 'open', decisions: [] })
  expect((await get(withdrawn._id)).status).toBe('draft')
  expect((await get(later._id)).status).toBe('in_review')

  const again = await approveAll(path, list, 'de')
  expect(again.html, 'a repetition changes nothing').toContain('2 von 4 Beiträgen freigegeben')
  expect((await get(same._id)).approval?.decisions).toHaveLength(1)
})

test('a list of another site, with another post or of nonsense approves nothing', async () => {
  const mine = await create('In the list', { labels: ['in-list'] })
  const other = await create('Not in the list', { labels: ['not-in-list'] })
  const { path } = await link({ label: 'in-list' })
  const form = hidden(await (await look(path)).text(), 'form')
  const value = (post: PostData) => `${post._id}.${post.approval?.contentHash ?? ''}.${post.content}`
  expect((await send(path, { form: 'forged', approve: value(mine) })).status).toBe(403)
  expect((await send(path, { form, approve: 'nonsense' })).status).toBe(400)
  const refused = await send(path, { form, approve: value(other) })
  expect(refused.status).toBe(409)
  expect(await refused.text()).toContain('not up for approval any more')
  expect((await get(mine._id)).status).toBe('in_review')
  expect((await get(other._id)).status).toBe('in_review')
  const closed = await link({ label: 'in-list', passcode: 'open sesame' })
  const locked = hidden(await (await look(closed.path)).text(), 'form')
  expect((await send(closed.path, { form: locked, approve: value(mine) })).status, 'without the passcode').toBe(403)
  expect(await (await look(`${closed.path}?view=approve_all`)).text()).not.toContain('In the list')
  expect((await get(mine._id)).status).toBe('in_review')
})

test('the page speaks the language of the reader', async () => {
  const { path } = await link({ label: 'nobody-yet' })
  expect(await lookInGerman(path)).toContain('Im Moment gibt es nichts freizugeben.')
  expect(await (await look(path)).text()).toContain('There is nothing to approve at the moment.')
  expect(await lookInGerman('/api/guests/UNKNOWN-UNKNOWN-UNKNOWN')).toContain('Dieser Link funktioniert nicht.')
})

test('with more posts than a page shows, the next ones follow, and those that are decided do not push them out', async () => {
  const posts = Array.from({ length: 55 }, (_, index) => ({
    content: `Post number ${index + 1}`,
    labels: ['many'],
    targets: [{ accountId }],
    scheduledFor: new Date(clock.now() + (100 + index) * HOUR).toISOString(),
  }))
  const made = await as('POST /api/posts/bulk', { body: { workspaceId, posts } })
  expect(made.status, made.text).toBe(201)
  const { path } = await link({ label: 'many' })
  const first = await (await look(`${path}?fbclid=added-by-a-messenger`)).text()
  expect(first).toContain('Only the first 50 posts are shown')
  expect(first).not.toContain('Post number 51')
  const list = await (await look(`${path}?view=approve_all`)).text()
  expect(list).toContain('Approve all 50 posts')
  expect((await approveAll(path, list)).html).toContain('50 of 50 posts approved')
  const next = await (await look(path)).text()
  expect(next).toContain('5 posts wait for your decision')
  expect(next.indexOf('Post number 55')).toBeLessThan(next.indexOf('Coming up'))
  expect(next.indexOf('Coming up')).toBeLessThan(next.indexOf('Post number 1<'))
  const [value = ''] = /[0-9a-f-]{36}\.[0-9a-f]{64}\.[^"]*/.exec(list) ?? []
  const fields = new URLSearchParams([['form', hidden(list, 'form')]])
  for (let index = 0; index < 51; index += 1) fields.append('approve', `${value}${index}`)
  expect((await fetch(app.url + path, { method: 'POST', body: fields })).status, 'more than a page has').toBe(400)
})
