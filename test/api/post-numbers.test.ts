import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts'
import { PostWorld } from '../support/post-world.ts'
import { addFault } from '../support/sandbox-faults.ts'
import { seedUser, seedWorkspace } from '../support/seed.ts'

let world: PostWorld
beforeAll(async () => void (world = await PostWorld.start('post-numbers')))
afterAll(() => world.stop())

/** A new workspace, so that numbers do not depend on other tests. */
async function workspace(name: string): Promise<PostWorld> {
  const { app, clock } = world
  const owner = await seedUser(app, `numbers-${name}`, { plan: 'business' })
  return new PostWorld({ app, clock, owner, workspaceId: await seedWorkspace(app, name, owner) })
}

interface Upcoming {
  readonly scheduledFor: string
  readonly targetIds: readonly string[]
  readonly post: { readonly _id: string; readonly content: string }
}

const upcoming = async (of: PostWorld, query = {}) =>
  (await of.send('GET /api/posts/upcoming', { query: { workspaceId: of.workspaceId, ...query } })).body
const dashboard = (of: PostWorld, query = {}) =>
  of.send('GET /api/posts/dashboard', { query: { workspaceId: of.workspaceId, ...query } })

describe('upcoming posts', () => {
  test('are listed by time, and once for each time of a post', async () => {
    const mine = await workspace('upcoming')
    const [one, two] = [await mine.account(), await mine.account('bluesky')]
    const own = { accountId: two, override: { scheduledFor: mine.later(3 * HOUR) } }
    const { _id: both } = await mine.create({
      content: 'twice',
      targets: [{ accountId: one }, own],
      scheduledFor: mine.later(HOUR),
    })
    const { _id: between } = await mine.create({
      content: 'between',
      targets: [{ accountId: one }, { accountId: two }],
      scheduledFor: mine.later(2 * HOUR),
    })
    const { _id: far } = await mine.create({
      content: 'far',
      targets: [{ accountId: one }],
      scheduledFor: mine.later(20 * DAY),
    })
    await mine.create({ content: 'a draft', targets: [{ accountId: one }] })
    const { _id: cancelled } = await mine.create({
      content: 'cancelled',
      targets: [{ accountId: one }],
      scheduledFor: mine.later(HOUR),
    })
    await mine.on(cancelled, 'cancel')
    const { data } = await upcoming(mine)
    expect(data.map(({ post, targetIds }: Upcoming) => [post._id, targetIds.length])).toEqual([
      [both, 1],
      [between, 2],
      [both, 1],
    ])
    expect(data.map(({ scheduledFor }: Upcoming) => scheduledFor)).toEqual([
      mine.later(HOUR),
      mine.later(2 * HOUR),
      mine.later(3 * HOUR),
    ])
    const month = await upcoming(mine, { days: 30, limit: 3 })
    expect(month.pagination.hasMore).toBe(true)
    const rest = await upcoming(mine, { days: 30, limit: 3, cursor: month.pagination.nextCursor })
    expect(rest.data.map(({ post }: Upcoming) => post._id)).toEqual([far])
    expect(
      (await mine.send('GET /api/posts/upcoming', { query: { workspaceId: mine.workspaceId, days: 91 } })).status,
    ).toBe(400)
  })
})

describe('the dashboard', () => {
  test('counts targets by state, platform and day of the workspace’s zone', async () => {
    const mine = await workspace('counted')
    const [mastodon, bluesky] = [await mine.account(), await mine.account('bluesky')]
    const empty = await dashboard(mine)
    expect(empty.status, empty.text).toBe(200)
    expect(empty.body.data).toMatchObject({ count: 0, byStatus: [], successRate: null, nextUp: [] })
    const targets = [{ accountId: mastodon }, { accountId: bluesky }]
    const { _id: out } = await mine.create({ content: 'counted', targets, publishNow: true })
    await mine.ended(out, 'published')
    await addFault(mine.app, 'mastodon', { path: '/api/v1/statuses', kind: 'status', status: 422, times: 1 })
    const { _id: refused } = await mine.create({ content: 'refused', targets: targets.slice(0, 1), publishNow: true })
    await mine.ended(refused, 'failed')
    // 23:30 of the same day in Berlin, and 00:30 of the next one.
    await mine.create({ content: 'today', targets, scheduledFor: '2026-11-30T23:30', timezone: 'Europe/Berlin' })
    const night = { scheduledFor: '2026-12-01T00:30', timezone: 'Europe/Berlin' }
    const { _id: deleted } = await mine.create({ content: 'deleted', targets, ...night })
    await mine.on(deleted, 'DELETE ')
    await mine.create({ content: 'tomorrow', targets: targets.slice(1), ...night })
    await mine.create({ content: 'a draft', targets })
    const { data } = (await dashboard(mine, { from: '2026-11-29T23:00:00Z', to: '2026-12-01T23:00:00Z' })).body
    expect(data).toMatchObject({
      timezone: 'Europe/Berlin',
      count: 6,
      byStatus: [
        { status: 'failed', count: 1 },
        { status: 'published', count: 2 },
        { status: 'scheduled', count: 3 },
      ],
      byPlatform: [
        { platform: 'bluesky', count: 3, publishedCount: 1 },
        { platform: 'mastodon', count: 3, publishedCount: 1 },
      ],
      byDay: [
        { day: '2026-11-30', count: 5, publishedCount: 2, failedCount: 1 },
        { day: '2026-12-01', count: 1, publishedCount: 0, failedCount: 0 },
      ],
      successRate: 0.6667,
      unscheduledCount: 1,
    })
    expect(data.nextUp.map(({ post }: Upcoming) => post.content)).toEqual(['today', 'tomorrow'])
  })

  test('has days of 23 and 25 hours when clocks change', async () => {
    const mine = await workspace('clocks')
    const hours = async (from: string, to: string) => {
      const { data } = (await dashboard(mine, { from, to })).body
      return data.byDay.map(({ day, endsAt, startsAt }: { day: string; startsAt: string; endsAt: string }) => [
        day,
        (Date.parse(endsAt) - Date.parse(startsAt)) / HOUR,
      ])
    }
    expect(await hours('2026-03-27T23:00:00Z', '2026-03-29T22:00:00Z')).toEqual([
      ['2026-03-28', 24],
      ['2026-03-29', 23],
    ])
    expect(await hours('2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z')).toEqual([['2026-10-25', 25]])
    expect(await hours('2026-10-24T12:00:00Z', '2026-10-24T13:00:00Z')).toEqual([['2026-10-24', 1]])
  })

  test('covers the last 30 days by default, and at most 92', async () => {
    const mine = await workspace('range')
    const { data } = (await dashboard(mine)).body
    expect([data.byDay.length, data.byDay[0].day, data.byDay.at(-1).day]).toEqual([30, '2026-11-01', '2026-11-30'])
    const from = '2026-06-30T22:00:00Z'
    expect((await dashboard(mine, { from, to: '2026-09-30T22:00:00Z' })).status).toBe(200)
    const long = await dashboard(mine, { from, to: '2026-10-01T22:00:00Z' })
    expect([long.status, long.body.errors[0].code]).toEqual([400, 'range'])
    const backwards = await dashboard(mine, { from, to: from })
    expect([backwards.status, backwards.body.errors[0].code]).toEqual([400, 'order'])
  })
})

describe('the figures of a post', () => {
  const figures = async (id: string) => (await world.on(id, 'GET analytics')).body.data
  const valueOf = (list: { figure: string; value: number | null }[], figure: string) =>
    list.find((one) => one.figure === figure)

  test('are those that each platform reports, and null where it reports none', async () => {
    const accounts = [await world.account(), await world.account('telegram')]
    const targets = accounts.map((accountId) => ({ accountId }))
    const { _id: id } = await world.create({ content: 'with figures', targets, publishNow: true })
    await world.ended(id, 'published')
    const { targets: shown, totals } = await figures(id)
    expect(shown[0]).toMatchObject({ platform: 'mastodon', gap: { code: 'partly_reported' } })
    expect(shown[0].fetchedAt).not.toBeNull()
    expect(valueOf(shown[0].figures, 'likes')).toEqual({ figure: 'likes', value: 0 })
    expect(valueOf(shown[0].figures, 'views')).toEqual({ figure: 'views', value: null })
    expect(shown[1]).toMatchObject({ platform: 'telegram', gap: { code: 'not_supported' }, fetchedAt: null })
    expect(valueOf(totals, 'likes')).toEqual({ figure: 'likes', value: 0, targetCount: 1 })
    expect(valueOf(totals, 'views')).toEqual({ figure: 'views', value: null, targetCount: 0 })
  })

  test('are kept for five minutes, and longer if the platform does not answer', async () => {
    const targets = [{ accountId: await world.account() }]
    const { _id: id } = await world.create({ content: 'figures kept', targets, publishNow: true })
    await world.ended(id, 'published')
    const first = (await figures(id)).targets[0]
    world.clock.advance(4 * MINUTE)
    expect((await figures(id)).targets[0]).toEqual(first)
    world.clock.advance(2 * MINUTE)
    await addFault(world.app, 'mastodon', {
      path: '/api/v1/statuses/',
      method: 'GET',
      kind: 'status',
      status: 404,
      times: 1,
    })
    const failed = (await figures(id)).targets[0]
    expect(failed).toMatchObject({ fetchedAt: first.fetchedAt, figures: first.figures, gap: { code: 'unavailable' } })
    const fresh = (await figures(id)).targets[0]
    expect(Date.parse(fresh.fetchedAt)).toBeGreaterThan(Date.parse(first.fetchedAt))
  })

  test('of what is not published or was removed say so', async () => {
    const targets = [{ accountId: await world.account() }]
    const { _id: draft } = await world.create({ content: 'no figures', targets })
    expect((await figures(draft)).targets[0]).toMatchObject({ gap: { code: 'not_published' }, fetchedAt: null })
    const { _id: id } = await world.create({ content: 'removed figures', targets, publishNow: true })
    await world.ended(id, 'published')
    await world.app.database.run('update post_targets set remote_deleted_at = now() where post_id = $1', [id])
    expect((await figures(id)).targets[0]).toMatchObject({ gap: { code: 'removed' }, fetchedAt: null })
    expect((await world.on('01939e5c-7a10-7c3e-8f21-3c5a9b2d4fff', 'GET analytics')).status).toBe(404)
  })
})
