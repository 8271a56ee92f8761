import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, HOUR } from '../../src/core/clock.ts'
import type { Fault } from '../../sandbox/faults.ts'
import { PostWorld } from '../support/post-world.ts'
import { addFault } from '../support/sandbox-faults.ts'
import { seedUser, seedWorkspace } from '../support/seed.ts'

let world: PostWorld
beforeAll(async () => void (world = await PostWorld.start('post-deletion')))
afterAll(() => world.stop())

const remove = (id: string, query = {}, headers = {}) => world.on(id, 'DELETE ', { query, headers })
const everywhere = (id: string) => remove(id, { fromPlatforms: true })
const fault = (given: Omit<Fault, 'times'>, platform = 'mastodon') =>
  addFault(world.app, platform, { times: 1, ...given })

async function published(content: string, more: object = {}) {
  const targets = [{ accountId: await world.account() }]
  const { _id: id } = await world.create({ content, targets, publishNow: true, ...more })
  return world.ended(id, 'published')
}

/** The requests of the attempts to delete a post, in order. */
async function deletions(id: string): Promise<string[]> {
  const rows = await world.app.database.rows<{ calls: { method: string; url: string }[] }>(
    `select a.calls from post_attempts a join post_targets t on t.id = a.target_id
     where t.post_id = $1 and a.kind = 'remove' order by a.started_at`,
    [id],
  )
  return rows.flatMap(({ calls }) => calls).flatMap(({ method, url }) => (method === 'DELETE' ? [url] : []))
}

describe('deleting a post from its platforms', () => {
  test('deletes the last part first, and the post when everything is gone', async () => {
    const thread = [{ content: 'removed two' }, { content: 'removed three' }]
    const { _id: id } = await published('removed one', { thread })
    const ids = (await world.published('removed ')).map((post) => post.id)
    const reply = await everywhere(id)
    expect(reply.status).toBe(202)
    expect(reply.body.data.targets[0].statusReason).toMatchObject({ code: 'removing', whoActs: 'nobody' })
    await world.gone(id)
    expect(await world.published('removed ')).toEqual([])
    const urls = await deletions(id)
    expect(urls).toHaveLength(3)
    expect(new Set(urls.map((url) => url.split('/').at(-1)))).toEqual(new Set(ids))
    const rows = await world.app.database.rows<{ id: string }>(
      `select s.remote->>'id' as id from post_segments s join post_targets t on t.id = s.target_id
       where t.post_id = $1 order by s.position desc`,
      [id],
    )
    expect(urls.map((url) => url.split('/').at(-1))).toEqual(rows.map((row) => row.id))
  })

  test('repeats a deletion whose reply was lost: what is gone counts as deleted', async () => {
    const { _id: id } = await published('removed twice')
    await fault({ path: '/api/v1/statuses/', method: 'DELETE', kind: 'cut' })
    await everywhere(id)
    await world.gone(id)
    expect(await deletions(id)).toHaveLength(2)
  })

  test('keeps the post and says what could not be deleted, and tries only that again', async () => {
    const targets = [{ accountId: await world.account() }, { accountId: await world.account('bluesky') }]
    const { _id: id } = await published('partly removed', { targets })
    await fault({ path: '/api/v1/statuses/', method: 'DELETE', kind: 'status', status: 403 })
    await everywhere(id)
    // Time stands still: an attempt that outlives its lease would use up the fault, and another one would succeed.
    const { targets: left } = await world.until(id, ({ targets: [one, two] }) => {
      return one?.statusReason?.code === 'removal_failed' && two?.remoteDeletedAt !== null
    })
    expect(left[0]).toMatchObject({ status: 'published', remoteDeletedAt: null, statusReason: { whoActs: 'user' } })
    expect(left[0]?.statusReason?.message).toMatch(/could not be deleted at Mastodon/)
    expect(await world.published('partly removed', 'bluesky')).toEqual([])
    expect((await everywhere(id)).status).toBe(202)
    await world.gone(id)
    expect(await world.published('partly removed')).toEqual([])
  })

  test('says where a platform has no deletion', async () => {
    const { _id: id } = await published('never removed')
    // TikTok publishes only videos, which are slow to make. Here only the platform of the target counts.
    await world.app.database.run(`update post_targets set platform = 'tiktok' where post_id = $1`, [id])
    const reply = await everywhere(id)
    expect(reply.status).toBe(202)
    expect(reply.body.data.targets[0].statusReason).toMatchObject({ code: 'removal_not_possible', whoActs: 'user' })
    expect((await remove(id)).status).toBe(200)
    expect((await world.on(id, 'GET ')).status).toBe(404)
  })

  test('deletes a post of which nothing is published at once', async () => {
    const targets = [{ accountId: await world.account() }]
    const { _id: id } = await world.create({ content: 'not out yet', targets, scheduledFor: world.later(HOUR) })
    expect((await remove(id, {}, { 'if-match': '"7"' })).status).toBe(412)
    expect((await remove(id, { fromPlatforms: true }, { 'if-match': '"1"' })).status).toBe(200)
    world.clock.advance(2 * HOUR)
    const { _id: other } = await published('after it')
    await everywhere(other)
    await world.gone(other)
    expect(await world.published('not out yet')).toEqual([])
  })
})

describe('deleting while a post is being published', () => {
  test('before the publishing call cancels it, and nothing is published', async () => {
    await fault({ path: '/api/v1/statuses', method: 'POST', kind: 'status', status: 429 })
    const targets = [{ accountId: await world.account() }]
    const { _id: id } = await world.create({ content: 'deleted first', targets, publishNow: true })
    await world.until(id, ({ targets: [target] }) => target?.nextAttemptAt != null)
    expect((await remove(id)).status).toBe(409)
    expect((await everywhere(id)).status).toBe(200)
    world.clock.advance(HOUR)
    await published('after the deletion')
    expect(await world.published('deleted first')).toEqual([])
  })

  test('after the publishing call publishes it first, and then deletes it', async () => {
    await fault({ path: '/api/v1/statuses', method: 'POST', kind: 'cut' })
    const targets = [{ accountId: await world.account() }]
    const { _id: id } = await world.create({ content: 'called first', targets, publishNow: true })
    await world.until(id, ({ targets: [target] }) => target?.nextAttemptAt != null)
    expect(await world.published('called first')).toHaveLength(1)
    expect((await everywhere(id)).status).toBe(202)
    await world.gone(id)
    expect(await world.published('called first')).toEqual([])
  })

  test('waits until it is known whether a lost call has published', async () => {
    await fault({ path: '/2/tweets', method: 'POST', kind: 'cut' }, 'x')
    const targets = [{ accountId: await world.account('x') }]
    const { _id: id } = await world.create({ content: 'lost and deleted', targets, publishNow: true })
    await world.ended(id, 'unconfirmed')
    expect((await everywhere(id)).status).toBe(202)
    await world.gone(id)
    expect(await world.published('lost and deleted', 'x')).toEqual([])
  })
})

describe('cancelling in the last second', () => {
  test('wins before the publishing call', async () => {
    await fault({ path: '/api/v1/statuses', method: 'POST', kind: 'status', status: 429 })
    const targets = [{ accountId: await world.account() }]
    const { _id: id } = await world.create({ content: 'cancelled in time', targets, publishNow: true })
    await world.until(id, ({ targets: [target] }) => target?.nextAttemptAt != null)
    expect((await world.on(id, 'cancel')).body.data.status).toBe('cancelled')
    world.clock.advance(HOUR)
    await published('after the cancellation')
    expect(await world.published('cancelled in time')).toEqual([])
  })

  test('loses after the publishing call', async () => {
    await fault({ path: '/api/v1/statuses', method: 'POST', kind: 'cut' })
    const targets = [{ accountId: await world.account() }]
    const { _id: id } = await world.create({ content: 'cancelled too late', targets, publishNow: true })
    await world.until(id, ({ targets: [target] }) => target?.nextAttemptAt != null)
    const refused = await world.on(id, 'cancel')
    expect([refused.status, refused.body.code]).toEqual([409, 'post_state_conflict'])
    await world.passing(id, ({ status }) => status === 'published')
    expect(await world.published('cancelled too late')).toHaveLength(1)
  })
})

describe('deleting several posts', () => {
  test('gives a result for each, also for ids of other workspaces', async () => {
    const { _id: draft } = await world.create({ content: 'a draft' })
    const { _id: out } = await published('several, published')
    await fault({ path: '/api/v1/statuses', method: 'POST', kind: 'status', status: 429 })
    const targets = [{ accountId: await world.account() }]
    const { _id: busy } = await world.create({ content: 'several, busy', targets, publishNow: true })
    await world.until(busy, ({ targets: [target] }) => target?.nextAttemptAt != null)
    const stranger = await seedUser(world.app, 'post-deletion-stranger')
    const theirs = await seedWorkspace(world.app, 'Theirs', stranger)
    const foreign = await world.app.send('POST /api/posts', {
      apiKey: stranger.apiKey,
      body: { workspaceId: theirs, content: 'theirs' },
    })
    const ids = [draft, out, busy, foreign.body.data._id, '01939e5c-7a10-7c3e-8f21-3c5a9b2d4fff']
    const bulk = (fromPlatforms: boolean) =>
      world.send('POST /api/posts/bulk-delete', { body: { workspaceId: world.workspaceId, ids, fromPlatforms } })
    const { data } = (await bulk(false)).body
    expect(data.map((row: { status: string }) => row.status)).toEqual([
      'deleted',
      'deleted',
      'refused',
      'not_found',
      'not_found',
    ])
    expect(data.map((row: { httpStatus: number }) => row.httpStatus)).toEqual([200, 200, 409, 404, 404])
    expect({ ...data[3], _id: '' }).toEqual({ ...data[4], _id: '' })
    expect((await bulk(true)).body.data.map((row: { status: string }) => row.status)).toEqual([
      'not_found',
      'not_found',
      'deleted',
      'not_found',
      'not_found',
    ])
    expect(await world.published('several, published')).toHaveLength(1)
    const mine = await world.app.send('GET /api/posts/{id}', {
      apiKey: stranger.apiKey,
      path: { id: foreign.body.data._id },
    })
    expect(mine.status).toBe(200)
  })
})

test('a deleted post is kept for 30 days, and then deleted with everything that belongs to it', async () => {
  const { _id: id } = await published('purged later')
  await world.on(id, 'comments', { body: { body: 'A comment' } })
  await remove(id)
  const { bin } = world.app.composition.services.remote
  const count = async () => {
    const tables = [
      'posts where id',
      'post_targets where post_id',
      'post_versions where post_id',
      'post_comments where post_id',
    ]
    const rows = await Promise.all(tables.map((table) => world.app.database.rows(`select 1 from ${table} = $1`, [id])))
    return rows.map(({ length }) => length)
  }
  world.clock.advance(29 * DAY)
  await bin.purge(new AbortController().signal)
  expect(await count()).toEqual([1, 1, 1, 1])
  world.clock.advance(2 * DAY)
  await bin.purge(new AbortController().signal)
  expect(await count()).toEqual([0, 0, 0, 0])
})
