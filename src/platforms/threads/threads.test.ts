import { afterAll, beforeAll, expect, test } from 'vitest'
import { FakePlatform, partOf } from '../../../test/support/fake-platform.ts'
import type { ContainerState } from '../meta/containers.ts'
import type { PublishContext, PublishPart, StepResult } from '../publishing.ts'
import type { State } from '../../../sandbox/threads/state.ts'
import { threads } from './index.ts'

let peer: FakePlatform
let profile: PublishContext

beforeAll(async () => {
  peer = await FakePlatform.start(threads)
  profile = await peer.connect()
})
afterAll(() => peer.stop())

const DAY_MS = 86_400_000
const { oauth, publishing } = threads
const posts = () => peer.running.fake.posts()
const state = () => peer.running.fake.state as State
const image = () => peer.file({ kind: 'image', type: 'image/png', altText: 'A cat' })
const video = () => peer.file({ kind: 'video', type: 'video/mp4', seconds: 20 })
const now = (text: string, more: Partial<PublishPart> = {}) => partOf(text, { createdAt: peer.clock.now(), ...more })

test('a sign-in has a token of 60 days and the scopes that Threads reports', async () => {
  const grant = await peer.signIn({ account: 'grace' })
  expect(grant.profile).toMatchObject({ handle: 'grace', url: 'https://www.threads.com/@grace' })
  expect(grant.scopes).toEqual(oauth.scopes)
  expect(grant.credential).toMatchObject({ expiresAt: peer.clock.now() + 60 * DAY_MS, issuedAt: peer.clock.now() })
  expect(await threads.profile(peer.as(grant.credential))).toEqual(grant.profile)
})

test('a refresh needs no secret, waits for the first day, and an expired token ends the grant', async () => {
  const { credential } = await peer.signIn({ account: 'refreshes' })
  const { clientSecret: _secret, ...settings } = peer.context.settings
  const as = (one: typeof credential) => ({ ...peer.as(one), settings })
  expect(await oauth.refresh!(as(credential))).toBe(credential)
  peer.clock.advance(2 * DAY_MS)
  const fresh = await oauth.refresh!(as(credential))
  expect(fresh.accessToken).not.toBe(credential.accessToken)
  expect(fresh.expiresAt).toBe(peer.clock.now() + 60 * DAY_MS)
  peer.running.faults.add({ path: '/refresh_access_token', kind: 'status', status: 200, times: 1 })
  peer.clock.advance(2 * DAY_MS)
  await expect(oauth.refresh!(as(fresh))).rejects.toMatchObject({ kind: 'unknown' })
  peer.clock.advance(61 * DAY_MS)
  await expect(oauth.refresh!(as(fresh))).rejects.toMatchObject({ kind: 'auth_expired' })
  profile = await peer.connect()
})

test('a used code ends the sign-in, and a wrong secret is a fault of the app', async () => {
  const request = { code: 'used', redirectUri: 'r', codeVerifier: '', secrets: {}, params: {} }
  await expect(oauth.exchange(peer.context, request)).rejects.toMatchObject({ kind: 'auth_expired', code: '100/36009' })
  const settings = { ...peer.context.settings, clientSecret: 'wrong-secret' }
  await expect(oauth.exchange({ ...peer.context, settings }, request)).rejects.toMatchObject({
    kind: 'app_misconfigured',
  })
})

test('a denied scope is named in the capabilities and refused by Threads', async () => {
  const without = ['threads_manage_replies', 'threads_delete']
  const { credential, profile: own, scopes } = await peer.signIn({ account: 'denies', without })
  expect(scopes).not.toContain('threads_delete')
  const denied = peer.as(credential, own.remoteId)
  expect((await threads.capabilities(denied)).blocked).toEqual({
    thread: expect.stringMatching(/threads_manage_replies/) as string,
    comment: expect.stringMatching(/threads_manage_replies/) as string,
    remove: expect.stringMatching(/threads_delete/) as string,
  })
  const post = await peer.publish(denied, now('Mine'))
  await expect(publishing.remove!(denied, post)).rejects.toMatchObject({ kind: 'scope_missing' })
  const reply = now('Reply', { role: 'reply', parent: post, root: post })
  await expect(peer.publish(denied, reply)).rejects.toMatchObject({ kind: 'scope_missing' })
})

test('capabilities have the quotas of posts and replies, which are also budgets', async () => {
  const fresh = await peer.connect()
  const post = await peer.publish(fresh, now('One'))
  await peer.publish(fresh, now('Two', { role: 'reply', parent: post, root: post }))
  peer.budgets.length = 0
  expect(await threads.capabilities(fresh)).toEqual({
    limits: { 'posts.perDay': 250, 'replies.perDay': 1_000 },
    blocked: {},
    details: { quotaUsage: 1, replyQuotaUsage: 1 },
  })
  const resetsAt = peer.clock.now() + DAY_MS
  expect(peer.budgets).toContainEqual({ name: 'posts', counts: 'posts', limit: 250, remaining: 249, resetsAt })
  expect(peer.budgets).toContainEqual({ name: 'replies', counts: 'replies', limit: 1_000, remaining: 999, resetsAt })
})

test('a text is published when its container is finished', async () => {
  const options = { reply_control: 'mentioned_only', topic_tag: 'Bread' }
  const post = await peer.publish(profile, now('Fresh bread', { link: 'https://example.com', options }))
  expect(posts().at(-1)).toMatchObject({ id: post.id, text: 'Fresh bread', media: [], replyTo: null })
  expect(post.url).toMatch(/\/post\//)
})

test('a post has at most five different links, with that of its preview', async () => {
  const links = (count: number) => Array.from({ length: count }, (_, n) => `https://example.com/${n}`).join(' ')
  await peer.publish(profile, now(`${links(5)} ${links(5)}`, { link: 'https://example.com/1' }))
  const beyond = [now(links(6)), now(links(5), { link: 'https://example.com/9' })]
  for (const part of beyond) {
    await expect(peer.publish(profile, part)).rejects.toMatchObject({
      kind: 'validation',
      detail: expect.stringMatching(/LINK_LIMIT_EXCEEDED/) as string,
    })
  }
})

test('an image, a video and a carousel are published', async () => {
  for (const media of [[image()], [video()], [image(), video(), image()]]) {
    await peer.publish(profile, now('Media', { media }))
    expect(
      posts()
        .at(-1)
        ?.media.map((url) => new URL(url).pathname),
    ).toEqual(media.map(({ name }) => `/${name}`))
  }
})

test('a thread is a chain of replies, and a first comment is a reply', async () => {
  const root = await peer.publish(profile, now('First'))
  const second = await peer.publish(profile, now('Second', { role: 'reply', root, parent: root }))
  const third = await peer.publish(profile, now('Third', { role: 'reply', root, parent: second, media: [image()] }))
  const comment = await peer.publish(profile, now('Comment', { role: 'comment', root, parent: root }))
  const replies = posts().filter(({ id }) => [second.id, third.id, comment.id].includes(id))
  expect(replies.map(({ replyTo }) => replyTo)).toEqual([root.id, second.id, root.id])
})

test('a container that is not ready is waited for', async () => {
  const part = now('Slow', { media: [video()] })
  const prepared = await peer.prepare(profile, part)
  state().containers[String(prepared['container'])]!.pending = 3
  const post = await peer.publish(profile, part, prepared)
  expect(posts().at(-1)).toMatchObject({ id: post.id, text: 'Slow' })
})

test('a container that has ended is replaced', async () => {
  const part = now('Late')
  const prepared = await peer.prepare(profile, part)
  peer.clock.advance(DAY_MS + 1)
  const post = await peer.publish(profile, part, prepared)
  expect(posts().filter(({ text }) => text === 'Late')).toMatchObject([{ id: post.id }])
})

test('a file that Threads cannot process is reported with the reason', async () => {
  const part = now('Broken', { media: [video()] })
  const created = (await publishing.step(profile, part, publishing.start(part, profile))) as StepResult & {
    state: ContainerState
  }
  Object.assign(state().containers[String(created.state.container)]!, { failure: 'INVALID_DURATION', pending: 0 })
  await expect(peer.publish(profile, part, created.state)).rejects.toMatchObject({
    kind: 'media_processing',
    code: 'INVALID_DURATION',
  })
})

test.each(['post', 'reply'] as const)('a %s whose reply was lost is found and not published again', async (role) => {
  const parent = await peer.publish(profile, now('Parent'))
  const part = now('Only once 🎈', { role, ...(role === 'reply' && { root: parent, parent }) })
  const prepared = await peer.prepare(profile, part)
  expect(await publishing.reconcile!(profile, part, prepared)).toEqual({ kind: 'absent' })
  const before = posts().length
  peer.running.faults.add({ path: '/threads_publish', kind: 'cut', times: 1 })
  await expect(peer.publish(profile, part, prepared)).rejects.toMatchObject({ kind: 'network', mayHaveHappened: true })
  const found = await publishing.reconcile!(profile, part, prepared)
  expect(found).toMatchObject({ kind: 'published', post: { id: posts().at(-1)?.id } })
  const again = await peer.publish(profile, part, prepared)
  expect(found).toEqual({ kind: 'published', post: again })
  expect(posts()).toHaveLength(before + 1)
})

test('an older post with the same text is not taken for a lost one', async () => {
  await peer.publish(profile, now('Every week'))
  peer.clock.advance(600_000)
  const part = now('Every week')
  const prepared = await peer.prepare(profile, part)
  await peer.publish(profile, part, prepared)
  state().threads.pop()
  expect(await publishing.reconcile!(profile, part, prepared)).toMatchObject({ kind: 'unknown' })
})

test('emoji count as their bytes', async () => {
  await peer.publish(profile, now(`${'x'.repeat(492)}🎈🎈`))
  await expect(peer.publish(profile, now(`${'x'.repeat(493)}🎈🎈`))).rejects.toMatchObject({ kind: 'validation' })
})

test('the parts and files that Threads lacks are refused', async () => {
  const refusal = expect.objectContaining({ kind: 'validation' }) as Error
  expect(() => publishing.start(now(''), profile)).toThrow(refusal)
  await expect(peer.publish(profile, now('Reply', { role: 'reply' }))).rejects.toMatchObject({ kind: 'validation' })
  const many = Array.from({ length: 21 }, () => image())
  await expect(peer.publish(profile, now('', { media: many }))).rejects.toMatchObject({ kind: 'validation' })
  const large = peer.file({ kind: 'image', type: 'image/png' }, Buffer.alloc(8_000_001))
  await expect(peer.publish(profile, now('', { media: [large] }))).rejects.toMatchObject({ kind: 'media_processing' })
})

test('the quota of 24 hours ends publishing', async () => {
  const busy = await peer.connect()
  const at = peer.clock.now()
  for (let count = 0; count < 250; count += 1) {
    state().threads.push({
      id: `q${count}`,
      profile: busy.remoteId,
      kind: 'TEXT',
      text: '',
      files: [],
      replyTo: null,
      at,
    })
  }
  await expect(peer.publish(busy, now('One too many'))).rejects.toMatchObject({ kind: 'quota_exhausted' })
})

test('a refusal with Retry-After says when to come back', async () => {
  peer.running.faults.add({ path: '/threads', kind: 'status', status: 429, retryAfter: 60, times: 1 })
  await expect(peer.publish(profile, now('Later'))).rejects.toMatchObject({ kind: 'rate_limited', retryAfter: 60 })
})

test('figures are read, and a post is deleted twice without an error', async () => {
  const post = await peer.publish(profile, now('Deleted'))
  expect(await publishing.insights!(profile, post)).toEqual({ views: 0, likes: 0, comments: 0, shares: 0 })
  await publishing.remove!(profile, post)
  await publishing.remove!(profile, post)
  expect(posts().some(({ id }) => id === post.id)).toBe(false)
})

test('followers, posts and the audience of a profile are read, as far as it is large enough and allows it', async () => {
  const { analytics } = threads
  const mine = await peer.connect()
  expect(await analytics.readAccount!(mine)).toEqual({ followers: 0 })
  expect(await analytics.readAudience!(mine)).toEqual({})
  state().profiles[mine.remoteId]!.followers = 1_000
  expect(await analytics.readAccount!(mine)).toEqual({ followers: 1_000 })
  const audience = await analytics.readAudience!(mine)
  expect(Object.keys(audience)).toEqual([...analytics.audience])
  expect(audience.country).toContainEqual({ group: 'BR', count: 400 })
  const post = await peer.publish(mine, now('Listed', { media: [image()] }))
  await peer.publish(mine, now('A reply', { role: 'reply', root: post, parent: post }))
  state().threads.push({ ...state().threads.at(-1)!, id: 'reposted', kind: 'REPOST_FACADE', replyTo: null })
  const { items, next } = await analytics.listContent!(mine)
  expect(items).toMatchObject([{ post, text: 'Listed', pictureUrl: expect.any(String) as string, insights: {} }])
  expect(next).toBeNull()
  const { credential, profile: own } = await peer.signIn({ account: 'hides', without: ['threads_manage_insights'] })
  const denied = peer.as(credential, own.remoteId)
  expect([await analytics.readAccount!(denied), await analytics.readAudience!(denied)]).toEqual([{}, {}])
})

test('no token and no secret is in the log of calls', async () => {
  const { credential } = await peer.signIn({ account: 'logged' })
  const log = JSON.stringify(peer.calls)
  for (const secret of [credential.accessToken, profile.credential.accessToken, peer.context.settings.clientSecret]) {
    expect(log).not.toContain(secret)
  }
})
