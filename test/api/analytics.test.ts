import axe from 'axe-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts'
import { closePages, sharedBrowser } from '../support/browser.ts'
import { PostWorld } from '../support/post-world.ts'
import { addFault } from '../support/sandbox-faults.ts'
import { seedUser, seedWorkspace } from '../support/seed.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'

let world: PostWorld
const sockets = new Sockets(() => world.app)
beforeAll(async () => void (world = await PostWorld.start('analytics')))
afterAll(async () => {
  sockets.end()
  await world.stop()
})

/** A new workspace with one account. */
async function workspace(name: string, platform = 'mastodon') {
  const { app, clock } = world
  const owner = await seedUser(app, `analytics-${name}`, { plan: 'business' })
  const mine = new PostWorld({ app, clock, owner, workspaceId: await seedWorkspace(app, name, owner) })
  return { mine, accountId: await mine.account(platform) }
}

const sync = (mine: PostWorld) => mine.send('POST /api/analytics/sync', { body: { workspaceId: mine.workspaceId } })
const get = async (mine: PostWorld, path: string, query: object = {}) =>
  (await mine.send(`GET /api/analytics/${path}`, { query: { workspaceId: mine.workspaceId, ...query } })).body
const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10)
const status = (reply: Awaited<ReturnType<typeof sync>>) => reply.body.data.accounts[0].status

/** Reads the account, and waits until its gap or its figures are stored. */
async function readNow(mine: PostWorld): Promise<void> {
  const before = (await get(mine, 'report-data')).data.accounts[0]
  const asked = await sync(mine)
  expect(asked.status, asked.text).toBe(202)
  expect(status(asked)).toBe('queued')
  await waitFor(async () => {
    const now = (await get(mine, 'report-data')).data.accounts[0]
    return now.collectedAt !== before.collectedAt || now.gap?.startedAt !== before.gap?.startedAt
  })
}

test('figures of an account and of a post come from the platform', async () => {
  const { accountId, mine } = await workspace('figures')
  const post = await mine.create({ content: 'counted', targets: [{ accountId }], publishNow: true })
  await mine.ended(post._id, 'published')
  const listening = await sockets.connect(mine.owner.apiKey)
  await readNow(mine)
  await waitFor(() =>
    listening.events.some(({ data, name }) => name === 'analyticsAccount.updated' && data.data.isWaiting === false),
  )
  const { data: records } = await get(mine, 'content')
  expect(records).toMatchObject([{ accountId, origin: 'crier', postId: post._id, text: 'counted', engagements: 0 }])
  const { data: across } = (await mine.send('GET /api/analytics/posts/{postId}', { path: { postId: post._id } })).body
  expect(across.targets[0].contentRecord._id).toBe(records[0]._id)
  const { data: stats } = await get(mine, 'platforms')
  const followers = stats.accounts[0].figures.find((one: { figure: string }) => one.figure === 'followers')
  expect(followers).toMatchObject({ value: 0, gap: null })
  const views = stats.accounts[0].figures.find((one: { figure: string }) => one.figure === 'views')
  expect(views).toMatchObject({ value: null, gap: { code: 'not_reported' } })
})

test('what Crier has published is counted at once, and its figures follow', async () => {
  const { accountId, mine } = await workspace('at-once')
  for (const content of ['one', 'two', 'three']) {
    const post = await mine.create({ content, targets: [{ accountId }], publishNow: true })
    await mine.ended(post._id, 'published')
  }
  const published = async () => (await get(mine, 'platforms')).data.accounts[0].publishedCount
  expect(await published()).toBe(3)
  const { data } = await get(mine, 'content')
  expect(
    data.map(({ collectedAt, text }: { collectedAt: string | null; text: string }) => [text, collectedAt]),
  ).toEqual([
    ['three', null],
    ['two', null],
    ['one', null],
  ])
  const report = await mine.send('GET /api/analytics/report.html', { query: { workspaceId: mine.workspaceId } })
  expect(report.text).toContain('3 posts were published.')
  await readNow(mine)
  expect(await published()).toBe(3)
  expect((await get(mine, 'content')).data[0]).toMatchObject({ text: 'three', origin: 'crier', engagements: 0 })
})

test('a second click does not ask the platform again', async () => {
  const { mine } = await workspace('second-click')
  const first = await sync(mine)
  const second = await sync(mine)
  expect(status(first)).toBe('queued')
  expect(['waiting', 'fresh']).toContain(status(second))
  await waitFor(async () => (await get(mine, 'report-data')).data.accounts[0].collectedAt !== null)
  expect(status(await sync(mine))).toBe('fresh')
  world.clock.advance(6 * MINUTE)
  expect(status(await sync(mine))).toBe('queued')
})

test('a record that is deleted takes its figures with it, and is not imported again', async () => {
  const { accountId, mine } = await workspace('deleted')
  const post = await mine.create({ content: 'not to be counted', targets: [{ accountId }], publishNow: true })
  await mine.ended(post._id, 'published')
  await readNow(mine)
  const [record] = (await get(mine, 'content')).data
  const remove = () => mine.send('DELETE /api/analytics/content/{id}', { path: { id: record._id } })
  const removed = await remove()
  expect(removed.status, removed.text).toBe(200)
  expect((await remove()).status).toBe(404)
  world.clock.advance(HOUR)
  await readNow(mine)
  expect((await get(mine, 'content')).data).toEqual([])
  for (const interval of ['day', 'week', 'month']) {
    const query = { figure: 'likes', interval, from: '2026-10-01', to: '2027-03-31' }
    const { data } = await get(mine, 'platforms/series', query)
    expect(data.accounts[0].points.every(({ gained }: { gained: number | null }) => gained === null)).toBe(true)
  }
})

test('a platform that does not answer leaves a gap with the reason, which ends with its next answer', async () => {
  const { mine } = await workspace('gap')
  const path = '/api/v1/accounts/verify_credentials'
  await addFault(world.app, 'mastodon', { path, kind: 'status', status: 429, times: 1 })
  await readNow(mine)
  const [account] = (await get(mine, 'report-data')).data.accounts
  expect(account).toMatchObject({ collectedAt: null, gap: { code: 'limited' } })
  // The reading has ended, so a user does not wait for it, but cannot ask again at once.
  expect(status(await sync(mine))).toBe('fresh')
  const { data } = await get(mine, 'followers')
  expect(data.accounts[0]).toMatchObject({ value: null, gap: { code: 'limited' } })
  world.clock.advance(11 * MINUTE)
  await readNow(mine)
  expect((await get(mine, 'report-data')).data.accounts[0].gap).toBeNull()
})

test('report data says since when each figure is reported, and names a request that returns it', async () => {
  const { accountId, mine } = await workspace('catalogue')
  await readNow(mine)
  world.clock.advance(DAY)
  const post = await mine.create({ content: 'the first one', targets: [{ accountId }], publishNow: true })
  await mine.ended(post._id, 'published')
  await readNow(mine)
  const { data } = await get(mine, 'report-data')
  const [{ figures, startedAt }] = data.accounts
  const since = Object.fromEntries(figures.map((one: { figure: string; since: string }) => [one.figure, one.since]))
  expect(since).toMatchObject({ followers: startedAt, views: null })
  expect(Date.parse(since['likes'])).toBeGreaterThan(Date.parse(startedAt))
  expect(Date.parse(since['likes'])).toBeLessThan(world.clock.now())
  const examples: string[] = [...data.figures, ...data.derived, ...data.dimensions].map(({ example }) => example)
  expect(examples).toHaveLength(27)
  for (const example of new Set(examples)) {
    const [path = '', query] = example.split('?')
    if (path.includes('{id}')) continue
    const options = { query: { workspaceId: mine.workspaceId, ...Object.fromEntries(new URLSearchParams(query)) } }
    const reply = await mine.send(`GET ${path}`, options)
    expect(reply.status, `${example}: ${reply.text}`).toBe(200)
  }
})

test('weeks begin on the day of the settings of the user, unless the request names another', async () => {
  const { mine } = await workspace('weeks')
  const from = (query: object = {}) =>
    get(mine, 'followers', { interval: 'week', from: '2026-11-01', to: '2026-11-30', ...query }).then(({ data }) =>
      data.combined.map((one: { from: string }) => one.from.slice(8)),
    )
  // 1 November 2026 is a Sunday.
  expect(await from()).toEqual(['01', '02', '09', '16', '23', '30'])
  await mine.send('PATCH /api/users/me/settings/ui', { body: { calendarStartDay: 'sunday' } })
  expect(await from()).toEqual(['01', '08', '15', '22', '29'])
  expect(await from({ calendarStartDay: 'saturday' })).toEqual(['01', '07', '14', '21', '28'])
  expect(await from({ calendarStartDay: 'monday' })).toEqual(['01', '02', '09', '16', '23', '30'])
  expect(await from({ interval: 'month' })).toEqual(['01'])
})

describe('limits', () => {
  let mine: PostWorld
  beforeAll(async () => void ({ mine } = await workspace('limits')))

  test.each([
    ['platforms', { from: '2026-11-02', to: '2026-11-01' }],
    ['platforms', { from: '2020-01-01', to: '2026-11-01' }],
    ['platforms/series', { figure: 'stars' }],
    ['content', { cursor: 'abc' }],
    ['best-times', { timezone: 'Mars/Base' }],
  ])('%s refuses %j', async (path, query) => {
    const reply = await mine.send(`GET /api/analytics/${path}`, { query: { workspaceId: mine.workspaceId, ...query } })
    expect(reply.status, reply.text).toBe(400)
  })
})

test('too few posts have no best time', async () => {
  const { mine } = await workspace('best-times')
  const { data } = await get(mine, 'best-times', { timezone: 'Asia/Kathmandu' })
  expect(data).toMatchObject({ status: 'too_few_posts', timezone: 'Asia/Kathmandu', postCount: 0, best: [] })
  expect(data.cells).toHaveLength(168)
})

test('a report is a page that axe accepts, and a PDF', async () => {
  const { accountId, mine } = await workspace('report')
  const post = await mine.create({ content: '<b>Live</b> & well', targets: [{ accountId }], publishNow: true })
  await mine.ended(post._id, 'published')
  await readNow(mine)
  world.clock.advance(DAY)
  await readNow(mine)
  const query = { workspaceId: mine.workspaceId }
  const pdf = await mine.send('GET /api/analytics/report.pdf', { query })
  expect(pdf.status).toBe(200)
  expect(pdf.text.startsWith('%PDF-')).toBe(true)
  const html = await mine.send('GET /api/analytics/report.html', { query })
  expect(html.status).toBe(200)
  expect(html.text).toContain('&lt;b&gt;Live&lt;/b&gt; &amp; well')
  const browser = await sharedBrowser()
  try {
    const page = await browser.newPage({ viewport: { width: 390, height: 800 }, bypassCSP: true })
    const requested: string[] = []
    page.on('request', (request) => void requested.push(request.url()))
    // Pale colors, greys for which black and white are both nearly unreadable, and a dark color close to that of the text.
    for (const accentColor of [null, '#ffee00', '#ffffff', '#767676', '#777777', '#ff0000', '#1f2937', '#000000']) {
      const set = await mine.send('PUT /api/analytics/report-branding', { body: { ...query, accentColor } })
      expect(set.status, set.text).toBe(200)
      const { text } = await mine.send('GET /api/analytics/report.html', { query })
      await page.setContent(text)
      expect(text).toContain(`--accent:${accentColor ?? '#0b5cad'};`)
      // Only visible text is checked.
      await page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
      await page.evaluate(axe.source)
      const found = await page.evaluate(() =>
        (globalThis as unknown as { axe: { run: () => Promise<{ violations: { id: string }[] }> } }).axe.run(),
      )
      expect(found.violations.map(({ id }) => `${accentColor}: ${id}`)).toEqual([])
    }
    expect(requested).toEqual([])
  } finally {
    await closePages(browser)
  }
})

test('a smaller plan deletes nothing for 30 days, and then keeps days, weeks and months of the time before', async () => {
  const { accountId, mine } = await workspace('retention')
  const larger = await workspace('retention-larger')
  const { clock, app } = world
  const { analytics, plans } = app.composition.services
  const post = await mine.create({ content: 'kept', targets: [{ accountId }], publishNow: true })
  await mine.ended(post._id, 'published')
  await readNow(mine)
  await readNow(larger.mine)
  const day = dayOf(clock.now())
  const started = clock.now()
  const samples = async (id = accountId) => {
    const rows = await app.database.rows(
      'select from analytics_samples m join analytics_series s on s.id = m.series_id where s.account_id = $1',
      [id],
    )
    return rows.length
  }
  const hasMonth = async (at: number) => {
    const name = `analytics_samples_${dayOf(at).slice(0, 7).replace('-', '_')}`
    return (await app.database.row<{ found: boolean }>('select to_regclass($1) is not null as found', [name]))?.found
  }
  const series = async (interval: string) => {
    const query = { figure: 'followers', interval, from: day, to: day }
    return (await get(mine, 'platforms/series', query)).data.accounts[0].points
  }
  const before = { count: await samples(), day: await series('day'), month: await series('month') }
  expect(before.count).toBeGreaterThan(0)
  // A late figure of a month that is older than what the largest plan keeps, with the 30 days.
  const old = started - 2_000 * DAY
  const ofFollowers = { contentId: null, figure: 'followers', source: 'account', fromZero: false } as const
  await app.database.transaction((tx) =>
    analytics.recorder.record(tx, { accountId: larger.accountId, zone: 'UTC' }, [
      { ...ofFollowers, at: old, value: 7 },
    ]),
  )
  const ofOld = async (interval: string) => {
    const query = { figure: 'followers', interval, from: dayOf(old), to: dayOf(old) }
    return (await get(larger.mine, 'platforms/series', query)).data.accounts[0].points
  }
  const oldBefore = [await ofOld('day'), await ofOld('month')]
  expect(oldBefore).toMatchObject([[{ value: 7 }], [{ value: 7 }]])
  expect(await hasMonth(old)).toBe(true)
  // The service does it each day.
  const prune = () => analytics.retention.prune(AbortSignal.timeout(60_000))
  await prune()
  expect(await hasMonth(old)).toBe(false)
  expect([await ofOld('day'), await ofOld('month')]).toEqual(oldBefore)
  const ofLarger = await samples(larger.accountId)
  expect(ofLarger).toBeGreaterThan(0)
  clock.advance(95 * DAY)
  await plans.change(mine.owner.id, 'free')
  await prune()
  expect(await samples()).toBe(before.count)
  const shortensAt = new Date(clock.now() + 30 * DAY).toISOString()
  expect((await get(mine, 'report-data')).data.retention).toEqual({ days: 1_900, nextDays: 90, shortensAt })
  await waitFor(async () => {
    const { data } = (await mine.send('GET /api/notifications')).body
    return data.some(({ type }: { type: string }) => type === 'analyticsRetention.shortened')
  })
  clock.advance(29 * DAY)
  await prune()
  expect(await samples()).toBe(before.count)
  clock.advance(DAY)
  await prune()
  expect(await samples()).toBe(0)
  // The month stays for the larger plan.
  expect([await samples(larger.accountId), await hasMonth(started)]).toEqual([ofLarger, true])
  const { data } = await get(mine, 'report-data')
  expect(data.retention).toEqual({ days: 90, nextDays: null, shortensAt: null })
  expect(Date.parse(data.accounts[0].keptSince)).toBeGreaterThan(started)
  expect([await series('day'), await series('month')]).toEqual([before.day, before.month])
  const [record] = (await get(mine, 'content', { from: day })).data
  const path = { id: record._id }
  const decay = await mine.send('GET /api/analytics/content/{id}/series', { path, query: { figure: 'likes' } })
  expect(decay.body.data).toMatchObject({ halfLifeHours: null, halfLifeGap: { code: 'not_kept' } })
  // A late figure of that time, and another zone, change nothing in it.
  const late = { ...ofFollowers, at: started, value: 99 }
  await app.database.transaction(async (tx) => {
    await analytics.recorder.record(tx, { accountId, zone: 'UTC' }, [late])
    await analytics.recorder.moveToZone(tx, accountId, 'Asia/Kathmandu')
  })
  expect([await series('day'), await series('month')]).toEqual([before.day, before.month])
})
