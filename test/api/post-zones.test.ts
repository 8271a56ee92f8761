import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, MINUTE } from '../../src/core/clock.ts'
import { createLog } from '../../src/core/log.ts'
import { zoneRules, type ZoneRules } from '../../src/domains/publishing/calendar/time/zones.ts'
import { ZoneWatch } from '../../src/domains/publishing/planning/zones/watch.ts'
import { zoneChecks } from '../../src/domains/publishing/planning/zones/tables.ts'
import { PostWorld } from '../support/post-world.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'

/** Posts after a change of the rules of their time zone, which a new version of Node brings. */

let world: PostWorld
let accountId: string
/** Kathmandu gives up its odd offset of 5:45 for 6:00. */
const NEW_RULES: ZoneRules = {
  offsetAt: (zone, at) => zoneRules.offsetAt(zone, at) + (zone === 'Asia/Kathmandu' ? 15 * MINUTE : 0),
}
const log = createLog({ level: 'silent' })

beforeAll(async () => {
  world = await PostWorld.start('zones')
  accountId = await world.account()
})
afterAll(async () => {
  sockets.end()
  await world.stop()
})
const sockets = new Sockets(() => world.app)

/** Runs the check with other rules, as a node with a newer tzdata does. */
function check(version: string, rules: ZoneRules): Promise<void> {
  const { database: sql, composition } = world.app
  const { turns } = composition.services
  const watch = new ZoneWatch({ sql, clock: world.clock, turns, rules, version })
  return watch.run(new AbortController().signal, log)
}

const at = (scheduledFor: string, timezone: string, extra: object = {}) =>
  world.create({ content: `${timezone} ${scheduledFor}`, targets: [{ accountId }], scheduledFor, timezone, ...extra })

test('new rules move the instant and not the clock time, and the post says so', async () => {
  const own = await world.account('bluesky')
  const targets = [
    { accountId },
    { accountId: own, override: { scheduledFor: '2026-12-03T18:00', timezone: 'Asia/Kathmandu' } },
  ]
  const post = await at('2026-12-02T09:00', 'Asia/Kathmandu', { targets })
  const other = await at('2026-12-02T09:00', 'Europe/Berlin')
  const { events } = await sockets.connect(world.owner.apiKey)
  await check('2091a', NEW_RULES)
  const moved = await world.get(post._id)
  expect(moved).toMatchObject({
    version: 2,
    status: 'scheduled',
    localTime: '2026-12-02T09:00:00',
    scheduledFor: '2026-12-02T03:00:00.000Z',
  })
  expect(post.scheduledFor).toBe('2026-12-02T03:15:00.000Z')
  expect(moved.targets.map(({ scheduledFor }) => scheduledFor)).toEqual([
    '2026-12-02T03:00:00.000Z',
    '2026-12-03T12:00:00.000Z',
  ])
  expect(other).toMatchObject(await world.get(other._id))
  const [version] = (await world.on(post._id, 'GET versions')).body.data
  expect(version).toMatchObject({ version: 2, kind: 'zone_changed', actor: null })
  expect(version.changes.parts).toContain('times')
  const times = (accountIdOf: string | null, day: string, from: string, to: string) => ({
    accountId: accountIdOf,
    localTime: `2026-12-${day}:00`,
    timezone: 'Asia/Kathmandu',
    from: `2026-12-${from}:00.000Z`,
    to: `2026-12-${to}:00.000Z`,
  })
  const event = await waitFor(() => events.find(({ name }) => name === 'post.moved'))
  expect(event.data.data).toEqual({
    postId: post._id,
    tzdataVersion: '2091a',
    times: [
      times(null, '02T09:00', '02T03:15', '02T03:00'),
      times(accountId, '02T09:00', '02T03:15', '02T03:00'),
      times(own, '03T18:00', '03T12:15', '03T12:00'),
    ],
  })
  // A second run, and a node that still has the old rules, change nothing.
  await check('2091a', NEW_RULES)
  await check('2090z', zoneRules)
  expect(await world.get(post._id)).toEqual(moved)
})

test('a post is published at the new instant, and only once', async () => {
  const post = await at('2026-12-10T09:00', 'Asia/Kathmandu')
  await check('2092a', NEW_RULES)
  const { scheduledFor } = await world.get(post._id)
  expect(scheduledFor).toBe('2026-12-10T03:00:00.000Z')
  world.clock.advance(Date.parse(scheduledFor ?? '') + MINUTE - world.clock.now())
  await world.ended(post._id, 'published')
  // The job of the old instant does nothing.
  world.clock.advance(20 * MINUTE)
  expect(await world.published('2026-12-10T09:00')).toHaveLength(1)
})

test('a post whose instant is later now does not go out at the old one', async () => {
  const later: ZoneRules = {
    offsetAt: (zone, at) => zoneRules.offsetAt(zone, at) - (zone === 'Asia/Kathmandu' ? 15 * MINUTE : 0),
  }
  const post = await at('2026-12-12T09:00', 'Asia/Kathmandu')
  // It is due at the instant that the post had.
  const beside = await at('2026-12-12T03:15', 'UTC')
  await check('2092b', later)
  expect(post.scheduledFor).toBe(beside.scheduledFor)
  world.clock.advance(Date.parse('2026-12-12T03:16:00Z') - world.clock.now())
  await world.ended(beside._id, 'published')
  expect(await world.get(post._id)).toMatchObject({ status: 'scheduled', scheduledFor: '2026-12-12T03:30:00.000Z' })
  world.clock.advance(15 * MINUTE)
  await world.ended(post._id, 'published')
})

test('a post that waits for approval moves, and its approval still covers it', async () => {
  const path = { workspaceId: world.workspaceId }
  const body = { stages: [{ name: 'Owner', approvers: { userIds: [world.owner.id] } }], authorsMayApprove: true }
  const set = await world.send('PUT /api/approvals/{workspaceId}/flow', { path, body })
  expect(set.status, set.text).toBe(200)
  const post = await at('2027-01-10T09:00', 'Asia/Kathmandu')
  expect(post.status).toBe('in_review')
  await check('2093a', NEW_RULES)
  const decided = await world.on(post._id, 'approval', { body: { decision: 'approve' } })
  expect(decided.body.data, decided.text).toMatchObject({
    status: 'scheduled',
    scheduledFor: '2027-01-10T03:00:00.000Z',
  })
  await world.send('DELETE /api/approvals/{workspaceId}/flow', { path })
})

test('what a node with old rules has written meanwhile is found a day later', async () => {
  await check('2094a', NEW_RULES)
  const post = await at('2027-02-10T09:00', 'Asia/Kathmandu')
  await check('2094a', NEW_RULES)
  expect((await world.get(post._id)).scheduledFor).toBe('2027-02-10T03:15:00.000Z')
  world.clock.advance(DAY)
  await check('2094a', NEW_RULES)
  expect((await world.get(post._id)).scheduledFor).toBe('2027-02-10T03:00:00.000Z')
})

test('the server checks with its own version of tzdata after it has started', async () => {
  await world.app.database.run('delete from zone_checks')
  // As if the post had been written with other rules.
  const post = await at('2027-03-10T09:00', 'Asia/Kathmandu')
  const wrong = '2027-03-10T04:00:00.000Z'
  await world.app.database.run('update posts set scheduled_at = $2 where id = $1', [post._id, wrong])
  await world.app.database.run('update post_targets set scheduled_at = $2 where post_id = $1', [post._id, wrong])
  world.clock.advance(2 * MINUTE)
  await world.until(post._id, ({ scheduledFor }) => scheduledFor === '2027-03-10T03:15:00.000Z')
  const stored = await waitFor(() => zoneChecks.first(world.app.database, { name: 'posts' }))
  expect(stored.version).toBe(process.versions.tz)
})
