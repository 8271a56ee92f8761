import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MINUTE, SECOND } from '../../src/core/clock.ts'
import { findDue } from '../../src/domains/publishing/publication/claims/due.ts'
import { INTENT_MS } from '../../src/domains/publishing/publication/claims/lease.ts'
import { LEAD_MS, WAKE_MS } from '../../src/domains/publishing/planning/wake/wake.ts'
import { HOLD_MS } from '../../src/domains/publishing/publication/attempts/retry-policy.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { postSegments, postTargets } from '../../src/domains/publishing/posts/tables.ts'
import { PostWorld } from '../support/post-world.ts'
import { newName } from '../support/stage.ts'
import { waitFor } from '../support/wait.ts'

/** The seconds before the time of a post: it is claimed, its call is intended, and the call is made at the time itself. */

let world: PostWorld
beforeAll(async () => void (world = await PostWorld.start('publication-instant')))
afterAll(() => world.stop())

const text = () => `${newName('post')} end`

async function schedule(content: string, platform = 'mastodon'): Promise<PostData> {
  const targets = [{ accountId: await world.account(platform, newName('key')) }]
  return world.create({ content, targets, scheduledFor: world.later(MINUTE) })
}

/** Lets time pass until so long before the time of a post. */
function until({ scheduledFor }: PostData, ms: number): void {
  world.clock.advance(Date.parse(scheduledFor ?? '') - ms - world.clock.now())
}

/** Waits until a publisher has a post, three seconds before its time. */
async function claimed(post: PostData): Promise<PostData> {
  until(post, 3 * SECOND)
  return world.ended(post._id, 'publishing')
}

/** Waits until it is stored that the call of a post is about to be made, shortly before its time. */
async function intended(post: PostData): Promise<void> {
  await claimed(post)
  until(post, INTENT_MS / 2)
  await waitFor(async () => (await segmentOf(post)).status === 'calling', { what: 'the intent' })
}

async function segmentOf({ targets: [target] }: PostData) {
  const [segment] = await postSegments.find(world.app.database, { targetId: target?._id ?? '' })
  if (segment === undefined) throw new Error('there is no segment')
  return segment
}

test('a post is claimed ahead of its time, and its call is made at its time', async () => {
  const content = text()
  const post = await schedule(content)
  until(post, LEAD_MS + 1)
  expect(await world.get(post._id)).toMatchObject({ status: 'scheduled' })
  await intended(post)
  expect(await world.published(content)).toEqual([])
  until(post, 0)
  await world.ended(post._id, 'published')
  expect(await world.published(content)).toHaveLength(1)
  const { body } = await world.on(post._id, 'GET attempts')
  const calls: { at: string; method: string }[] = body.data.flatMap((attempt: { calls: object[] }) => attempt.calls)
  // What the server is was asked before.
  const published = calls.filter(({ method }) => method === 'POST').map(({ at }) => Date.parse(at))
  expect(published).toEqual([Date.parse(post.scheduledFor ?? '')])
})

describe('a post that is claimed', () => {
  test('can be cancelled, and is not published then', async () => {
    const content = text()
    const post = await claimed(await schedule(content))
    expect((await world.on(post._id, 'cancel')).status).toBe(200)
    const next = await schedule(text())
    until(next, 0)
    await world.ended(next._id, 'published')
    expect(await world.get(post._id)).toMatchObject({ status: 'cancelled' })
    expect(await world.published(content)).toEqual([])
  })

  test('cannot be edited, scheduled for another time or deleted', async () => {
    const content = text()
    const post = await claimed(await schedule(content))
    const edit = await world.on(post._id, 'PATCH ', { body: { content: 'another text' } })
    const move = await world.on(post._id, 'reschedule', { body: { scheduledFor: world.later(MINUTE) } })
    const remove = await world.on(post._id, 'DELETE ')
    expect([edit, move, remove].map(({ body, status }) => [status, body.code])).toEqual([
      [409, 'post_state_conflict'],
      [409, 'post_state_conflict'],
      [409, 'post_state_conflict'],
    ])
    until(post, 0)
    await world.ended(post._id, 'published')
    expect(await world.published(content)).toHaveLength(1)
  })

  test('is cancelled with its account', async () => {
    const content = text()
    const post = await claimed(await schedule(content))
    const [target] = post.targets
    await world.send('DELETE /api/social-accounts/{id}', { path: { id: target?.accountId ?? '' } })
    expect(await world.get(post._id)).toMatchObject({ status: 'cancelled' })
    const next = await schedule(text())
    until(next, 0)
    await world.ended(next._id, 'published')
    expect(await world.published(content)).toEqual([])
  })

  test('is held when publishing is switched off, and published when it is on again', async () => {
    const content = text()
    const post = await claimed(await schedule(content))
    const { switches } = world.app.composition.services
    const isOn = switches.isOn.bind(switches)
    switches.isOn = (name) => name !== 'posts' && isOn(name)
    until(post, 0)
    // Nothing of the posts can be read over the API meanwhile.
    const id = post.targets[0]?._id ?? ''
    const held = async () => (await postTargets.first(world.app.database, { id }))?.problem?.code === 'held'
    await waitFor(held, { what: 'the post to be held' }).finally(() => (switches.isOn = isOn))
    expect(await world.published(content)).toEqual([])
    world.clock.advance(HOLD_MS)
    await world.ended(post._id, 'published')
    expect(await world.published(content)).toHaveLength(1)
  })
})

test('a call that is about to be made wins over a cancellation', async () => {
  const content = text()
  const post = await schedule(content)
  await intended(post)
  expect((await world.on(post._id, 'cancel')).status).toBe(409)
  until(post, 0)
  await world.ended(post._id, 'published')
  expect(await world.published(content)).toHaveLength(1)
})

test('posts of the same second share a job', async () => {
  const made = await Promise.all(['one', 'two', 'three'].map(() => schedule(text())))
  const row = await world.app.database.row<{ count: number }>(
    `select count(*) from outbox where name = 'posts.publish' and workspace_id = $1 and state = 'waiting' and run_at = $2`,
    [world.workspaceId, new Date(Date.parse(made[0]?.scheduledFor ?? '') - WAKE_MS).toISOString()],
  )
  expect(row?.count).toBe(1)
  for (const post of made) until(post, 0)
  for (const post of made) await world.ended(post._id, 'published')
})

test('a node whose clock is behind finds the posts of a job that was due for another node', async () => {
  const post = await schedule(text())
  const { workspaceId } = world
  const behind = Date.parse(post.scheduledFor ?? '') - WAKE_MS - SECOND / 4
  const due = await findDue(world.app.database, { workspaceId, now: behind, most: 100 })
  expect(due.map(({ postId }) => postId)).toContain(post._id)
  until(post, 0)
  await world.ended(post._id, 'published')
})

test('a post that cannot be claimed does not keep back the others', async () => {
  const [broken, whole] = [await schedule(text()), await schedule(text())]
  await world.app.database.run(`update posts set body = 'null' where id = $1`, [broken._id])
  until(whole, 0)
  await world.ended(whole._id, 'published')
  expect(await world.get(broken._id)).toMatchObject({ status: 'scheduled' })
  await world.app.database.run('update posts set deleted_at = now() where id = $1', [broken._id])
})
