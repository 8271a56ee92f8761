import type { AtpAgent } from '@atproto/api'
import { Readable } from 'node:stream'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOUR, ManualClock, systemClock } from '../../src/core/clock.ts'
import { bluesky } from '../../src/platforms/bluesky/index.ts'
import type { PublishContext, PublishPart, PublishState, RemotePost } from '../../src/platforms/publishing.ts'
import { startApp, type App } from '../support/app.ts'
import { partOf } from '../support/fake-platform.ts'
import { PLAIN_PAGES } from '../support/link-pages.ts'
import { consentAt, startPds, type Pds, type PdsAccount } from '../support/pds.ts'
import { PIXEL } from '../support/pixel.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'

let pds: Pds
let app: App
let owner: SeededUser
let workspaceId: string
const clock = new ManualClock(Date.now())

beforeAll(async () => {
  pds = await startPds()
  app = await startApp({ clock, env: settingsOf(pds) })
  owner = await seedUser(app, 'owner')
  workspaceId = await seedWorkspace(app, 'Bluesky', owner)
})
afterAll(async () => {
  await app?.stop()
  await pds?.stop()
})

/** The service with a real PDS in place of Bluesky. The directory of identities also stands for a host without videos. */
function settingsOf({ plcUrl, url }: Pds): Record<string, string> {
  return {
    SANDBOX: '0',
    BLUESKY_API_URL: url,
    BLUESKY_AUTH_URL: url,
    ATPROTO_PLC_URL: plcUrl,
    ATPROTO_VIDEO_URL: plcUrl,
  }
}

function connect(credentials: Record<string, string>) {
  return app.send('POST /api/social-accounts', {
    apiKey: owner.apiKey,
    body: { workspaceId, platform: 'bluesky', credentials },
  })
}

function refresh(id: string) {
  return app.send('POST /api/social-accounts/{id}/refresh', { apiKey: owner.apiKey, path: { id } })
}

async function statusOf(id: string) {
  const { body } = await app.send('GET /api/social-accounts/{id}', { apiKey: owner.apiKey, path: { id } })
  return body.data as { status: string; statusMessage: string | null }
}

describe('app passwords at a real PDS', () => {
  test('connects, refreshes, outlives its session, and asks to be connected again when revoked', async () => {
    const ada = await pds.createAccount('ada')
    const appPassword = await ada.appPassword('crier')
    const connected = await connect({ handle: ada.handle, appPassword })
    expect([connected.status, connected.body.data], connected.text).toMatchObject([
      201,
      { remoteId: ada.did, handle: 'ada.test', status: 'connected', platform: 'bluesky' },
    ])
    const id = (connected.body.data as { _id: string })._id
    expect((await refresh(id)).status).toBe(200)
    clock.advance(3 * HOUR)
    expect((await refresh(id)).status).toBe(200)
    await ada.agent.com.atproto.server.revokeAppPassword({ name: 'crier' })
    clock.advance(3 * HOUR)
    const refused = await refresh(id)
    expect([refused.status, refused.body]).toMatchObject([409, { code: 'platform_refused' }])
    expect(await statusOf(id)).toMatchObject({ status: 'reconnect_needed' })
    const again = await connect({ handle: ada.did, appPassword: await ada.appPassword('again') })
    expect(again.body.data).toMatchObject({ _id: id, status: 'connected' })
  })

  test('refuses a wrong password', async () => {
    const bert = await pds.createAccount('bert')
    const reply = await connect({ handle: bert.handle, appPassword: 'wron-gone-wron-gone' })
    expect([reply.status, reply.body]).toMatchObject([409, { code: 'platform_refused' }])
  })
})

/** Asks for a sign-in link. */
async function link(handle: string, query: Record<string, string> = {}) {
  const reply = await app.send('GET /api/social-accounts/oauth/{platform}/url', {
    apiKey: owner.apiKey,
    path: { platform: 'bluesky' },
    query: { workspaceId, handle, ...query },
  })
  expect(reply.status, reply.text).toBe(200)
  const [cookie = ''] = (reply.headers.get('set-cookie') ?? '').split(';')
  return { url: new URL((reply.body.data as { url: string }).url), cookie }
}

/** Opens the callback as a browser, which has the cookie at localhost and not at 127.0.0.1. */
async function open(callback: URL, cookie: string) {
  expect(callback.host).toBe(`127.0.0.1:${app.port}`)
  const sentOn = await fetch(callback, { redirect: 'manual' })
  const home = new URL(sentOn.headers.get('location') ?? '')
  expect([sentOn.status, home.host]).toEqual([302, `localhost:${app.port}`])
  const page = await fetch(home, { headers: { cookie }, redirect: 'manual' })
  return { status: page.status, text: await page.text() }
}

async function signIn(account: PdsAccount, query: Record<string, string> = {}) {
  const { cookie, url } = await link(account.handle, query)
  return open(await consentAt(url, { account }), cookie)
}

async function accountOf({ did }: PdsAccount) {
  const { body } = await app.send('GET /api/social-accounts', { apiKey: owner.apiKey, query: { workspaceId } })
  const found = (body.data as { _id: string; remoteId: string; status: string }[]).find((one) => one.remoteId === did)
  if (found === undefined) throw new Error(`${did} is not connected`)
  return found
}

describe('sign-in at a real PDS, as a public client on loopback', () => {
  test('connects with consent, and recognizes the account when it is connected again', async () => {
    const eve = await pds.createAccount('eve')
    const { cookie, url } = await link(eve.handle)
    expect(url.searchParams.get('request_uri')).toMatch(/^urn:ietf:params:oauth:request_uri:/)
    const page = await open(await consentAt(url, { account: eve }), cookie)
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('Bluesky is connected')])
    const account = await accountOf(eve)
    expect(account).toMatchObject({ handle: 'eve.test', status: 'connected', missingScopes: [] })
    expect((await signIn(eve)).status).toBe(200)
    expect((await accountOf(eve))._id).toBe(account._id)
    const other = await pds.createAccount('finn')
    const refused = await signIn(other, { accountId: account._id })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('@finn.test')])
  })

  test('explains a denied consent, and a handle that nobody has', async () => {
    const gina = await pds.createAccount('gina')
    const { cookie, url } = await link(gina.handle)
    const page = await open(await consentAt(url, { account: gina, decision: 'deny' }), cookie)
    expect([page.status, page.text]).toEqual([400, expect.stringContaining('You did not allow Crier')])
    const unknown = await app.send('GET /api/social-accounts/oauth/{platform}/url', {
      apiKey: owner.apiKey,
      path: { platform: 'bluesky' },
      query: { workspaceId, handle: 'nobody.test' },
    })
    expect(unknown.status).toBeGreaterThanOrEqual(400)
  })

  test('fifty uses of an expired token make one refresh, and all get the new one', async () => {
    const hans = await pds.createAccount('hans')
    await signIn(hans)
    const { _id } = await accountOf(hans)
    // The schedule would refresh the token as well.
    await app.database.run('update social_accounts set refresh_at = null where id = $1', [_id])
    clock.advance(3 * HOUR)
    const from = await versionOf(_id)
    const { refresher } = app.composition.services.socialAccounts
    const row = await rowOf(_id)
    const all = await Promise.all(Array.from({ length: 50 }, () => refresher.credentialOf(row)))
    expect(new Set(all.map(({ session }) => session)).size).toBe(1)
    expect(await versionOf(_id)).toBe(from + 1)
    expect((await refresh(_id)).status).toBe(200)
  })

  test('publishes, asks to be connected again when the user revoked it, and revokes it when disconnected', async () => {
    const ines = await pds.createAccount('ines')
    await signIn(ines)
    const { _id } = await accountOf(ines)
    const context = await opened(_id)
    const file = { id: 'image', kind: 'image', type: 'image/png', name: 'a.png', bytes: PIXEL.length } as const
    const withFile = { ...context, media: mediaOf({ image: Buffer.from(PIXEL) }) }
    const part = partOf('By OAuth', { key: 'oauth', createdAt: clock.now(), media: [file] })
    const post = await publish(withFile, part)
    expect(await publish(withFile, part)).toEqual(post)
    expect(await recordOf(ines, post)).toMatchObject({ text: 'By OAuth', embed: { images: [{ alt: '' }] } })
    await bluesky.publishing.remove?.(context, post)
    await bluesky.revoke(context)
    await bluesky.revoke(context)
    const refused = await refresh(_id)
    expect([refused.status, refused.body]).toMatchObject([409, { code: 'platform_refused' }])
    expect(await statusOf(_id)).toMatchObject({ status: 'reconnect_needed' })
    expect((await signIn(ines)).status).toBe(200)
    expect(await statusOf(_id)).toMatchObject({ status: 'connected' })
  })
})

async function rowOf(id: string) {
  const [row] = await app.database.rows<{ id: string; workspaceId: string; platform: string; remoteId: string }>(
    `select id, workspace_id as "workspaceId", platform, remote_id as "remoteId" from social_accounts where id = $1`,
    [id],
  )
  if (row === undefined) throw new Error(`there is no account ${id}`)
  return row
}

async function versionOf(id: string): Promise<number> {
  const sql = 'select version from social_credentials where account_id = $1'
  const [row] = await app.database.rows<{ version: number }>(sql, [id])
  return row?.version ?? 0
}

/** The context in which the service calls the platform for an account. */
async function opened(id: string): Promise<PublishContext> {
  const { directory, refresher } = app.composition.services.socialAccounts
  const row = await rowOf(id)
  const credential = await refresher.credentialOf(row)
  const call = directory.context(directory.require('bluesky'))
  return { ...call, credential, remoteId: row.remoteId, media: mediaOf({}), pages: PLAIN_PAGES }
}

describe('publishing to a real PDS', () => {
  let carl: PdsAccount
  let context: PublishContext
  beforeAll(async () => {
    carl = await pds.createAccount('carl')
    context = await contextOf(carl)
  })

  test('a part that is published twice is one record', async () => {
    const part = partOf('Only once: https://example.com/ü #täg @ada.test', { key: 'once', createdAt: clock.now() })
    const post = await publish(context, part)
    expect(await publish(context, part)).toEqual(post)
    expect(await bluesky.publishing.reconcile?.(context, part, bluesky.publishing.start(part, context))).toEqual({
      kind: 'published',
      post,
    })
    const record = await recordOf(carl, post)
    expect(record).toMatchObject({ text: part.text, facets: [{}, {}, {}] })
  })

  test('a thread with images and a video is stored as its lexicon says, and is deleted', async () => {
    const image = Buffer.from(PIXEL)
    const file = { id: 'image', kind: 'image', type: 'image/png', name: 'a.png', width: 1, height: 1 } as const
    const video = { id: 'video', kind: 'video', type: 'video/mp4', name: 'a.mp4', bytes: 2_000 } as const
    const withFiles = { ...context, media: mediaOf({ image, video: Buffer.alloc(2_000, 5) }) }
    const at = { createdAt: clock.now(), options: { langs: ['en'], labels: ['nudity'] } }
    const media = [{ ...file, bytes: image.length, altText: 'A square' }]
    const limited = { langs: ['en'], replies: ['mentioned'] }
    const root = await publish(withFiles, partOf('Images', { ...at, key: 'root', media, options: limited }))
    const reply = { role: 'reply', parent: root, root } as const
    const second = await publish(withFiles, partOf('Video', { ...at, ...reply, key: 'second', media: [video] }))
    expect(await recordOf(carl, second)).toMatchObject({
      reply: { root: { uri: root.id, cid: root.ids?.['cid'] }, parent: { uri: root.id } },
      embed: { $type: 'app.bsky.embed.video', video: { mimeType: 'video/mp4', size: 2_000 } },
    })
    const link = 'https://example.com/article'
    const card = await publish(withFiles, partOf('Card', { ...at, key: 'card', link }))
    expect(await recordOf(carl, card)).toMatchObject({ embed: { external: { uri: link, title: 'example.com' } } })
    const picture = await sharp({ create: { width: 40, height: 20, channels: 3, background: 'red' } })
      .jpeg()
      .toBuffer()
    const pages = {
      card: () => Promise.resolve({ title: 'An article', description: 'About', imageUrl: 'https://example.com/a.jpg' }),
      picture: () => Promise.resolve({ bytes: picture, type: 'image/jpeg' as const }),
    }
    const rich = await publish({ ...context, pages }, partOf('See example.com/a.', { ...at, key: 'rich card' }))
    expect(await recordOf(carl, rich)).toMatchObject({
      facets: [{ features: [{ uri: 'https://example.com/a' }] }],
      embed: {
        external: {
          uri: 'https://example.com/a',
          title: 'An article',
          description: 'About',
          thumb: { $type: 'blob', mimeType: 'image/jpeg', size: picture.length },
        },
      },
    })
    for (const post of [second, root, root]) await bluesky.publishing.remove?.(context, post)
    const { data } = await carl.agent.com.atproto.repo.listRecords({ repo: carl.did, collection: 'app.bsky.feed.post' })
    expect(data.records.map(({ uri }) => uri)).not.toContain(root.id)
  })

  test('a text that is too long is refused, and the limits are those of the server', async () => {
    const part = partOf('x'.repeat(301), { key: 'long', createdAt: clock.now() })
    await expect(publish(context, part)).rejects.toMatchObject({ kind: 'validation', mayHaveHappened: false })
    expect(await bluesky.capabilities(context)).toMatchObject({
      limits: { 'image.maxBytes': 2_000_000, 'video.maxBytes': 5_242_880 },
      details: { videoService: false },
    })
  })

  async function contextOf(account: PdsAccount): Promise<PublishContext> {
    const { directory } = app.composition.services.socialAccounts
    const call = directory.context(directory.require('bluesky'))
    const fields = { handle: account.handle, appPassword: await account.appPassword('publishing') }
    const { credential } = await bluesky.credentials.connect(call, fields)
    // The PDS has the real time, and refuses tokens for a time too far ahead of it.
    return { ...call, clock: systemClock, credential, remoteId: account.did, media: mediaOf({}), pages: PLAIN_PAGES }
  }
})

function mediaOf(files: Readonly<Record<string, Buffer>>) {
  return {
    read: (id: string, start: number, end: number) => {
      const bytes = (files[id] ?? Buffer.alloc(0)).subarray(start, end)
      return Promise.resolve({ stream: Readable.from([bytes]), size: bytes.length })
    },
    publicUrl: () => Promise.reject(new Error('Bluesky fetches no files')),
  }
}

async function publish(context: PublishContext, part: PublishPart): Promise<RemotePost> {
  let state: PublishState = bluesky.publishing.start(part, context)
  while (true) {
    const result = await bluesky.publishing.step(context, part, state)
    if (result.kind === 'published') return result.post
    state = JSON.parse(JSON.stringify(result.state)) as PublishState
  }
}

async function recordOf({ agent }: { agent: AtpAgent }, { id }: RemotePost): Promise<unknown> {
  const [, , repo = '', collection = '', rkey = ''] = id.split('/')
  const { data } = await agent.com.atproto.repo.getRecord({ repo, collection, rkey })
  return JSON.parse(JSON.stringify(data.value)) as unknown
}
