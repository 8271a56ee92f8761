import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PostWorld } from '../support/post-world.ts'
import { sandboxUrl } from '../support/sandbox-faults.ts'

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

async function published(platform: string, content: string) {
  const accountId = await world.account(platform)
  const post = await world.create({ content, targets: [{ accountId }], publishNow: true })
  await world.ended(post._id, 'published')
  return (await world.get(post._id)).targets[0]
}

test('a link in the text has a card with a smaller picture at Bluesky', async () => {
  const target = await published('bluesky', `Read ${base}/article.`)
  const [, , repo, collection, rkey] = target?.remoteId?.split('/') ?? []
  const query = new URLSearchParams({ repo: repo ?? '', collection: collection ?? '', rkey: rkey ?? '' })
  const reply = await fetch(`${sandboxUrl(world.app, 'bluesky')}/xrpc/com.atproto.repo.getRecord?${query.toString()}`)
  const { value } = (await reply.json()) as { value: { embed?: { external?: { thumb?: { size: number } } } } }
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
