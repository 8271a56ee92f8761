import { afterAll, beforeAll, expect, test } from 'vitest'
import { FakePlatform, partOf } from '../../../test/support/fake-platform.ts'
import type { ContainerState } from '../meta/containers.ts'
import type { PublishContext, PublishPart, StepResult } from '../publishing.ts'
import type { State } from '../../../sandbox/instagram/state.ts'
import { instagram } from './index.ts'

let peer: FakePlatform
let account: PublishContext

beforeAll(async () => {
  peer = await FakePlatform.start(instagram)
  account = await peer.connect()
})
afterAll(() => peer.stop())

const DAY_MS = 86_400_000
const { oauth, publishing } = instagram
const posts = () => peer.running.fake.posts()
const state = () => peer.running.fake.state as State
const image = (altText?: string) =>
  peer.file({ kind: 'image', type: 'image/jpeg', ...(altText !== undefined && { altText }) })
const video = () => peer.file({ kind: 'video', type: 'video/mp4', width: 1_080, height: 1_920, seconds: 20 })
const now = (text: string, more: Partial<PublishPart> = {}) => partOf(text, { createdAt: peer.clock.now(), ...more })
const container = (id: unknown) => state().containers[String(id)]!

test('a sign-in exchanges the token at once for one of 60 days', async () => {
  const grant = await peer.signIn({ account: 'grace' })
  expect(grant.profile).toMatchObject({ handle: 'grace', kind: 'business', url: 'https://www.instagram.com/grace/' })
  expect(grant.scopes).toEqual(oauth.scopes)
  expect(grant.credential).toMatchObject({ expiresAt: peer.clock.now() + 60 * DAY_MS, issuedAt: peer.clock.now() })
  expect(await instagram.profile(peer.as(grant.credential))).toEqual(grant.profile)
  expect((await peer.signIn({ account: 'creator_ada' })).profile.kind).toBe('creator')
})

test('a personal account is refused with the remedy', async () => {
  await expect(peer.signIn({ account: 'personal_ada' })).rejects.toMatchObject({
    kind: 'unsupported',
    code: 'personal_account',
    detail: expect.stringMatching(/Switch it to a business or creator account/) as string,
  })
})

test('an account that became personal later cannot publish', async () => {
  const later = await peer.connect()
  state().accounts[later.remoteId]!.type = 'PERSONAL'
  expect((await instagram.capabilities(later)).blocked).toEqual({
    publish: expect.stringMatching(/creator/) as string,
  })
  await expect(peer.publish(later, now('No', { media: [image()] }))).rejects.toMatchObject({ kind: 'scope_missing' })
})

test('a wrong secret and a used code are told apart', async () => {
  const request = { code: 'used', redirectUri: 'r', codeVerifier: '', secrets: {}, params: {} }
  await expect(oauth.exchange(peer.context, request)).rejects.toMatchObject({ kind: 'auth_expired' })
  const settings = { ...peer.context.settings, clientSecret: 'wrong-secret' }
  await expect(oauth.exchange({ ...peer.context, settings }, request)).rejects.toMatchObject({
    kind: 'app_misconfigured',
  })
})

test('the code is exchanged at api.instagram.com, and consent is given at www.instagram.com', async () => {
  const { url } = await oauth.authorize(
    { ...peer.context, settings: instagram.defaults },
    { state: 's', redirectUri: 'https://x/', codeVerifier: '' },
  )
  expect(url).toMatch(/^https:\/\/www\.instagram\.com\/oauth\/authorize\?response_type=code/)
  const urls: string[] = []
  const http = { send: (request: { url: string }) => Promise.reject(new Error(urls.push(request.url).toString())) }
  const context = { ...peer.context, settings: instagram.defaults, http: http as never }
  await oauth
    .exchange(context, { code: 'c', redirectUri: 'r', codeVerifier: '', secrets: {}, params: {} })
    .catch(() => null)
  expect(urls).toEqual(['https://api.instagram.com/oauth/access_token'])
})

test('a refresh waits for the first day, renews the token, and an expired token ends the grant', async () => {
  const { credential } = await peer.signIn({ account: 'refreshes' })
  expect(await oauth.refresh!(peer.as(credential))).toBe(credential)
  peer.clock.advance(DAY_MS)
  const fresh = await oauth.refresh!(peer.as(credential))
  expect(fresh.accessToken).not.toBe(credential.accessToken)
  expect(fresh.expiresAt).toBe(peer.clock.now() + 60 * DAY_MS)
  peer.clock.advance(61 * DAY_MS)
  await expect(oauth.refresh!(peer.as(fresh))).rejects.toMatchObject({ kind: 'auth_expired', code: '190/463' })
  account = await peer.connect()
})

test('an empty reply to a refresh is an error, so that the old token is kept', async () => {
  const { credential } = await peer.signIn({ account: 'empty' })
  peer.clock.advance(DAY_MS)
  peer.running.faults.add({ path: '/refresh_access_token', kind: 'status', status: 200, times: 1 })
  await expect(oauth.refresh!(peer.as(credential))).rejects.toMatchObject({ kind: 'unknown' })
})

test('a denied scope is missing, named in the capabilities, and refused by Instagram', async () => {
  const { credential, profile, scopes } = await peer.signIn({
    account: 'denies',
    without: ['instagram_business_content_publish'],
  })
  expect(scopes).not.toContain('instagram_business_content_publish')
  const denied = peer.as(credential, profile.remoteId)
  expect((await instagram.capabilities(denied)).blocked).toEqual({
    publish: expect.stringMatching(/content_publish/) as string,
  })
  await expect(peer.publish(denied, now('No', { media: [image()] }))).rejects.toMatchObject({ kind: 'scope_missing' })
})

test('capabilities have the quota of the account, which is also a budget', async () => {
  const fresh = await peer.connect()
  await peer.publish(fresh, now('One', { media: [image()] }))
  peer.budgets.length = 0
  expect(await instagram.capabilities(fresh)).toEqual({
    limits: { 'posts.perDay': 50 },
    blocked: {},
    details: { quotaUsage: 1, quotaTotal: 50, quotaSeconds: 86_400 },
  })
  expect(peer.budgets).toContainEqual({
    name: 'posts',
    counts: 'posts',
    limit: 50,
    remaining: 49,
    resetsAt: peer.clock.now() + DAY_MS,
  })
})

test('an image is published when Instagram has processed it', async () => {
  const post = await peer.publish(account, now('A cat', { media: [image('A sleeping cat')] }))
  expect(post.url).toMatch(/\/p\//)
  expect(posts().at(-1)).toMatchObject({ id: post.id, text: 'A cat' })
  expect(Object.values(state().containers).at(-1)?.altText).toBe('A sleeping cat')
})

test('a single video is a reel', async () => {
  const options = { share_to_feed: true, thumb_offset: 500, collaborators: ['grace'] }
  await peer.publish(account, now('A reel', { media: [video()], options }))
  expect(state().media.at(-1)).toMatchObject({ kind: 'REELS', caption: 'A reel' })
})

test('a carousel has its images and videos in order', async () => {
  const files = [image(), video(), image()]
  await peer.publish(account, now('Three', { media: files }))
  expect(
    posts()
      .at(-1)
      ?.media.map((url) => new URL(url).pathname),
  ).toEqual(files.map(({ name }) => `/${name}`))
  expect(state().media.at(-1)?.kind).toBe('CAROUSEL')
})

test('a story has no text', async () => {
  const post = await peer.publish(account, now('Ignored', { media: [video()], options: { placement: 'story' } }))
  expect(state().media.at(-1)).toMatchObject({ id: post.id, kind: 'STORIES', caption: '' })
  expect(await publishing.insights!(account, post)).toEqual({ views: 0, reach: 0, shares: 0 })
})

test('a container that is still processed is not published, however long it takes', async () => {
  const part = now('Slow', { media: [video()] })
  const created = (await publishing.step(account, part, publishing.start(part, account))) as StepResult & {
    state: ContainerState
  }
  container(created.state.container).pending = 12
  const waits: number[] = []
  let current = created.state
  while (current.step === 'process') {
    const result = (await publishing.step(account, part, current)) as StepResult & {
      state: ContainerState
      waitMs?: number
    }
    waits.push(result.waitMs ?? 0)
    current = result.state
  }
  expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, ...Array<number>(7).fill(60_000), 0])
  expect(await peer.publish(account, part, current)).toMatchObject({ id: posts().at(-1)?.id })
})

test('a container that is published too early is processed further', async () => {
  const part = now('Too early', { media: [video()] })
  const prepared = await peer.prepare(account, part)
  container(prepared['container']).pending = 2
  const post = await peer.publish(account, part, prepared)
  expect(posts().at(-1)).toMatchObject({ id: post.id, text: 'Too early' })
})

test('a container that has ended is replaced', async () => {
  const part = now('Late', { media: [image(), image()] })
  const prepared = await peer.prepare(account, part)
  peer.clock.advance(DAY_MS + 1)
  const post = await peer.publish(account, part, prepared)
  expect(posts().filter(({ text }) => text === 'Late')).toMatchObject([{ id: post.id }])
})

test.each([
  ['2207026', 'media_processing', 1],
  ['2207053', 'media_processing', 4],
])('a file that fails with %s is reported after %s', async (failure, kind, containers) => {
  const part = now(`Broken ${failure}`, { media: [video()] })
  const before = Object.keys(state().containers).length
  let current = publishing.start(part, account)
  const run = async () => {
    for (;;) {
      const result = await publishing.step(account, part, current)
      if (result.kind === 'published') return
      current = result.state
      const id = current['container']
      if (typeof id === 'string') Object.assign(container(id), { failure, pending: 0 })
    }
  }
  await expect(run()).rejects.toMatchObject({ kind, code: failure })
  expect(Object.keys(state().containers)).toHaveLength(before + containers)
})

test.each([
  ['an image', () => [image()], {}],
  ['a carousel', () => [image(), image()], {}],
  ['a story', () => [image()], { placement: 'story' }],
])('%s whose reply was lost is found and not published again', async (_what, media, options) => {
  const part = now('Only once', { media: media(), options })
  const prepared = await peer.prepare(account, part)
  expect(await publishing.reconcile!(account, part, prepared)).toEqual({ kind: 'absent' })
  const before = state().media.length
  peer.running.faults.add({ path: '/media_publish', kind: 'cut', times: 1 })
  await expect(peer.publish(account, part, prepared)).rejects.toMatchObject({ kind: 'network', mayHaveHappened: true })
  const found = await publishing.reconcile!(account, part, prepared)
  expect(found).toMatchObject({ kind: 'published', post: { id: state().media.at(-1)?.id } })
  // A repetition instead of a reconciliation finds the same post, too.
  const again = await peer.publish(account, part, prepared)
  expect(found).toEqual({ kind: 'published', post: again })
  expect(state().media).toHaveLength(before + 1)
  peer.clock.advance(10 * 60_000)
})

test('a post that was published, but is not listed, stays unknown', async () => {
  const part = now('Not listed', { media: [image()] })
  const prepared = await peer.prepare(account, part)
  await peer.publish(account, part, prepared)
  state().media.pop()
  expect(await publishing.reconcile!(account, part, prepared)).toMatchObject({ kind: 'unknown' })
})

test('an older post with the same text is not taken for a lost one', async () => {
  await peer.publish(account, now('Every week', { media: [image()] }))
  peer.clock.advance(600_000)
  const part = now('Every week', { media: [image()] })
  const prepared = await peer.prepare(account, part)
  await peer.publish(account, part, prepared)
  state().media.pop()
  expect(await publishing.reconcile!(account, part, prepared)).toMatchObject({ kind: 'unknown' })
})

test('an address that cannot be read does not make a published post a failure', async () => {
  const part = now('No address', { media: [image()] })
  const result = (await publishing.step(account, part, await peer.prepare(account, part))) as StepResult & {
    state: ContainerState
  }
  peer.running.faults.add({ path: `/${result.state.post}`, kind: 'status', status: 503, times: 1 })
  expect(await publishing.step(account, part, result.state)).toEqual({
    kind: 'published',
    post: { id: result.state.post, url: null },
  })
})

test('a first comment is written, found after a lost reply, and deleted twice without an error', async () => {
  const root = await peer.publish(account, now('With a comment', { media: [image()] }))
  const part = now('First', { role: 'comment', root, parent: root })
  const begun = publishing.start(part, account)
  expect(publishing.commits(begun)).toBe(true)
  expect(await publishing.reconcile!(account, part, begun)).toEqual({ kind: 'absent' })
  const comment = await peer.publish(account, part)
  expect(posts().at(-1)).toMatchObject({ id: comment.id, replyTo: root.id, text: 'First' })
  expect(await publishing.reconcile!(account, part, begun)).toEqual({ kind: 'published', post: comment })
  expect(await publishing.insights!(account, root)).toMatchObject({ comments: 1, saves: 0, views: 0 })
  await publishing.remove!(account, comment)
  await publishing.remove!(account, comment)
  expect(posts().some(({ id }) => id === comment.id)).toBe(false)
  await expect(publishing.remove!(account, root)).rejects.toMatchObject({ kind: 'unsupported' })
})

test('the parts that Instagram lacks are refused before any call', () => {
  const start = (part: PublishPart) => () => publishing.start(part, account)
  const refusal = (kind: string) => expect.objectContaining({ kind }) as Error
  expect(start(now('Reply', { role: 'reply' }))).toThrow(refusal('unsupported'))
  expect(start(now('No media'))).toThrow(refusal('validation'))
  expect(start(now('', { media: [image(), image()], options: { placement: 'story' } }))).toThrow(refusal('validation'))
})

test('the errors of Instagram have a kind', async () => {
  const refused = (part: PublishPart) => expect(peer.publish(account, part)).rejects
  await refused(now('x'.repeat(2_201), { media: [image()] })).toMatchObject({
    kind: 'validation',
    code: '36004/2207010',
  })
  await refused(now('#tag '.repeat(31), { media: [image()] })).toMatchObject({ kind: 'validation' })
  const large = peer.file({ kind: 'image', type: 'image/jpeg' }, Buffer.alloc(8_400_000))
  await refused(now('', { media: [large] })).toMatchObject({ kind: 'media_processing', code: '36000/2207004' })
  const many = Array.from({ length: 11 }, () => image())
  await refused(now('', { media: many })).toMatchObject({ kind: 'validation', code: '100/2207028' })
  peer.running.faults.add({ path: '/media', kind: 'status', status: 429, retryAfter: 30, times: 1 })
  await refused(now('', { media: [image()] })).toMatchObject({ kind: 'rate_limited', retryAfter: 30 })
})

test('the quota of 24 hours ends publishing until posts leave the window', async () => {
  const busy = await peer.connect()
  const at = peer.clock.now()
  for (let count = 0; count < 50; count += 1) {
    state().media.push({ id: `q${count}`, account: busy.remoteId, kind: 'IMAGE', caption: '', files: [], at })
  }
  const part = now('One too many', { media: [image()] })
  const prepared = await peer.prepare(busy, part)
  await expect(peer.publish(busy, part, prepared)).rejects.toMatchObject({ kind: 'quota_exhausted', code: '9/2207042' })
  peer.clock.advance(DAY_MS)
  expect(await peer.publish(busy, part, prepared)).toMatchObject({ id: posts().at(-1)?.id })
})

test('no token and no secret is in the log of calls', async () => {
  const { credential } = await peer.signIn({ account: 'logged' })
  const log = JSON.stringify(peer.calls)
  for (const secret of [credential.accessToken, account.credential.accessToken, peer.context.settings.clientSecret]) {
    expect(log).not.toContain(secret)
  }
})

test('an audience is reported in groups, by accounts that are large enough and allow it', async () => {
  const { analytics } = instagram
  const small = await peer.connect()
  expect(await analytics.readAudience!(small)).toEqual({})
  state().accounts[small.remoteId]!.followers = 1_000
  const audience = await analytics.readAudience!(small)
  expect(Object.keys(audience)).toEqual([...analytics.audience])
  expect(audience.country).toContainEqual({ group: 'NP', count: 500 })
  const { credential, profile } = await peer.signIn({
    account: 'denies_insights',
    without: ['instagram_business_manage_insights'],
  })
  expect(await analytics.readAudience!(peer.as(credential, profile.remoteId))).toEqual({})
})
