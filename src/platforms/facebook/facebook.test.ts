import { afterAll, beforeAll, expect, test } from 'vitest'
import { FakePlatform, partOf } from '../../../test/support/fake-platform.ts'
import type { PublishContext } from '../publishing.ts'
import type { State } from '../../../sandbox/facebook/state.ts'
import { facebook } from './index.ts'

let peer: FakePlatform
let page: PublishContext

beforeAll(async () => {
  peer = await FakePlatform.start(facebook)
  page = await peer.connect()
})
afterAll(() => peer.stop())

const posts = () => peer.running.fake.posts()
const state = () => peer.running.fake.state as State
const { children, publishing } = facebook
const video = (bytes = 5_000) =>
  peer.file({ kind: 'video', type: 'video/mp4', width: 1_080, height: 1_920, seconds: 20 }, Buffer.alloc(bytes, 3))

/** The page on which a new login may publish. */
async function pageOfLogin(account: string, without: readonly string[] = []) {
  const { credential, profile } = await peer.signIn({ account, without })
  const [child] = await children(peer.as(credential, profile.remoteId))
  return peer.as(child!.credential!, child!.profile.remoteId)
}

test('a login has a token of 60 days, the granted permissions and a profile', async () => {
  const grant = await peer.signIn({ account: 'grace' })
  expect(grant.profile).toMatchObject({ name: 'grace', kind: 'login', handle: null })
  expect(grant.credential.expiresAt).toBe(peer.clock.now() + 60 * 86_400_000)
  expect(grant.scopes).toEqual(facebook.oauth?.scopes)
  expect(await facebook.profile(peer.as(grant.credential))).toEqual(grant.profile)
})

test('a declined permission is missing from the granted ones, and the user is asked again', async () => {
  const { credential, profile, scopes } = await peer.signIn({ account: 'denies', without: ['pages_manage_posts'] })
  expect(scopes).not.toContain('pages_manage_posts')
  const pages = await children(peer.as(credential, profile.remoteId))
  expect(pages[0]?.blocked).toMatch(/did not allow/)
  const start = await facebook.oauth.authorize(peer.context, {
    state: 's',
    redirectUri: 'http://x/',
    codeVerifier: 'v',
  })
  expect(new URL(start.url).searchParams.get('auth_type')).toBe('rerequest')
})

test('a refresh extends the token of a login, and an expired one ends the grant', async () => {
  const { credential } = await peer.signIn({ account: 'refreshes' })
  peer.clock.advance(30 * 86_400_000)
  const fresh = await facebook.oauth.refresh!(peer.as(credential))
  expect(fresh.accessToken).not.toBe(credential.accessToken)
  expect(fresh.expiresAt).toBe(peer.clock.now() + 60 * 86_400_000)
  peer.clock.advance(61 * 86_400_000)
  await expect(facebook.oauth.refresh!(peer.as(fresh))).rejects.toMatchObject({
    kind: 'auth_expired',
    code: '190/463',
  })
})

test('a reply without a token is an error, so that the old token is kept', async () => {
  const { credential } = await peer.signIn({ account: 'empty' })
  peer.running.faults.add({ path: '/oauth/access_token', kind: 'status', status: 200, times: 1 })
  await expect(facebook.oauth.refresh!(peer.as(credential))).rejects.toMatchObject({ kind: 'unknown' })
})

test('pages are listed with their own tokens, and a page without the task is blocked', async () => {
  const { credential, profile } = await peer.signIn({ account: 'owner' })
  const pages = await children(peer.as(credential, profile.remoteId))
  expect(pages.map(({ blocked, profile: { kind, name } }) => ({ kind, name, isBlocked: blocked !== null }))).toEqual([
    { kind: 'page', name: 'Bakery of owner', isBlocked: false },
    { kind: 'page', name: 'Club of owner', isBlocked: false },
    { kind: 'page', name: 'Employer of owner', isBlocked: true },
  ])
  expect(pages[2]?.blocked).toMatch(/role/)
  const [first] = pages
  expect(await facebook.profile(peer.as(first!.credential!))).toEqual(first!.profile)
  // A page has no pages.
  expect(await children(peer.as(first!.credential!, first!.profile.remoteId))).toEqual([])
})

test('the token of a page does not expire', async () => {
  const bakery = await pageOfLogin('forever')
  expect(bakery.credential.expiresAt).toBeUndefined()
  peer.clock.advance(300 * 86_400_000)
  expect(await facebook.profile(bakery)).toMatchObject({ kind: 'page' })
  await expect(facebook.oauth.refresh!(bakery)).rejects.toMatchObject({ kind: 'auth_expired', code: 'page_token' })
})

test('a login cannot publish, and a page can', async () => {
  const { credential, profile } = await peer.signIn({ account: 'login' })
  const login = peer.as(credential, profile.remoteId)
  expect((await facebook.capabilities(login)).blocked).toMatchObject({
    publish: expect.stringMatching(/Choose pages/) as string,
  })
  expect(() => publishing.start(partOf('No'), login)).toThrow(expect.objectContaining({ kind: 'unsupported' }) as Error)
  expect((await facebook.capabilities(page)).blocked).toEqual({})
})

test('capabilities name the permissions that a page lacks', async () => {
  const silent = await pageOfLogin('silent', ['pages_manage_engagement'])
  expect((await facebook.capabilities(silent)).blocked).toEqual({
    comment: expect.stringMatching(/pages_manage_engagement/) as string,
  })
})

test('revoking ends the login and its pages, and can be repeated; revoking a page leaves the login', async () => {
  const { credential, profile } = await peer.signIn({ account: 'leaves' })
  const login = peer.as(credential, profile.remoteId)
  const [child] = await children(login)
  await facebook.revoke(peer.as(child!.credential!, child!.profile.remoteId))
  expect(await facebook.profile(login)).toEqual(profile)
  await facebook.revoke(login)
  await facebook.revoke(login)
  await expect(facebook.profile(peer.as(child!.credential!))).rejects.toMatchObject({ kind: 'auth_expired' })
})

test('calls prove the secret of the app, and a wrong secret is a fault of the app', async () => {
  const settings = { ...page.settings, clientSecret: 'wrong-secret' }
  await expect(facebook.profile({ ...page, settings })).rejects.toMatchObject({ kind: 'app_misconfigured' })
  await expect(facebook.capabilities({ ...page, settings })).rejects.toMatchObject({ kind: 'app_misconfigured' })
  await expect(
    facebook.oauth.exchange(
      { ...peer.context, settings },
      { code: 'c', redirectUri: 'r', codeVerifier: '', secrets: {}, params: {} },
    ),
  ).rejects.toMatchObject({ kind: 'app_misconfigured' })
})

test('no token and no secret is in the log of calls', async () => {
  const { credential } = await peer.signIn({ account: 'logged' })
  await facebook.capabilities(page)
  const log = JSON.stringify(peer.calls)
  for (const secret of [credential.accessToken, page.credential.accessToken, page.settings.clientSecret]) {
    expect(log).not.toContain(secret)
  }
})

test('a text and a link are published', async () => {
  const post = await peer.publish(page, partOf('Fresh bread', { link: 'https://example.com/bread' }))
  expect(posts().at(-1)).toMatchObject({ id: post.id, text: 'Fresh bread', media: [] })
  expect(post.url).toContain(post.id)
})

test('photos are uploaded unpublished and attached to one post', async () => {
  const media = [
    peer.file({ kind: 'image', type: 'image/jpeg', altText: 'A loaf' }),
    peer.file({ kind: 'image', type: 'image/png' }),
  ]
  const before = posts().length
  const post = await peer.publish(page, partOf('Two loaves', { media }))
  expect(posts()).toHaveLength(before + 1)
  expect(posts().at(-1)).toMatchObject({ id: post.id, media: ['image/jpeg', 'image/png'] })
  expect(Object.values(state().photos).at(-2)?.altText).toBe('A loaf')
})

test('a reel is uploaded, processed and then published', async () => {
  const post = await peer.publish(page, partOf('A reel', { media: [video()] }))
  expect(post).toMatchObject({ url: expect.stringContaining(`/reel/${post.id}`) as string, ids: { kind: 'reel' } })
  expect(posts().at(-1)).toMatchObject({ id: post.id, text: 'A reel', media: ['video/mp4'] })
})

const STORY = { placement: 'story' }

test('a story of a photo is published without text, and found again by its photo', async () => {
  const media = [peer.file({ kind: 'image', type: 'image/jpeg' })]
  const part = partOf('', { media, options: STORY })
  const before = await peer.prepare(page, part)
  expect(await publishing.reconcile?.(page, part, before)).toEqual({ kind: 'absent' })
  peer.running.faults.add({ path: '/photo_stories', method: 'POST', kind: 'cut', times: 1 })
  await expect(peer.publish(page, part, before)).rejects.toMatchObject({ kind: 'network', mayHaveHappened: true })
  const { id } = posts().at(-1)!
  expect(await publishing.reconcile?.(page, part, before)).toMatchObject({ kind: 'published', post: { id } })
  expect(state().stories.filter((one) => one.page === page.remoteId)).toHaveLength(1)
})

test('a story of a video is found again while it is processed, and neither edited nor deleted', async () => {
  const part = partOf('', { media: [video()], options: STORY })
  const before = await peer.prepare(page, part)
  expect(await publishing.reconcile?.(page, part, before)).toEqual({ kind: 'absent' })
  const post = await peer.publish(page, part, before)
  expect(post).toMatchObject({ url: expect.stringContaining('/stories/') as string, ids: { kind: 'story' } })
  expect(posts().at(-1)).toMatchObject({ id: post.id, text: '', media: ['video/mp4'] })
  expect(await publishing.reconcile?.(page, part, before)).toEqual({ kind: 'published', post })
  expect(await publishing.insights?.(page, post)).toEqual({})
  await expect(publishing.edit?.(page, post, part)).rejects.toMatchObject({ kind: 'unsupported' })
  await expect(publishing.remove?.(page, post)).rejects.toMatchObject({ kind: 'unsupported' })
})

test('an upload that was cut continues where the server stopped', async () => {
  const file = video(9_000)
  const part = partOf('A long reel', { media: [file] })
  const started = await publishing.step(page, part, publishing.start(part, page))
  if (started.kind === 'published') throw new Error('published too early')
  const { uploadUrl, video: id } = started.state as unknown as { uploadUrl: string; video: string }
  const headers = { Authorization: `OAuth ${page.credential.accessToken}`, offset: '0', file_size: '9000' }
  await fetch(uploadUrl, { method: 'POST', headers, body: Buffer.alloc(4_000, 3) })
  expect(state().videos[id]?.received).toBe(4_000)
  const post = await peer.publish(page, part, started.state)
  expect(state().videos[id]?.received).toBe(9_000)
  expect(post.id).toBe(id)
})

test('a reel that Facebook cannot process is reported', async () => {
  const part = partOf('Broken', { media: [video()] })
  const prepared = await peer.prepare(page, part)
  const { video: id } = prepared as unknown as { video: string }
  state().videos[id]!.failure = 'The video is too short.'
  state().videos[id]!.pending = 7
  await expect(peer.publish(page, part, prepared)).rejects.toMatchObject({
    kind: 'media_processing',
    detail: 'The video is too short.',
  })
})

test.each([
  ['a text', () => partOf('Only once'), '/feed'],
  ['photos', () => partOf('', { media: [peer.file({ kind: 'image', type: 'image/jpeg' })] }), '/feed'],
  ['a reel', () => partOf('One reel', { media: [video()] }), '/video_reels'],
])('%s whose reply was lost is found and not published again', async (_what, make, path) => {
  const part = { ...make(), createdAt: peer.clock.now() }
  const prepared = await peer.prepare(page, part)
  expect(await publishing.reconcile!(page, part, prepared)).toEqual({ kind: 'absent' })
  const before = posts().length
  peer.running.faults.add({ path, method: 'POST', kind: 'cut', times: 1 })
  await expect(peer.publish(page, part, prepared)).rejects.toMatchObject({ kind: 'network', mayHaveHappened: true })
  const found = await publishing.reconcile!(page, part, prepared)
  expect(found).toMatchObject({ kind: 'published', post: { id: posts().at(-1)?.id } })
  expect(posts()).toHaveLength(before + 1)
})

test('an older post with the same text, and an album of other photos, are not taken for a lost one', async () => {
  const image = () => peer.file({ kind: 'image', type: 'image/jpeg' })
  const album = () => partOf('Again', { media: [image()], createdAt: peer.clock.now() })
  await peer.publish(page, album())
  const second = album()
  expect(await publishing.reconcile!(page, second, await peer.prepare(page, second))).toEqual({ kind: 'absent' })
  await peer.publish(page, partOf('Every week'))
  peer.clock.advance(600_000)
  const later = partOf('Every week', { createdAt: peer.clock.now() })
  expect(await publishing.reconcile!(page, later, publishing.start(later, page))).toEqual({ kind: 'absent' })
})

test('a first comment is written below the post, and found after a lost reply', async () => {
  const root = await peer.publish(page, partOf('With a comment'))
  const part = partOf('First', { role: 'comment', root, parent: root, createdAt: peer.clock.now() })
  expect(await publishing.reconcile!(page, part, publishing.start(part, page))).toEqual({ kind: 'absent' })
  const comment = await peer.publish(page, part)
  expect(posts().at(-1)).toMatchObject({ id: comment.id, replyTo: root.id, text: 'First' })
  expect(await publishing.reconcile!(page, part, publishing.start(part, page))).toEqual({
    kind: 'published',
    post: comment,
  })
  expect(await publishing.insights!(page, root)).toEqual({ likes: 0, comments: 1, shares: 0 })
})

test('a comment without the permission is refused', async () => {
  const silent = await pageOfLogin('mute', ['pages_manage_engagement'])
  const root = await peer.publish(silent, partOf('No comments'))
  await expect(peer.publish(silent, partOf('First', { role: 'comment', root }))).rejects.toMatchObject({
    kind: 'scope_missing',
    code: '200',
  })
})

test('a thread is not supported', () => {
  expect(() => publishing.start(partOf('Reply', { role: 'reply' }), page)).toThrow(
    expect.objectContaining({ kind: 'unsupported' }) as Error,
  )
})

test('posts and reels are edited, measured and deleted twice without an error', async () => {
  const post = await peer.publish(page, partOf('Typo'))
  expect(await publishing.edit!(page, post, partOf('No typo'))).toEqual(post)
  expect(posts().find(({ id }) => id === post.id)?.text).toBe('No typo')
  const reel = await peer.publish(page, partOf('Reel', { media: [video()] }))
  await publishing.edit!(page, reel, partOf('Better reel'))
  expect(posts().find(({ id }) => id === reel.id)?.text).toBe('Better reel')
  expect(await publishing.insights!(page, reel)).toEqual({ likes: 0, comments: 0, views: 0 })
  for (const one of [post, post, reel, reel]) await publishing.remove!(page, one)
  expect(posts().some(({ id }) => id === post.id || id === reel.id)).toBe(false)
})

test('the errors of Facebook have a kind', async () => {
  await peer.publish(page, partOf('The same'))
  await expect(peer.publish(page, partOf('The same'))).rejects.toMatchObject({ kind: 'duplicate_content', code: '506' })
  await expect(peer.publish(page, partOf(''))).rejects.toMatchObject({ kind: 'validation' })
  await expect(peer.publish(page, partOf('x'.repeat(63_207)))).rejects.toMatchObject({ kind: 'validation' })
  const webp = peer.file({ kind: 'image', type: 'image/webp' })
  await expect(peer.publish(page, partOf('', { media: [webp] }))).rejects.toMatchObject({ kind: 'media_processing' })
  const part = partOf('', { media: [peer.file({ kind: 'image', type: 'image/jpeg' })] })
  const prepared = await peer.prepare(page, part)
  await peer.publish(page, part, prepared)
  await expect(peer.publish(page, part, prepared)).rejects.toMatchObject({ kind: 'duplicate_content' })
})

test('calls report what is left of the limit, and are refused above it', async () => {
  peer.budgets.length = 0
  state().usage.calls = 2_400
  await facebook.profile(page)
  expect(peer.budgets).toEqual([{ name: 'app', limit: 100, remaining: 50, resetsAt: peer.clock.now() + 3_600_000 }])
  state().usage.calls = 4_800
  await expect(facebook.profile(page)).rejects.toMatchObject({ kind: 'rate_limited', code: '4' })
  peer.clock.advance(3_600_000)
  expect(await facebook.profile(page)).toMatchObject({ kind: 'page' })
})

test('a refusal with Retry-After says when to come back', async () => {
  peer.running.faults.add({ path: '/feed', kind: 'status', status: 429, retryAfter: 90, times: 1 })
  await expect(peer.publish(page, partOf('Later'))).rejects.toMatchObject({ kind: 'rate_limited', retryAfter: 90 })
})
