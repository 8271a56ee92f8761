import { randomBytes } from 'node:crypto'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, ManualClock, MINUTE } from '../../src/core/clock.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { startApp, type App } from '../support/app.ts'
import { cutProxy, type CutProxy } from '../support/cut-proxy.ts'
import { QUICK } from '../support/jobs.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'
import { startWordPress, type WordPress } from '../support/wordpress.ts'

/** Posts of the service at a real WordPress site, behind a proxy that can lose replies. */

let site: WordPress
let proxy: CutProxy
let app: App
let owner: SeededUser
let workspaceId: string
let accountId: string
const clock = new ManualClock(Date.now())

beforeAll(async () => {
  site = await startWordPress()
  proxy = await cutProxy(site.url)
  app = await startApp({ clock, jobTimes: QUICK, env: { SANDBOX: '0', ALLOW_PRIVATE_ADDRESSES: '1' } })
  owner = await seedUser(app, 'owner')
  workspaceId = await seedWorkspace(app, 'Posts at a site', owner)
  await site.addUser('author_ada', 'author')
  accountId = await connect()
})
afterAll(async () => {
  await app?.stop()
  await proxy?.close()
  await site?.stop()
})

const as = () => ({ apiKey: owner.apiKey })

/** Connects the account with a new password. @returns its id */
async function connect(): Promise<string> {
  const applicationPassword = await site.applicationPassword('author_ada', 'Crier')
  const credentials = { site: proxy.url, username: 'author_ada', applicationPassword }
  const reply = await app.send('POST /api/social-accounts', {
    ...as(),
    body: { workspaceId, platform: 'wordpress', credentials },
  })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data._id as string
}

async function create(body: object): Promise<PostData> {
  const reply = await app.send('POST /api/posts', { ...as(), body: { workspaceId, publishNow: true, ...body } })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}

async function ended(id: string, status: string): Promise<PostData> {
  return waitFor(
    async () => {
      const { body } = await app.send('GET /api/posts/{id}', { ...as(), path: { id } })
      return body.data.status === status ? (body.data as PostData) : undefined
    },
    { what: `the post to be ${status}` },
  )
}

const titled = async (title: string) => (await site.posts()).filter((post) => post.title === title)

test('publishes a post with its tags, options and first comment', async () => {
  const options = { comment_status: 'open', excerpt: 'In short' }
  const { _id } = await create({
    title: 'From the service',
    content: 'All of it',
    tags: ['release'],
    firstComment: 'And a comment',
    targets: [{ accountId, override: { options } }],
  })
  const done = await ended(_id, 'published')
  const [post, ...others] = await titled('From the service')
  expect(others).toEqual([])
  expect(post).toMatchObject({ author: 'author_ada', excerpt: 'In short', tags: ['release'] })
  expect(done.targets[0]).toMatchObject({ remoteId: String(post?.id), url: expect.stringContaining(post?.slug ?? '-') })
  expect(await site.comments()).toContainEqual(expect.objectContaining({ post: post?.id, content: 'And a comment' }))
})

test('refuses what a site would refuse', async () => {
  const body = { workspaceId, content: 'x', targets: [{ accountId, override: { options: { format: 'poem' } } }] }
  const reply = await app.send('POST /api/posts', { ...as(), body })
  expect([reply.status, reply.body.details?.targets?.[0]], reply.text).toMatchObject([
    400,
    { accountId, failures: [{ rule: 'options.invalid' }] },
  ])
})

test('remembers the size of a file that the site has refused', async () => {
  // More than upload_max_filesize of the site.
  const [width, height, channels] = [1_000, 800, 3] as const
  const noise = sharp(randomBytes(width * height * channels), { raw: { width, height, channels } })
  const file = { name: 'large.png', type: 'image/png', content: await noise.png().toBuffer() }
  const uploaded = await app.send('POST /api/assets/upload', { ...as(), body: { workspaceId }, file })
  expect(uploaded.status, uploaded.text).toBe(201)
  const { _id: assetId, size } = uploaded.body.data
  const post = { title: 'Large', content: 'A large picture', media: [assetId], targets: [{ accountId }] }
  const failed = await ended((await create(post))._id, 'failed')
  expect(failed.targets[0]?.statusReason?.message).toContain('upload_max_filesize')
  const body = { workspaceId, publishNow: true, ...post }
  const refused = () => app.send('POST /api/posts', { ...as(), body })
  const month = new Date(clock.now()).toISOString().slice(0, 7)
  expect((await refused()).body.details?.targets?.[0]?.failures).toMatchObject([
    { rule: 'image.maxBytes', allowed: size - 1, actual: size, origin: 'live' },
  ])
  // The reply of the site to the next question does not replace it.
  const platform = await app.send('GET /api/platforms/{platform}', {
    ...as(),
    path: { platform: 'wordpress' },
    query: { accountId },
  })
  expect(platform.body.data.account?.details).toMatchObject({ mayUpload: true })
  expect(platform.body.data.rules).toContainEqual(
    expect.objectContaining({
      rule: 'image.maxBytes',
      value: size - 1,
      origin: 'live',
      seen: month,
      confidence: 'reported',
    }),
  )
  clock.advance(7 * DAY)
  const again = await refused()
  expect(again.status, again.text).toBe(201)
  await ended(again.body.data._id, 'failed')
})

test('finds a post whose reply was lost, and does not publish it again', async () => {
  proxy.cutAt('POST /wp-json/wp/v2/posts', 'after')
  const { _id } = await create({ title: 'Lost', content: 'Lost reply', targets: [{ accountId }] })
  await ended(_id, 'unconfirmed')
  clock.advance(MINUTE)
  const done = await ended(_id, 'published')
  const [post, ...others] = await titled('Lost')
  expect(others).toEqual([])
  expect(done.targets[0]?.remoteId).toBe(String(post?.id))
})

test('waits for the account to be connected again when its password was deleted', async () => {
  await site.revokePasswords('author_ada')
  const { _id } = await create({ title: 'Waiting', content: 'Waiting', targets: [{ accountId }] })
  const status = async () => {
    const { body } = await app.send('GET /api/social-accounts/{id}', { ...as(), path: { id: accountId } })
    return body.data.status as string
  }
  await waitFor(async () => (await status()) === 'reconnect_needed', { what: 'the account to be broken' })
  const waiting = await ended(_id, 'publishing')
  const [target] = await waitFor(async () => {
    const { body } = await app.send('GET /api/posts/{id}', { ...as(), path: { id: waiting._id } })
    const targets = body.data.targets as PostData['targets']
    return targets[0]?.statusReason ? targets : undefined
  })
  expect(target?.statusReason).toMatchObject({ whoActs: 'user' })
  expect(await titled('Waiting')).toEqual([])
  await connect()
  clock.advance(10 * MINUTE)
  await ended(_id, 'published')
  expect(await titled('Waiting')).toHaveLength(1)
})
