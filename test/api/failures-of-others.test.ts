import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/core/clock.ts'
import { isFinal } from '../../src/domains/publishing/posts/state.ts'
import { postAttempts } from '../../src/domains/publishing/posts/tables.ts'
import type { PostMedia } from '../../src/platforms/content.ts'
import type { PublishPart } from '../../src/platforms/publishing.ts'
import { PublicationStage, type Point } from '../support/publication.ts'
import { addFault, sandboxPosts } from '../support/sandbox-faults.ts'

/** Failures that users of other schedulers have reported. Each test is named after its source. */

let stage: PublicationStage
beforeAll(async () => {
  stage = await PublicationStage.start()
})
afterAll(() => stage.stop())

function part(text: string, role: PublishPart['role'] = 'post', media: readonly PostMedia[] = []) {
  return { role, text, media, options: {} }
}

async function countOf(platform: string, text: string): Promise<number> {
  return (await sandboxPosts(stage.app, platform)).filter((post) => post.text.includes(text)).length
}

const callsOf = async (targetId: string) => {
  const attempts = await postAttempts.find(stage.app.database, { targetId }, { orderBy: ['id asc'] })
  return attempts.flatMap(({ calls }) => calls)
}

test('postiz #1321: a first comment that fails for ever never publishes the post again', async () => {
  const targetId = await stage.target('mastodon', [part('with a comment'), part('the comment', 'comment')])
  // The first call publishes the post.
  const times = 100
  await addFault(stage.app, 'mastodon', {
    path: '/api/v1/statuses',
    method: 'POST',
    kind: 'status',
    status: 422,
    skip: 1,
    times,
  })
  await stage.finish(targetId)
  for (let tries = 1; tries < times; tries += 1) {
    const { postId: id } = await stage.read(targetId)
    const reply = await stage.app.send('POST /api/posts/{id}/retry', { apiKey: stage.owner.apiKey, path: { id } })
    expect(reply.status, reply.text).toBe(200)
    expect(await stage.finish(targetId)).toMatchObject({ status: 'partial' })
  }
  expect(await countOf('mastodon', 'with a comment')).toBe(1)
})

describe('postiz #818, #1259, #1296, #1338, #1512, #1724, mixpost #150, BrightBean: stuck in publishing for ever', () => {
  const points = (['step', 'calling', 'published', 'other'] as const).flatMap((write) =>
    (['before', 'after'] as const).map((when): Point => ({ when, write, count: 1 })),
  )
  test.each(points)('a worker that is killed $when it stores “$write”', async (point) => {
    const text = `stuck ${point.when} ${point.write}`
    const targetId = await stage.target('x', [part(text)])
    await stage.attempt(targetId, { point, happens: () => Promise.resolve('killed') })
    const target = await stage.finish(targetId)
    expect(isFinal(target.status)).toBe(true)
    expect(await countOf('x', text)).toBe(1)
  })
})

test('postiz PR #1681, #1813: a crash between acceptance and saving', async () => {
  const targetId = await stage.target('x', [part('accepted, not saved')])
  await stage.attempt(targetId, {
    point: { when: 'before', write: 'published', count: 1 },
    happens: () => Promise.resolve('killed'),
  })
  expect(await stage.finish(targetId)).toMatchObject({ status: 'published' })
  expect(await countOf('x', 'accepted, not saved')).toBe(1)
})

test('postiz PR #1813: a connection that is cut after the platform has accepted the post', async () => {
  const targetId = await stage.target('x', [part('accepted, not answered')])
  await addFault(stage.app, 'x', { path: '/2/tweets', method: 'POST', kind: 'cut', times: 1 })
  expect(await stage.finish(targetId)).toMatchObject({ status: 'published' })
  expect(await countOf('x', 'accepted, not answered')).toBe(1)
})

describe('Shoutrrr: a thread that ends in the middle goes on after the parts that are known', () => {
  test.each([1, 2, 3])('a worker that is killed before it stores part %i', async (count) => {
    const texts = ['first', 'second', 'third'].map((name) => `${name} part, killed at ${count}`)
    const parts = texts.map((text, index) => part(text, index === 0 ? 'post' : 'reply'))
    const targetId = await stage.target('x', parts)
    await stage.attempt(targetId, {
      point: { when: 'before', write: 'published', count },
      happens: () => Promise.resolve('killed'),
    })
    expect(await stage.finish(targetId)).toMatchObject({ status: 'published' })
    for (const text of texts) expect([text, await countOf('x', text)]).toEqual([text, 1])
  })
})

test('bluesky-social/atproto #3637, #3960, #4004, #4656, shoutrrr PR #158: twenty posts with an expired token refresh it once', async () => {
  const ids: string[] = []
  for (let index = 0; index < 20; index += 1) ids.push(await stage.target('x', [part(`refresh number ${index}.`)]))
  await stage.app.database.run(`update post_targets set problem = '{"code":"backlog"}' where id = any($1)`, [ids])
  stage.clock.advance(3 * 60 * MINUTE)
  await Promise.all(ids.map((id) => stage.attempt(id)))
  const calls = (await Promise.all(ids.map(callsOf))).flat()
  expect(calls.filter(({ url }) => url.includes('/oauth2/token')).length).toBeLessThanOrEqual(1)
  for (const id of ids) expect(await stage.finish(id)).toMatchObject({ status: 'published' })
  for (const index of ids.keys()) expect(await countOf('x', `refresh number ${index}.`)).toBe(1)
})

test('brightbean PR #120: a token that expired while the post waited', async () => {
  const targetId = await stage.target('x', [part('a long wait')])
  // Days after the token has expired, which lives two hours.
  const startBy = new Date(stage.clock.now() + 30 * DAY).toISOString()
  await stage.app.database.run('update post_targets set start_by = $1 where id = $2', [startBy, targetId])
  stage.clock.advance(20 * DAY)
  expect(await stage.finish(targetId)).toMatchObject({ status: 'published' })
})

test.each([
  ['instagram', 'media_publish'],
  ['threads', 'threads_publish'],
])('brightbean PR #118: a video at %s whose container is not ready for a while', async (platform, publication) => {
  const video: PostMedia = {
    id: stage.file(200_000),
    kind: 'video',
    type: 'video/mp4',
    name: 'video.mp4',
    bytes: 200_000,
    width: 1_080,
    height: 1_920,
    seconds: 10,
    fps: 30,
    videoCodec: 'h264',
    audioCodec: 'aac',
  }
  const text = `a reel at ${platform}`
  const targetId = await stage.target(platform, [part(text, 'post', [video])])
  // The fakes refuse a container that is not ready, and Instagram a video that is no reel.
  expect(await stage.finish(targetId)).toMatchObject({ status: 'published' })
  expect(await countOf(platform, text)).toBe(1)
  const calls = await callsOf(targetId)
  const isPublication = ({ url }: { readonly url: string }) => url.includes(publication)
  const publish = calls.findIndex(isPublication)
  expect(calls.slice(0, publish).filter(({ method }) => method === 'GET').length).toBeGreaterThan(0)
  expect(calls.filter(isPublication)).toHaveLength(1)
})

test('postiz #1954: the time zone of the server shifts no post', async () => {
  const accountId = await stage.account('mastodon')
  const usual = process.env['TZ']
  try {
    for (const zone of ['Pacific/Kiritimati', 'America/St_Johns', 'UTC']) {
      process.env['TZ'] = zone
      const { apiKey } = stage.owner
      const body = {
        workspaceId: stage.workspaceId,
        content: `written in ${zone}`,
        targets: [{ accountId }],
        scheduledFor: '2027-07-01T09:00',
        timezone: 'Europe/Berlin',
      }
      const reply = await stage.app.send('POST /api/posts', { apiKey, body })
      expect(reply.body.data).toMatchObject({
        scheduledFor: '2027-07-01T07:00:00.000Z',
        localTime: '2027-07-01T09:00:00',
      })
    }
  } finally {
    if (usual === undefined) delete process.env['TZ']
    else process.env['TZ'] = usual
  }
})

test('BrightBean `_get_due`: nothing is tried again before the time of the next attempt', async () => {
  const targetId = await stage.target('mastodon', [part('patient')])
  await addFault(stage.app, 'mastodon', {
    path: '/api/v1/statuses',
    kind: 'status',
    status: 429,
    retryAfter: 300,
    times: 1,
  })
  await stage.attempt(targetId)
  const waiting = await stage.read(targetId)
  expect(waiting).toMatchObject({ status: 'publishing', problem: { code: 'rate_limited' } })
  expect(Date.parse(waiting.nextAttemptAt ?? '') - stage.clock.now()).toBeGreaterThanOrEqual(300 * SECOND)
  stage.clock.advance(299 * SECOND)
  await stage.attempt(targetId)
  expect(await countOf('mastodon', 'patient')).toBe(0)
  expect(await stage.read(targetId)).toMatchObject({ attemptCount: 1 })
  expect(await stage.finish(targetId)).toMatchObject({ status: 'published', attemptCount: 2 })
  expect(await countOf('mastodon', 'patient')).toBe(1)
})

// The last one: the account does not work afterwards.
test('bluesky-social/atproto #5411: a lost reply to a refresh asks the user to connect again, and is not repeated for ever', async () => {
  const targetId = await stage.target('x', [part('after a lost refresh')])
  const { accountId } = await stage.read(targetId)
  const account = async () => {
    const { apiKey } = stage.owner
    return (await stage.app.send('GET /api/social-accounts/{id}', { apiKey, path: { id: accountId } })).body.data
  }
  const refreshes = async () => (await callsOf(targetId)).filter(({ url }) => url.includes('/oauth2/token')).length
  stage.clock.advance(3 * HOUR)
  await addFault(stage.app, 'x', { path: '/oauth2/token', kind: 'cut', times: 1 })
  const isBroken = async () => (await account()).status === 'reconnect_needed'
  for (let tries = 0; tries < 10 && !(await isBroken()); tries += 1) {
    stage.clock.advance(10 * MINUTE)
    await stage.attempt(targetId)
  }
  expect(await account()).toMatchObject({
    status: 'reconnect_needed',
    statusMessage: expect.stringContaining('Connect the account again'),
  })
  const before = await refreshes()
  // The first one, and the repetition that shows that it was handled.
  expect(before).toBeLessThanOrEqual(2)
  for (let tries = 0; tries < 5; tries += 1) {
    stage.clock.advance(10 * MINUTE)
    await stage.attempt(targetId)
  }
  expect(await refreshes()).toBe(before)
  expect((await stage.read(targetId)).status).not.toBe('published')
  expect(await countOf('x', 'after a lost refresh')).toBe(0)
})
