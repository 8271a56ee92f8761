import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MINUTE, SECOND } from '../../src/core/clock.ts'
import type { PostAttemptData } from '../../src/domains/publishing/publication/schemas.ts'
import { postSegments, postTargets } from '../../src/domains/publishing/posts/tables.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { PostWorld } from '../support/post-world.ts'
import { addFault } from '../support/sandbox-faults.ts'
import { waitFor } from '../support/wait.ts'

/** What is sent to platforms before the time of a post, so that publication itself is one short call. */

let world: PostWorld
beforeAll(async () => {
  world = await PostWorld.start('preparation')
})
afterAll(() => world.stop())

/** Schedules a post with a picture for half an hour from now. */
async function schedule(
  content: string,
  { platform = 'mastodon', ...body }: { platform?: string; lateMinutes?: number } = {},
): Promise<PostData> {
  const accountId = await world.account(platform)
  const media = [await world.picture()]
  return world.create({ content, media, scheduledFor: world.later(30 * MINUTE), targets: [{ accountId }], ...body })
}

async function attemptsOf({ _id: id }: PostData, kind: PostAttemptData['kind']): Promise<PostAttemptData[]> {
  const { body } = await world.on(id, 'GET attempts')
  return (body.data as PostAttemptData[]).filter((one) => one.kind === kind)
}

/** Nine minutes before the time of a post, waits until preparations of it have ended. */
async function prepared(post: PostData, count = 1): Promise<PostAttemptData[]> {
  const { preparations } = world.app.composition.services.publication
  world.clock.advance(Math.max(0, untilDue(post) - 9 * MINUTE))
  return waitFor(
    async () => {
      const ended = (await attemptsOf(post, 'prepare')).filter(({ endedAt }) => endedAt !== null)
      if (ended.length >= count) return ended
      await preparations.add()
      return undefined
    },
    { what: `the preparation of ${JSON.stringify(post)}` },
  )
}

function untilDue({ scheduledFor }: PostData): number {
  return Date.parse(scheduledFor ?? '') - world.clock.now()
}

/** Lets the time of a post come. */
function due(post: PostData): void {
  world.clock.advance(Math.max(0, untilDue(post)))
}

const sent = (attempts: readonly PostAttemptData[]) => {
  return attempts.flatMap(({ calls }) => calls).map(({ method, url }) => `${method} ${new URL(url).pathname}`)
}

describe.each(['mastodon', 'x', 'bluesky', 'linkedin', 'facebook', 'threads', 'wordpress'])('at %s', (platform) => {
  test('everything but the last call is made before the time of the post', async () => {
    const post = await schedule(`ahead at ${platform}`, { platform })
    expect((await prepared(post))[0]).toMatchObject({ status: 'scheduled', statusReason: null })
    expect(await world.get(post._id)).toMatchObject({ status: 'scheduled' })
    expect(await world.published(`ahead at ${platform}`, platform)).toEqual([])
    due(post)
    await world.ended(post._id, 'published')
    const made = sent(await attemptsOf(post, 'publish'))
    // A call that changes something, and at most one that asks for the address of the post.
    expect(made.filter((call) => !call.startsWith('GET '))).toHaveLength(1)
    expect(made.length).toBeLessThanOrEqual(2)
    expect(await world.published(`ahead at ${platform}`, platform)).toHaveLength(1)
  })
})

test.each(['bluesky', 'linkedin'])(
  'the page of a link at %s is read ahead, and texts without one wait',
  async (platform) => {
    const accountId = await world.account(platform)
    const at = { scheduledFor: world.later(30 * MINUTE), targets: [{ accountId }] }
    const plain = await world.create({ content: `Plain at ${platform}`, ...at })
    // Refused at once, because it is an address of this network.
    const url = 'http://127.0.0.1:1/page'
    const linked = await world.create({ content: `Linked at ${platform}: ${url}`, ...at })
    const field = await world.create({ content: `Field at ${platform}`, link: url, ...at })
    await prepared(linked)
    await prepared(field)
    expect(await attemptsOf(plain, 'prepare')).toEqual([])
    for (const { targets } of [linked, field]) {
      const segment = await postSegments.first(world.app.database, { targetId: targets[0]?._id ?? '' })
      expect(segment?.state).toMatchObject({ step: 'publish', card: { title: expect.stringContaining('127.0.0.1') } })
    }
    due(linked)
    for (const post of [plain, linked, field]) await world.ended(post._id, 'published')
  },
)

test.each(['mastodon', 'x', 'bluesky'])(
  'the files of a thread at %s are sent ahead, and its parts in order',
  async (platform) => {
    const accountId = await world.account(platform)
    const content = `thread at ${platform}`
    const thread = [{ content: `${content}, with a picture`, media: [await world.picture()] }]
    const post = await world.create({
      content,
      thread,
      scheduledFor: world.later(30 * MINUTE),
      targets: [{ accountId }],
    })
    expect((await prepared(post))[0]).toMatchObject({ status: 'scheduled', statusReason: null })
    expect(await world.published(content, platform)).toEqual([])
    due(post)
    await world.ended(post._id, 'published')
    // Tokens are renewed ahead of their end, at random times.
    const made = sent(await attemptsOf(post, 'publish')).filter((call) => !/^GET |\/oauth2\/token$/.test(call))
    expect(made).toHaveLength(2)
    expect(await world.published(content, platform)).toHaveLength(2)
  },
)

test('the items of a carousel in a thread at Threads are fetched ahead, and their container names its parent', async () => {
  const accountId = await world.account('threads')
  const content = 'carousels at threads'
  const thread = [{ content: `${content}, with pictures`, media: [await world.picture(), await world.picture()] }]
  const post = await world.create({ content, thread, scheduledFor: world.later(30 * MINUTE), targets: [{ accountId }] })
  const [ahead] = await prepared(post)
  expect(ahead).toMatchObject({ status: 'scheduled', statusReason: null })
  const creations = (calls: readonly string[]) => calls.filter((call) => /^POST .*\/threads$/.test(call)).length
  // The post, and two items.
  expect(creations(sent([ahead!]))).toBe(3)
  due(post)
  await world.ended(post._id, 'published')
  expect(creations(sent(await attemptsOf(post, 'publish')))).toBe(1)
  const [first, reply] = (await world.published(content, 'threads')).toSorted((a, b) => a.text.length - b.text.length)
  expect(reply).toMatchObject({ replyTo: first?.id })
})

test('a failure is shown before the time of the post, which is published nevertheless if it can be', async () => {
  const post = await schedule('not ahead')
  await addFault(world.app, 'mastodon', { path: '/api/v2/media', kind: 'status', status: 422, times: 1 })
  const [attempt] = await prepared(post)
  expect(attempt?.statusReason).toMatchObject({ kind: 'validation' })
  const [target] = (await world.get(post._id)).targets
  expect(target).toMatchObject({ status: 'scheduled', statusReason: { code: 'not_prepared' } })
  expect(target?.statusReason?.message).toContain('It is tried again at the time of the post.')
  due(post)
  const { targets } = await world.ended(post._id, 'published')
  expect(targets[0]?.statusReason).toBeNull()
})

test('a failure that passes is tried again a minute later, and its warning goes away', async () => {
  const post = await schedule('ahead at last')
  await addFault(world.app, 'mastodon', { path: '/api/v2/media', kind: 'status', status: 503, times: 1 })
  const [first, second] = (await prepared(post, 2)).toReversed()
  expect([first?.statusReason?.kind, second?.statusReason]).toEqual(['server_error', null])
  await world.until(post._id, ({ targets }) => targets[0]?.statusReason === null)
  due(post)
  await world.ended(post._id, 'published')
  expect(sent(await attemptsOf(post, 'publish'))).toEqual(['POST /api/v1/statuses'])
})

test('an edit after the preparation is prepared again, and the old content is not published', async () => {
  const post = await schedule('old words')
  await prepared(post)
  const { version } = await world.get(post._id)
  const edit = { body: { content: 'new words' }, headers: { 'If-Match': String(version) } }
  const reply = await world.on(post._id, 'PATCH ', edit)
  expect(reply.status, reply.text).toBe(200)
  await prepared(post, 2)
  due(post)
  await world.ended(post._id, 'published')
  expect(await world.published('old words')).toEqual([])
  expect(await world.published('new words')).toHaveLength(1)
})

test('a preparation that has expired is made again', async () => {
  const post = await schedule('an hour late', { lateMinutes: 180 })
  await prepared(post)
  // Publication is switched off while the uploads live.
  const { switches } = world.app.composition.services
  const isOn = switches.isOn.bind(switches)
  switches.isOn = (name) => name !== 'posts' && isOn(name)
  due(post)
  await waitFor(async () => {
    const [target] = await postTargets.find(world.app.database, { postId: post._id })
    return target?.problem?.code === 'held'
  })
  world.clock.advance(70 * MINUTE)
  switches.isOn = isOn
  await world.passing(post._id, ({ status }) => status === 'published')
  // The attempt is recorded after its outcome.
  const calls = await waitFor(async () => {
    const found = sent(await attemptsOf(post, 'publish'))
    return found.includes('POST /api/v1/statuses') ? found : undefined
  })
  expect(calls).toContain('POST /api/v2/media')
  expect(await world.published('an hour late')).toHaveLength(1)
})

test('the schedule finds what is due soon', async () => {
  const post = await schedule('found ahead')
  await waitFor(async () => {
    if ((await attemptsOf(post, 'prepare')).length > 0) return true
    world.clock.advance(Math.max(0, Math.min(10 * SECOND, untilDue(post) - MINUTE)))
    return false
  })
})
