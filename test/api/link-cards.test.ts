import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postSegments } from '../../src/domains/publishing/posts/tables.ts'
import type { App } from '../support/app.ts'
import { PostWorld } from '../support/post-world.ts'
import { PublicationStage, type Point } from '../support/publication.ts'
import { sandboxPosts, sandboxUrl } from '../support/sandbox-faults.ts'

/** Cards of links at platforms that do not read pages themselves, from a real server of pages to the record. */

let world: PostWorld
let pages: Server
let base: string

beforeAll(async () => {
  // Noise cannot be compressed, so that the picture must be made smaller.
  const noise = {
    create: { width: 2_400, height: 1_600, channels: 3, noise: { type: 'gaussian', mean: 128, sigma: 60 } },
  }
  const picture = await sharp(noise as never)
    .webp({ quality: 90 })
    .toBuffer()
  expect(picture.length).toBeGreaterThan(1_000_000)
  pages = createServer((request, response) => {
    if (request.url === '/picture') response.writeHead(200, { 'Content-Type': 'image/webp' }).end(picture)
    else if (request.url === '/article') {
      const head = `<meta property="og:title" content="An &quot;article&quot;"><meta property="og:image" content="/picture">`
      response.writeHead(200, { 'Content-Type': 'text/html' }).end(head)
    } else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => void pages.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`
  world = await PostWorld.start('cards', '2026-11-30T08:00:00Z', { ALLOW_PRIVATE_ADDRESSES: '1' })
})
afterAll(async () => {
  pages.close()
  await world?.stop()
})

async function recordAt(app: App, uri: string) {
  const [, , repo = '', collection = '', rkey = ''] = uri.split('/')
  const query = new URLSearchParams({ repo, collection, rkey }).toString()
  const reply = await fetch(`${sandboxUrl(app, 'bluesky')}/xrpc/com.atproto.repo.getRecord?${query}`)
  return (await reply.json()) as { value: { embed?: { external?: { thumb?: { size: number } } } } }
}

async function published(platform: string, content: string) {
  const accountId = await world.account(platform)
  const post = await world.create({ content, targets: [{ accountId }], publishNow: true })
  await world.ended(post._id, 'published')
  return (await world.get(post._id)).targets[0]
}

test('a link in the text has a card with a smaller picture at Bluesky', async () => {
  const target = await published('bluesky', `Read ${base}/article.`)
  const { value } = await recordAt(world.app, target?.remoteId ?? '')
  expect(value).toMatchObject({
    embed: {
      $type: 'app.bsky.embed.external',
      external: {
        uri: `${base}/article`,
        title: 'An "article"',
        description: '',
        thumb: { $type: 'blob', mimeType: 'image/jpeg' },
      },
    },
  })
  const { size = 0 } = value.embed?.external?.thumb ?? {}
  expect(size).toBeGreaterThan(10_000)
  expect(size).toBeLessThanOrEqual(1_000_000)
})

test('a page that is gone has a plain card, and the post is published', async () => {
  expect((await published('bluesky', `Gone: ${base}/gone`))?.status).toBe('published')
  expect((await published('linkedin', `Gone: ${base}/gone`))?.status).toBe('published')
})

/** Every moment at which a worker can be killed: around the states it stores, and around the call that publishes. */
const POINTS: readonly Point[] = [
  ...[1, 2, 3].flatMap((count) =>
    (['before', 'after'] as const).map((when) => ({ when, write: 'step', count }) as const),
  ),
  { when: 'before', write: 'calling', count: 1 },
  { when: 'after', write: 'calling', count: 1 },
  { when: 'before', write: 'published', count: 1 },
]

describe.each(['bluesky', 'linkedin'])('a worker at %s that is killed', (platform) => {
  let stage: PublicationStage
  let reads = 0
  beforeAll(async () => {
    stage = await PublicationStage.start()
    // Each look at the page finds another title.
    stage.pages = {
      card: () => Promise.resolve({ title: `Title ${(reads += 1)}`, description: '', imageUrl: `${base}/picture` }),
      picture: () => Promise.resolve({ bytes: Buffer.alloc(1_000, reads), type: 'image/jpeg' }),
    }
  })
  afterAll(() => stage?.stop())

  test.each(POINTS)('$when write $count of “$write” makes one post with one card', async (point) => {
    const text = `Killed ${point.when} ${point.write} ${point.count}: https://example.com/`
    const id = await stage.target(platform, [{ role: 'post', text, media: [], options: {} }])
    let kills = 0
    await stage.finish(id, {
      incident: { point, happens: () => Promise.resolve((kills += 1) === 1 ? 'killed' : 'goes on') },
    })
    expect(kills, 'the point is reached').toBeGreaterThan(0)
    const made = (await sandboxPosts(stage.app, platform)).filter((post) => post.text === text)
    const target = await stage.read(id)
    // LinkedIn does not recognize a repetition, so what became of a lost call is for the user to say there.
    const isLost =
      platform === 'linkedin' && point.write !== 'step' && !(point.when === 'before' && point.write === 'calling')
    expect(target.status).toBe(isLost ? 'unconfirmed' : 'published')
    expect(made.length).toBe(isLost && point.write === 'calling' ? 0 : 1)
    if (platform === 'bluesky') {
      const { value } = await recordAt(stage.app, target.remoteId ?? '')
      const segment = await postSegments.first(stage.app.database, { targetId: id })
      expect(value, 'the stored record is the one that was put').toEqual(segment?.state?.['record'])
      expect(value.embed?.external).toMatchObject({ uri: 'https://example.com/', thumb: { size: 1_000 } })
    }
  })
})
