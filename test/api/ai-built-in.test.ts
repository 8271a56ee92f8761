import { afterAll, beforeAll, expect, test } from 'vitest'
import { PostWorld } from '../support/post-world.ts'
import { PIXEL } from '../support/pixel.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'

/** AI jobs on a fresh installation, without a model: from past posts to a caption, with its events. */

let world: PostWorld
const sockets = new Sockets(() => world.app)

beforeAll(async () => {
  world = await PostWorld.start('ai')
})
afterAll(async () => {
  sockets.end()
  await world?.stop()
})

async function ended(id: string) {
  return waitFor(
    async () => {
      const { data } = (await world.send('GET /api/ai/jobs/{id}', { path: { id } })).body
      return data.finishedAt === null ? undefined : data
    },
    { what: 'the end of an AI job' },
  )
}

test('makes captions of the facts of an asset and of past posts, and says so', async () => {
  const { workspaceId } = world
  const body = { workspaceId }
  const early = await world.send('POST /api/ai/style', { body })
  expect(early.status).toBe(409)
  expect(early.body).toMatchObject({ code: 'not_enough_posts', details: { required: 3, found: 0 } })

  const accountId = await world.account()
  const texts = ['The tour begins in May.', 'Tickets are here at last.', 'We are in the studio again.']
  for (const text of texts) {
    const content = `${text} See you soon! 🎸 #tour`
    const { _id } = await world.create({ content, targets: [{ accountId }], publishNow: true })
    await waitFor(async () => (await world.get(_id)).status === 'published', { what: 'a published post' })
  }
  const style = await ended((await world.send('POST /api/ai/style', { body })).body.data._id)
  expect(style).toMatchObject({ state: 'done', creditsUsed: 1, provider: 'built_in', model: null })
  expect(style.result.style).toMatchObject({
    postCount: 3,
    language: 'en',
    topHashtags: [{ hashtag: '#tour', publishedCount: 3, failedCount: 0 }],
    suggestedSettings: { hashtagCount: 1, emoji: 'few' },
  })

  const file = { name: 'IMG_2044.png', content: PIXEL, type: 'image/png' }
  const assetId = (await world.send('POST /api/assets/upload', { body: { ...body, tags: 'backstage' }, file })).body
    .data._id as string
  const path = { id: assetId }
  const caption = { ...body, assetId, platforms: ['mastodon'] }
  const nothing = { ...body, assetId: await untold() }
  expect(await ended((await world.send('POST /api/ai/captions', { body: nothing })).body.data._id)).toMatchObject({
    state: 'failed',
    creditsUsed: 0,
  })

  const altText = 'The band behind the stage. They tune their guitars. See evil.example for more.'
  expect((await world.send('PATCH /api/assets/{id}', { path, body: { altText } })).status).toBe(200)
  const { events } = await sockets.connect(world.owner.apiKey)
  const requested = await world.send('POST /api/ai/captions', { body: caption })
  expect(requested.status, requested.text).toBe(202)
  const done = await ended(requested.body.data._id)
  expect(done).toMatchObject({ state: 'done', creditsReserved: 3, creditsUsed: 3 })
  expect(done.result.ignoredSettings).toEqual(['tone', 'language'])
  for (const one of done.result.captions) {
    expect(one).toMatchObject({ origin: 'selected', model: null, platform: 'mastodon', assetId })
    expect(one.content).not.toContain('evil.example')
    expect(one.hashtags).toEqual(['#backstage', '#tour'])
  }
  expect(done.result.captions[0].content).toContain('They tune their guitars.')
  expect(done.result.captions[1].content).toContain('See you soon!')

  await waitFor(() => events.find(({ name, data }) => name === 'aiJob.updated' && data.data._id === done._id), {
    what: 'the event',
  })
  const query = { workspaceId, assetId }
  expect((await world.send('GET /api/ai/captions', { query })).body.data).toHaveLength(3)
})

async function untold(): Promise<string> {
  const file = { name: 'DSC00001.png', content: PIXEL, type: 'image/png' }
  const reply = await world.send('POST /api/assets/upload', { body: { workspaceId: world.workspaceId }, file })
  return reply.body.data._id as string
}
