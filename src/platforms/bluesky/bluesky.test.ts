import { AppBskyFeedPost, AtpAgent, RichText } from '@atproto/api'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FakePlatform, partOf } from '../../../test/support/fake-platform.ts'
import { DAY, HOUR } from '../../core/clock.ts'
import type { PublishContext, PublishPart } from '../publishing.ts'
import { connect, refreshSession } from './app-password.ts'
import { facetsOf, mentionsOf } from './facets.ts'
import { bluesky } from './index.ts'
import { tidOf } from './tid.ts'

let peer: FakePlatform
let account: PublishContext

beforeAll(async () => {
  peer = await FakePlatform.start(bluesky)
  account = await peer.connect()
})
afterAll(() => peer.stop())

const PASSWORD = 'abcd-efgh-ijkl-mnop'
const posts = () => peer.running.fake.posts()
const signIn = (handle: string, appPassword = PASSWORD) => connect(peer.context, { handle, appPassword })
const kindOf = (work: Promise<unknown>) =>
  work.then(
    () => 'no error',
    (error: unknown) => (error as { kind?: string }).kind ?? String(error),
  )

describe('app passwords', () => {
  test('an account is found by its handle, and its server by its identity', async () => {
    const { credential, profile, scopes } = await signIn('@ada.test')
    expect(profile).toMatchObject({ handle: 'ada.test', name: 'ada.test', kind: 'person' })
    expect(profile.remoteId).toMatch(/^did:plc:[a-z2-7]{24}$/)
    expect(credential).toMatchObject({ server: peer.running.url, did: profile.remoteId, appPassword: PASSWORD })
    expect(credential.expiresAt).toBe(Math.floor(peer.clock.now() / 1_000) * 1_000 + 2 * HOUR)
    expect(scopes).toBeNull()
  })

  test('a wrong password, an unknown handle and a text that is no handle are refused', async () => {
    await signIn('bert.test')
    expect(await kindOf(signIn('bert.test', 'wron-gone-wron-gone'))).toBe('auth_expired')
    expect(await kindOf(signIn('nobody.invalid'))).toBe('validation')
    expect(await kindOf(signIn('no handle'))).toBe('validation')
    expect(await kindOf(connect(peer.context, { handle: 'a.test', appPassword: PASSWORD, server: 'x' }))).toBe(
      'validation',
    )
  })

  test('a refresh returns new tokens, and the same ones when its reply was lost', async () => {
    const { credential } = await signIn('carl.test')
    const context = peer.as(credential)
    const first = await refreshSession(context)
    expect(first.refreshToken).not.toBe(credential.refreshToken)
    expect(await refreshSession(context)).toEqual(first)
  })

  test('a session that has ended is renewed by the app password, until the user revokes that', async () => {
    const { credential } = await signIn('dora.test')
    peer.clock.advance(91 * DAY)
    const fresh = await refreshSession(peer.as(credential))
    const context = peer.as({ ...credential, ...fresh })
    expect((await bluesky.profile(context)).handle).toBe('dora.test')
    const agent = new AtpAgent({ service: peer.running.url })
    await agent.login({ identifier: 'dora.test', password: PASSWORD })
    await agent.com.atproto.server.revokeAppPassword({ name: 'sandbox' })
    expect(await kindOf(refreshSession(context))).toBe('auth_expired')
  })

  test('disconnecting ends the session, and works twice', async () => {
    const { credential } = await signIn('emil.test')
    const context = peer.as(credential)
    await bluesky.revoke?.(context)
    await bluesky.revoke?.(context)
    expect(await kindOf(bluesky.profile(context))).toBe('auth_expired')
  })

  test('an expired access token is reported as such', async () => {
    const { credential } = await signIn('fred.test')
    peer.clock.advance(3 * HOUR)
    expect(await kindOf(bluesky.profile(peer.as(credential)))).toBe('auth_expired')
  })
})

describe('publishing', () => {
  beforeAll(async () => {
    account = await peer.connect()
  })

  test('a text has its links, mentions and tags by bytes', async () => {
    await signIn('grace.test')
    const text = 'ünïcode 👨‍👩‍👧 @grace.test @gone.invalid see https://example.com/a?b=1, #tag!'
    const post = await peer.publish(account, partOf(text, { key: 'facets' }))
    expect(post).toMatchObject({ url: expect.stringMatching(/^https:\/\/bsky\.app\/profile\/did:plc:/) })
    const record = await recordOf(post.id)
    const bytes = Buffer.from(text)
    const facets = record['facets'] as { index: { byteStart: number; byteEnd: number } }[]
    expect(facets.map(({ index }) => bytes.subarray(index.byteStart, index.byteEnd).toString())).toEqual([
      '@grace.test',
      'https://example.com/a?b=1',
      '#tag',
    ])
  })

  test('a post is quoted by its address or at-uri, beside files and cards', async () => {
    const quoted = await peer.publish(account, partOf('To quote', { key: 'quoted' }))
    const ref = { uri: quoted.id, cid: quoted.ids?.['cid'] }
    const byUrl = await peer.publish(account, partOf('By URL', { key: 'url', options: { quote: quoted.url } }))
    const plain = { $type: 'app.bsky.embed.record', record: ref }
    expect((await recordOf(byUrl.id))['embed']).toEqual(plain)
    const media = [peer.file({ kind: 'image', type: 'image/png' })]
    const options = { quote: quoted.id }
    const withImage = await peer.publish(account, partOf('With an image', { key: 'image', media, options }))
    expect((await recordOf(withImage.id))['embed']).toMatchObject({
      $type: 'app.bsky.embed.recordWithMedia',
      record: plain,
      media: { $type: 'app.bsky.embed.images' },
    })
    const link = 'https://example.com/'
    const withCard = await peer.publish(account, partOf('With a card', { key: 'card', link, options }))
    expect((await recordOf(withCard.id))['embed']).toMatchObject({
      record: plain,
      media: { $type: 'app.bsky.embed.external' },
    })
    for (const { id } of [byUrl, withImage, withCard]) {
      expect(AppBskyFeedPost.validateRecord(await valueOf(id))).toMatchObject({ success: true })
    }
    const handle = quoted.url?.replace(/did:plc:[a-z2-7]+/, 'grace.test') ?? ''
    const gone = peer.publish(account, partOf('Gone', { key: 'gone', options: { quote: handle } }))
    await expect(gone).rejects.toMatchObject({ kind: 'validation', code: 'quote_not_found' })
  })

  test('what is quoted is looked up once, and only the first part quotes it', async () => {
    const quoted = await peer.publish(account, partOf('Quoted once', { key: 'quoted once' }))
    const part = partOf('Quotes', { key: 'quotes', options: { quote: quoted.id } })
    const state = await peer.prepare(account, part)
    await bluesky.publishing?.remove?.(account, quoted)
    const post = await peer.publish(account, part, state)
    expect((await recordOf(post.id))['embed']).toMatchObject({ record: { uri: quoted.id } })
    const reply = { key: 'quote reply', role: 'reply', parent: post, root: post } as const
    const second = await peer.publish(account, partOf('Second', { ...reply, options: { quote: quoted.id } }))
    expect(await recordOf(second.id)).not.toHaveProperty('embed')
  })

  test('a put that is repeated after a lost reply makes one post', async () => {
    const part = partOf('Only once', { key: 'once' })
    const state = await peer.prepare(account, part)
    expect(await bluesky.publishing?.reconcile?.(account, part, state)).toEqual({ kind: 'absent' })
    peer.running.faults.add({ path: 'putRecord', kind: 'cut', times: 1 })
    await expect(peer.publish(account, part, state)).rejects.toMatchObject({ kind: 'network', mayHaveHappened: true })
    const post = await peer.publish(account, part, state)
    expect(await bluesky.publishing?.reconcile?.(account, part, state)).toEqual({ kind: 'published', post })
    expect(await peer.publish(account, part)).toEqual(post)
    expect(posts().filter(({ text }) => text === 'Only once')).toHaveLength(1)
  })

  test('images have alt texts and shapes', async () => {
    const media = [
      peer.file({ kind: 'image', type: 'image/png', altText: 'A cat', width: 800, height: 600 }),
      peer.file({ kind: 'image', type: 'image/jpeg' }, Buffer.alloc(2_000, 1)),
    ]
    const post = await peer.publish(account, partOf('Two images', { key: 'images', media }))
    expect(posts().at(-1)).toMatchObject({ id: post.id, media: ['image/png', 'image/jpeg'] })
    expect((await recordOf(post.id))['embed']).toMatchObject({
      images: [
        { alt: 'A cat', aspectRatio: { width: 800, height: 600 } },
        { alt: '', aspectRatio: { width: 1_080, height: 1_080 } },
      ],
    })
  })

  test('a video goes in parts to the video service, and a cut continues at the part', async () => {
    const file = peer.file({ kind: 'video', type: 'video/mp4', altText: 'Waves' }, Buffer.alloc(12_000_000, 3))
    const part = partOf('Video', { key: 'video', media: [file] })
    const from = peer.running.requests.length
    peer.running.faults.add({ path: 'uploadPart', kind: 'cut', times: 1 })
    let state = peer.publishing.start(part, account)
    for (let isCut = false; !isCut;) {
      const result = await peer.publishing.step(account, part, state).catch(() => undefined)
      isCut = result === undefined
      if (result?.kind === 'next') state = result.state
    }
    const post = await peer.publish(account, part, state)
    const made = peer.running.requests.slice(from).filter((request) => request.includes('video'))
    expect(made.filter((request) => request.includes('uploadPart'))).toHaveLength(4)
    expect(made.filter((request) => request.includes('startUpload'))).toHaveLength(1)
    expect(posts().at(-1)).toMatchObject({ id: post.id, media: ['video/mp4'] })
    expect((await recordOf(post.id))['embed']).toMatchObject({ alt: 'Waves', video: { size: 12_000_000 } })
  })

  test('a video goes to the server itself where there is no video service', async () => {
    const settings = {
      ...account.settings,
      servers: { ...account.settings.servers, video: `${peer.running.url}/none` },
    }
    const file = peer.file({ kind: 'video', type: 'video/mp4' })
    const post = await peer.publish({ ...account, settings }, partOf('Plain', { key: 'plain video', media: [file] }))
    expect(posts().at(-1)).toMatchObject({ id: post.id, media: ['video/mp4'] })
    expect((await bluesky.capabilities?.({ ...account, settings }))?.details).toMatchObject({ videoService: false })
  })

  test('a link without media is a card, and with media it has to be in the text', async () => {
    const link = 'https://example.com/article'
    const options = { cardTitle: 'An article' }
    const post = await peer.publish(account, partOf('Read this', { key: 'card', link, options }))
    expect((await recordOf(post.id))['embed']).toEqual({
      $type: 'app.bsky.embed.external',
      external: { uri: link, title: 'An article', description: '' },
    })
    const media = [peer.file({ kind: 'image', type: 'image/png' })]
    expect(() => peer.publishing.start(partOf('x', { media, link }), account)).toThrow(/accept/)
    const mixed = [...media, peer.file({ kind: 'video', type: 'video/mp4' })]
    expect(() => peer.publishing.start(partOf('x', { media: mixed }), account)).toThrow(/accept/)
  })

  describe('the card of a link', () => {
    const link = 'https://example.com/article'
    const imageUrl = 'https://example.com/picture.jpg'
    const external = async (key: string, text: string, more: Partial<PublishPart> = {}) => {
      const post = await peer.publish(account, partOf(text, { key, ...more }))
      return ((await recordOf(post.id))['embed'] as { external?: Record<string, unknown> } | undefined)?.external
    }
    beforeAll(() => {
      peer.links.set(link, { title: 'Its title', description: 'Its text', imageUrl })
      peer.pictures.set(imageUrl, { bytes: Buffer.alloc(1_000_000, 7), type: 'image/jpeg' })
    })

    test('has title, text and picture of the page, also for a link in the text', async () => {
      const card = { uri: link, title: 'Its title', description: 'Its text' }
      const thumb = { $type: 'blob', mimeType: 'image/jpeg', size: 1_000_000 }
      expect(await external('card field', 'Read', { link })).toMatchObject({ ...card, thumb })
      expect(await external('card text', `Read (${link}), and https://example.com/other.`)).toMatchObject(card)
      expect(await external('card domain', 'Read example.com/article!')).toMatchObject(card)
      const own = { cardTitle: 'Mine', cardDescription: '' }
      expect(await external('card own', 'Read', { link, options: own })).toMatchObject({
        title: 'Mine',
        description: '',
      })
      const root = await peer.publish(account, partOf('Root', { key: 'card root' }))
      const reply = { role: 'reply', root, parent: root } as const
      expect(await external('card reply', `And ${link}`, reply)).toMatchObject({ ...card, thumb })
    })

    test('is plain for a page or a picture that cannot be read, and never prevents the post', async () => {
      expect(await external('card gone', 'Read https://gone.example/x')).toEqual({
        uri: 'https://gone.example/x',
        title: 'gone.example',
        description: '',
      })
      peer.links.set('https://example.com/large', { title: 'Large', imageUrl: `${imageUrl}?large` })
      peer.pictures.set(`${imageUrl}?large`, { bytes: Buffer.alloc(1_000_001, 7), type: 'image/jpeg' })
      expect(await external('card large', 'https://example.com/large')).not.toHaveProperty('thumb')
      peer.running.faults.add({ path: 'uploadBlob', kind: 'status', status: 400, times: 1 })
      expect(await external('card refused', link)).not.toHaveProperty('thumb')
      expect(await external('no card', 'Without a link, e.g. this')).toBeUndefined()
      const media = [peer.file({ kind: 'image', type: 'image/png' })]
      const files = await peer.publish(account, partOf(`Files ${link}`, { key: 'files', media }))
      expect((await recordOf(files.id))['embed']).toMatchObject({ $type: 'app.bsky.embed.images' })
    })

    test('is read once, so that a repeated attempt puts the same record', async () => {
      const part = partOf(`Once ${link}`, { key: 'card once' })
      const before = peer.read.length
      const state = await peer.prepare(account, part)
      expect(peer.read.slice(before)).toEqual([link, imageUrl])
      const reads = peer.read.length
      peer.links.set(link, { title: 'Changed', description: '' })
      const post = await peer.publish(account, part, state)
      expect(await peer.publish(account, part, state)).toEqual(post)
      expect(peer.read).toHaveLength(reads)
      expect(posts().filter(({ id }) => id === post.id)).toHaveLength(1)
      expect((await recordOf(post.id))['embed']).toMatchObject({ external: { title: 'Its title' } })
    })
  })

  test('a thread refers to its root and parent by content, and replies can be limited', async () => {
    const options = { replies: ['mentioned'], langs: ['en'], labels: ['nudity'] }
    const root = await peer.publish(account, partOf('First', { key: 'first', options }))
    const second = await peer.publish(account, partOf('Second', { key: 'second', role: 'reply', parent: root, root }))
    const third = await peer.publish(account, partOf('Third', { key: '3', role: 'comment', parent: second, root }))
    expect((await recordOf(third.id))['reply']).toEqual({
      root: { uri: root.id, cid: root.ids?.['cid'] },
      parent: { uri: second.id, cid: second.ids?.['cid'] },
    })
    expect(await bluesky.publishing?.insights?.(account, root)).toEqual({ likes: 0, shares: 0, comments: 1, saves: 0 })
    const gate = await listed('app.bsky.feed.threadgate')
    expect(gate).toMatchObject([
      { value: { post: root.id, allow: [{ $type: 'app.bsky.feed.threadgate#mentionRule' }] } },
    ])
    await bluesky.publishing?.remove?.(account, root)
    await bluesky.publishing?.remove?.(account, root)
    expect(posts().some(({ id }) => id === root.id)).toBe(false)
    expect(await listed('app.bsky.feed.threadgate')).toEqual([])
  })

  test('the errors of the platform have kinds', async () => {
    expect(await kindOf(peer.publish(account, partOf('x'.repeat(301), { key: 'long' })))).toBe('validation')
    const foreign = { $type: 'blob', ref: { $link: 'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku' } }
    const media = [peer.file({ kind: 'image', type: 'image/png' })]
    const part = partOf('x', { key: 'blob', media })
    const state = {
      ...(await peer.prepare(account, part)),
      record: {
        $type: 'app.bsky.feed.post',
        text: 'x',
        createdAt: new Date(0).toISOString(),
        embed: { $type: 'app.bsky.embed.images', images: [{ alt: '', image: foreign }] },
      },
    }
    expect(await kindOf(peer.publish(account, part, state))).toBe('media_processing')
    const status = async (code: number, retryAfter?: number) => {
      peer.running.faults.add({
        path: 'putRecord',
        kind: 'status',
        status: code,
        times: 1,
        ...(retryAfter && { retryAfter }),
      })
      return peer.publish(account, partOf('x', { key: `status ${code}` })).catch((error: unknown) => error)
    }
    expect(await status(429, 7)).toMatchObject({ kind: 'rate_limited', retryAfter: 7 })
    expect(await status(429)).toMatchObject({ kind: 'rate_limited', retryAfter: undefined })
    expect(await status(502)).toMatchObject({ kind: 'server_error', mayHaveHappened: true })
  })

  test('the budget of writes is reported, and a spent one tells when it resets', async () => {
    const own = await peer.connect()
    await peer.publish(own, partOf('Budget', { key: 'budget' }))
    expect(peer.budgets.at(-1)).toMatchObject({ name: 'window of 3600 s', limit: 5_000, remaining: 4_998 })
    const spent = (peer.running.fake.state as { spent: Record<string, { at: number; points: number }[]> }).spent
    spent[String(own.credential['did'])]?.push({ at: peer.clock.now(), points: 4_997 })
    const error = await peer.publish(own, partOf('Too many', { key: 'many' })).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ kind: 'rate_limited', retryAfter: 3_600 })
  })

  test('the live limits are those of the server and the video service', async () => {
    expect(await bluesky.capabilities?.(account)).toMatchObject({
      limits: { 'image.maxBytes': 2_000_000, 'video.maxBytes': 300_000_000 },
      blocked: {},
      details: { videoService: true, remainingDailyVideos: expect.any(Number) },
    })
  })
})

test('the sandbox has a sign-in page, and its refresh tokens work once', async () => {
  const oauth = bluesky.oauth
  const start = { state: 'ignored', redirectUri: 'ignored', codeVerifier: 'ignored', server: peer.running.url }
  const { secrets, state, url } = await oauth.authorize(peer.context, start)
  const page = await (await fetch(url)).text()
  expect(page).toContain('This is Crier’s sandbox, not Bluesky')
  const hidden = [...page.matchAll(/name="([^"]*)" value="([^"]*)">/g)].map(([, name = '', value = '']) => [
    name,
    value.replaceAll('&amp;', '&'),
  ])
  const body = new URLSearchParams([...hidden, ['account', 'Olga'], ['decision', 'allow']] as [string, string][])
  const decided = await fetch(`${peer.running.url}/oauth/authorize`, { method: 'POST', body, redirect: 'manual' })
  const params = Object.fromEntries(new URL(decided.headers.get('location') ?? '').searchParams)
  expect(params['state']).toBe(state)
  const call = { code: params['code'] ?? '', redirectUri: '', codeVerifier: '', secrets, params }
  const { credential, profile, scopes } = await oauth.exchange(peer.context, call)
  expect([profile.handle, scopes]).toEqual(['olga.test', ['atproto', 'transition:generic']])
  const context = { ...peer.as(credential), remoteId: profile.remoteId }
  const fresh = await oauth.refresh!(context)
  await peer.publish({ ...context, credential: { ...credential, ...fresh } }, partOf('By OAuth', { key: 'oauth' }))
  expect(posts().at(-1)).toMatchObject({ text: 'By OAuth', account: 'olga.test' })
  expect(await kindOf(oauth.refresh!(context))).toBe('auth_expired')
  expect(await kindOf(bluesky.profile({ ...context, credential: { ...credential, ...fresh } }))).toBe('auth_expired')
})

test('a foreign client works with the sandbox', async () => {
  const agent = new AtpAgent({ service: peer.running.url })
  await agent.login({ identifier: 'heidi.test', password: PASSWORD })
  const rt = new RichText({ text: 'Hi @grace.test https://example.com #tag' })
  await rt.detectFacets(agent)
  const { data: file } = await agent.uploadBlob(new Uint8Array([1, 2, 3]), { encoding: 'image/png' })
  const embed = { $type: 'app.bsky.embed.images', images: [{ alt: 'x', image: file.blob }] }
  const put = await agent.com.atproto.repo.putRecord({
    repo: agent.assertDid,
    collection: 'app.bsky.feed.post',
    rkey: tidOf('foreign', 1_795_000_000_000),
    record: {
      $type: 'app.bsky.feed.post',
      text: rt.text,
      facets: rt.facets,
      embed,
      createdAt: new Date().toISOString(),
    },
  })
  expect(put.data.validationStatus).toBe('valid')
  const got = await agent.getPosts({ uris: [put.data.uri] })
  expect(got.data.posts[0]).toMatchObject({ uri: put.data.uri, likeCount: 0 })
  await agent.sessionManager.refreshSession()
  await agent.deletePost(put.data.uri)
  expect(
    (await agent.com.atproto.repo.listRecords({ repo: agent.assertDid, collection: 'app.bsky.feed.post' })).data
      .records,
  ).toEqual([])
  await agent.logout()
})

test('facets are those of the reference implementation', async () => {
  const agent = new AtpAgent({ service: peer.running.url })
  for (const text of [
    'plain',
    'https://a.example/x.',
    '(https://a.example/b) (see https://a.example/(c))',
    '#tag, ##no #a.b! ＃wide #123 #tag2',
    'a@b.test @ada.test. (@ada.test)',
    '👩‍🚀 #ü @ada.test https://ä.example/ö?x=#y',
    'x#no http://localhost:1/a;b',
    'example.com, (example.org/a?b=1) and sub.example.co.uk/path#x.',
    'Node.js e.g. this, 3.14, v1.2.3, some.thing, me@example.com, my-site.com, README.md',
    'bücher.de EXAMPLE.com @ada.test example.com: ada.test',
    '$ www.example.com\nexample.dev',
  ]) {
    const rt = new RichText({ text })
    await rt.detectFacets(agent)
    const dids = Object.fromEntries(
      await Promise.all(
        mentionsOf(text).map(async (handle) => [handle, (await agent.resolveHandle({ handle })).data.did] as const),
      ),
    )
    const ours = facetsOf(text, dids).map(({ features, index }) => ({ ...index, ...features[0] }))
    const theirs = (rt.facets ?? []).map(({ features, index }) => ({
      byteStart: index.byteStart,
      byteEnd: index.byteEnd,
      ...features[0],
    }))
    expect(ours, text).toEqual(theirs)
  }
})

test('a record key is the same for every attempt, sorts by minute, and differs between posts', () => {
  const at = Date.UTC(2026, 10, 22)
  expect(tidOf('a', at)).toMatch(/^[2-7a-j][2-7a-z]{12}$/)
  expect(tidOf('a', at)).toBe(tidOf('a', at))
  expect(tidOf('a', at)).not.toBe(tidOf('b', at))
  expect(tidOf('a', at) < tidOf('b', at + 60_000)).toBe(true)
})

test('posts of the same time have different record keys', () => {
  const at = Date.parse('2026-11-24T10:00:00.000Z')
  const keys = Array.from({ length: 20_000 }, (_, n) => tidOf(`01920000-0000-7000-8000-${n}`, at))
  expect(new Set(keys).size).toBe(keys.length)
})

async function recordOf(uri: string): Promise<Record<string, unknown>> {
  return JSON.parse(JSON.stringify(await valueOf(uri))) as Record<string, unknown>
}

/** A record as the reference implementation reads it. */
async function valueOf(uri: string): Promise<unknown> {
  const [, , repo, collection, rkey] = uri.split('/')
  const agent = new AtpAgent({ service: peer.running.url })
  const { data } = await agent.com.atproto.repo.getRecord({ repo: repo!, collection: collection!, rkey: rkey! })
  return data.value
}

async function listed(collection: string) {
  const agent = new AtpAgent({ service: peer.running.url })
  const { data } = await agent.com.atproto.repo.listRecords({ repo: account.remoteId, collection })
  return JSON.parse(JSON.stringify(data.records)) as unknown[]
}
