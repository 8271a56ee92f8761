import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { FakePlatform, partOf } from '../../../test/support/fake-platform.ts'
import type { PublishContext, PublishState } from '../publishing.ts'
import { generatedFile } from '../../../sandbox/media-facts.ts'
import { x } from './index.ts'
import { publishing } from './publishing.ts'

interface FakeState {
  credits: number | null
  readonly users: Record<string, { isLocked: boolean }>
  readonly media: Record<string, { phase: string; altText: string | null; segments: Record<string, number> }>
}

let peer: FakePlatform
let account: PublishContext

beforeAll(async () => {
  peer = await FakePlatform.start(x)
})
afterAll(() => peer.stop())
beforeEach(async () => {
  // A new account has the whole rate limit.
  account = await peer.connect()
})

const state = () => peer.running.fake.state as FakeState
const posts = () => peer.running.fake.posts()
const count = (text: string) => posts().filter((post) => post.text === text).length
const publish = (text: string, more: Parameters<typeof partOf>[1] = {}) => peer.publish(account, partOf(text, more))
const fail = (text: string, more: Parameters<typeof partOf>[1] = {}) =>
  expect(publish(text, more)).rejects.toMatchObject

describe('sign-in', () => {
  test('gives the profile, a token of two hours, and a refresh token', async () => {
    const { credential, profile, scopes } = await peer.signIn({ account: 'grace' })
    expect(profile).toMatchObject({ handle: 'grace', kind: 'person', url: 'https://x.com/grace' })
    expect(profile.remoteId).toMatch(/^\d+$/)
    expect(credential.expiresAt).toBe(peer.clock.now() + 7_200_000)
    expect(credential.refreshToken).toEqual(expect.any(String))
    expect(scopes).toEqual(x.oauth.scopes)
  })

  test('without offline.access there is no refresh token', async () => {
    const { credential } = await peer.signIn({ without: ['offline.access'] })
    expect(credential.refreshToken).toBeUndefined()
  })

  test('a scope that the user denied is named by the error of the call', async () => {
    const { credential, profile } = await peer.signIn({ without: ['media.write'] })
    const context = peer.as(credential, profile.remoteId)
    expect((await x.capabilities(context)).blocked).toHaveProperty('media')
    const part = partOf('With an image', { media: [peer.file({ kind: 'image', type: 'image/png' })] })
    await expect(peer.publish(context, part)).rejects.toMatchObject({ kind: 'scope_missing' })
  })

  test('a wrong client secret is a matter of the operator', async () => {
    const settings = { ...peer.context.settings, clientSecret: 'wrong' }
    await expect(x.oauth.refresh({ ...account, settings })).rejects.toMatchObject({ kind: 'app_misconfigured' })
  })
})

describe('refresh', () => {
  test('replaces both tokens, and a spent refresh token ends the grant', async () => {
    const renewed = await x.oauth.refresh(account)
    expect(renewed.refreshToken).not.toBe(account.credential.refreshToken)
    const later = peer.as({ ...account.credential, ...renewed }, account.remoteId)
    await expect(x.profile(later)).resolves.toMatchObject({ remoteId: account.remoteId })
    await expect(x.oauth.refresh(account)).rejects.toMatchObject({ kind: 'auth_expired', code: 'invalid_request' })
    await expect(x.profile(later)).rejects.toMatchObject({ kind: 'auth_expired' })
  })

  test('an empty reply gives no credential that could replace a good one', async () => {
    peer.running.faults.add({ path: '/2/oauth2/token', kind: 'status', status: 200, times: 1 })
    await expect(x.oauth.refresh(account)).rejects.toMatchObject({ kind: 'unknown', code: 'no_access_token' })
    await expect(x.oauth.refresh(account)).resolves.toHaveProperty('refreshToken')
  })

  test('an expired access token is reported as such', async () => {
    peer.clock.advance(7_200_000)
    await expect(x.profile(account)).rejects.toMatchObject({ kind: 'auth_expired' })
  })
})

test('an account is revoked, twice without an error', async () => {
  await x.revoke(account)
  await x.revoke(account)
  await expect(x.profile(account)).rejects.toMatchObject({ kind: 'auth_expired' })
  await expect(x.oauth.refresh(account)).rejects.toMatchObject({ kind: 'auth_expired' })
})

describe('capabilities', () => {
  test('without a subscription the rules hold', async () => {
    const { details, limits } = await x.capabilities(account)
    expect(limits).toEqual({})
    expect(details).toMatchObject({ subscription: 'None' })
  })

  test('a subscriber publishes longer texts, which are found again', async () => {
    const { credential, profile } = await peer.signIn({ account: 'premium_ada' })
    const context = peer.as(credential, profile.remoteId)
    expect((await x.capabilities(context)).limits).toEqual({
      'text.max': 25_000,
      'video.maxSeconds': 7_500,
    })
    const part = partOf('A long text. '.repeat(100))
    const post = await peer.publish(context, part)
    expect(await publishing.reconcile?.(context, part, publishing.start(part, context))).toEqual({
      kind: 'published',
      post,
    })
    await fail('A long text. '.repeat(100))({ kind: 'validation', httpStatus: 403 })
  })
})

describe('publishing', () => {
  test('a poll, which only the first part of a thread has and which is found again', async () => {
    const options = { poll: { options: ['Cats', 'Dogs'], durationMinutes: 60 } }
    const part = partOf('Which ones?', { options })
    const before = publishing.start(part, account)
    const post = await peer.publish(account, part)
    await publish('And why?', { options, role: 'reply', parent: post, root: post })
    const { posts: kept } = state() as unknown as { posts: { poll: unknown }[] }
    expect(kept.slice(-2).map(({ poll }) => poll)).toEqual([{ options: ['Cats', 'Dogs'], minutes: 60 }, null])
    expect(await publishing.reconcile?.(account, part, before)).toEqual({ kind: 'published', post })
  })

  test('a text', async () => {
    const post = await publish('Hello', { options: { reply_settings: 'following' } })
    expect(posts().at(-1)).toMatchObject({ id: post.id, text: 'Hello', replyTo: null })
    expect(post.url).toBe(`https://x.com/i/status/${post.id}`)
  })

  test('a link, which is part of the text once', async () => {
    const link = 'https://example.com/a'
    await publish('Read this', { link })
    await publish(`Read ${link} too`, { link })
    expect(posts().slice(-2)).toMatchObject([{ text: `Read this\n${link}` }, { text: `Read ${link} too` }])
  })

  test('images with alt texts', async () => {
    const media = [
      peer.file({ kind: 'image', type: 'image/png', altText: 'A cat' }),
      peer.file({ kind: 'image', type: 'image/jpeg' }),
    ]
    await publish('Two images', { media })
    expect(posts().at(-1)?.media).toEqual(['image/png', 'image/jpeg'])
    expect(Object.values(state().media).map(({ altText }) => altText)).toContain('A cat')
  })

  test('a video in pieces, after it was processed', async () => {
    const video = peer.file({ kind: 'video', type: 'video/mp4' }, Buffer.alloc(9 * 1_048_576, 7))
    await publish('Video', { media: [video] })
    expect(posts().at(-1)?.media).toEqual(['video/mp4'])
    expect(Object.values(state().media).at(-1)?.segments).toEqual({ 0: 4_194_304, 1: 4_194_304, 2: 1_048_576 })
  })

  test('an animated image', async () => {
    await publish('Moving', { media: [peer.file({ kind: 'gif', type: 'image/gif' })] })
    expect(posts().at(-1)?.media).toEqual(['image/gif'])
  })

  test('a piece whose reply was lost is sent again', async () => {
    const part = partOf('Cut', {
      media: [peer.file({ kind: 'video', type: 'video/mp4' }, Buffer.alloc(5 * 1_048_576, 1))],
    })
    const begun = await publishing.step(account, part, publishing.start(part, account))
    const before = (begun as { state: PublishState }).state
    peer.running.faults.add({ path: '/append', kind: 'cut', times: 1 })
    await expect(publishing.step(account, part, before)).rejects.toMatchObject({ kind: 'network' })
    await peer.publish(account, part, before)
    expect(posts().at(-1)?.media).toEqual(['video/mp4'])
  })

  test('a file that X cannot process fails with its reason', async () => {
    const part = partOf('Broken', { media: [peer.file({ kind: 'video', type: 'video/mp4' })] })
    let step: PublishState = publishing.start(part, account)
    while (step.step !== 'process') {
      step = ((await publishing.step(account, part, step)) as { state: PublishState }).state
    }
    state().media[String(step['upload'])]!.phase = 'failed'
    await expect(publishing.step(account, part, step))
      .resolves.toMatchObject({ kind: 'next' })
      .catch(() => undefined)
  })

  test('how long a video may be depends on the subscription', async () => {
    const video = peer.file({ kind: 'video', type: 'video/mp4' }, generatedFile({ seconds: 1_201 }, 1_000))
    await fail('Long', { media: [video] })({ kind: 'validation', httpStatus: 403 })
    const { credential, profile } = await peer.signIn({ account: 'premium_mary' })
    await peer.publish(peer.as(credential, profile.remoteId), partOf('Long', { media: [video] }))
    expect(posts().at(-1)).toMatchObject({ text: 'Long', media: ['video/mp4'] })
  })

  test('a reply and a first comment', async () => {
    const root = await publish('First')
    const reply = await publish('Second', { role: 'reply', root, parent: root })
    const comment = await publish('Comment', { role: 'comment', root, parent: reply })
    expect(posts().at(-2)).toMatchObject({ id: reply.id, replyTo: root.id })
    expect(posts().at(-1)).toMatchObject({ id: comment.id, replyTo: reply.id })
    await fail('Answer to nobody', { role: 'reply', parent: { id: '1', url: null } })({ kind: 'validation' })
  })

  test('documents are not supported', async () => {
    await fail('PDF', { media: [peer.file({ kind: 'document', type: 'application/pdf' })] })({ kind: 'unsupported' })
  })
})

describe('a lost reply', () => {
  test.each([
    ['a text with a link', partOf('Found: https://example.com/a?b=1 & <more>')],
    ['a reply', partOf('An answer', { role: 'reply' })],
    ['media without a text', partOf('')],
  ])('of %s leads to one post', async (kind, draft) => {
    const parent = kind === 'a reply' ? await publish('A question') : undefined
    const media = draft.text === '' ? [peer.file({ kind: 'image', type: 'image/png' })] : []
    const part = { ...draft, media, ...(parent && { parent, root: parent }) }
    const before = await peer.prepare(account, part)
    expect(await publishing.reconcile?.(account, part, before)).toEqual({ kind: 'absent' })
    peer.running.faults.add({ path: '/2/tweets', method: 'POST', kind: 'cut', times: 1 })
    await expect(peer.publish(account, part, before)).rejects.toMatchObject({ kind: 'network', mayHaveHappened: true })
    expect(await publishing.reconcile?.(account, part, before)).toEqual({
      kind: 'published',
      post: { id: posts().at(-1)?.id, url: expect.any(String) as unknown },
    })
  })

  test('an older post with the same text is not taken for it', async () => {
    await publish('Again')
    peer.clock.advance(24 * 3_600_000)
    const context = peer.as({ ...account.credential, ...(await x.oauth.refresh(account)) }, account.remoteId)
    const part = partOf('Again', { createdAt: peer.clock.now() })
    expect(await publishing.reconcile?.(context, part, publishing.start(part, context))).toEqual({ kind: 'absent' })
    await peer.publish(context, part)
    expect(count('Again')).toBe(2)
  })
})

describe('errors', () => {
  test('the same text again is a duplicate', async () => {
    await publish('Twice')
    await fail('Twice')({ kind: 'duplicate_content', mayHaveHappened: false })
    expect(count('Twice')).toBe(1)
  })

  test('without credits the operator has to pay, more for a link', async () => {
    state().credits = 0.1
    await fail('https://example.com')({ kind: 'billing', code: 'credits' })
    await publish('No link')
    state().credits = 0
    await fail('None left')({ kind: 'billing' })
    state().credits = null
  })

  test('a locked account', async () => {
    state().users[account.remoteId]!.isLocked = true
    await fail('Locked')({ kind: 'account_restricted' })
  })

  test('a rate limit ends when the header says so', async () => {
    for (let sent = 0; sent < 100; sent += 1) await publish(`Post ${sent}`)
    expect(peer.budgets.at(-1)).toEqual({
      name: 'POST /2/tweets',
      limit: 100,
      remaining: 0,
      resetsAt: peer.clock.now() + 900_000,
      counts: 'posts',
    })
    peer.clock.advance(300_000)
    await fail('One too many')({ kind: 'rate_limited', retryAfter: 600, mayHaveHappened: false })
    peer.clock.advance(600_000)
    await publish('After the limit')
  })

  test.each([
    [
      { status: 429, retryAfter: 30 },
      { kind: 'rate_limited', retryAfter: 30 },
    ],
    [{ status: 429 }, { kind: 'rate_limited', retryAfter: undefined }],
    [{ status: 503 }, { kind: 'server_error', mayHaveHappened: true }],
    [{ status: 403 }, { kind: 'scope_missing' }],
    [{ status: 400 }, { kind: 'validation' }],
  ])('%j is %j', async (reply, error) => {
    peer.running.faults.add({ path: '/2/tweets', method: 'POST', kind: 'status', times: 1, ...reply })
    await fail('Refused')(error)
  })

  const reply = (status: number, json: unknown, headers = {}, target = 'POST /2/tweets') =>
    x.reader.errorOf({ target, status, json, headers, bytes: Buffer.alloc(0) }, 1_000_000)
  test.each([
    [
      reply(429, { type: 'https://api.twitter.com/2/problems/usage-capped', title: 'UsageCapExceeded' }),
      'quota_exhausted',
    ],
    [reply(429, {}, { 'x-user-limit-24hour-remaining': '0', 'x-user-limit-24hour-reset': '1600' }), 'quota_exhausted'],
    [reply(403, { type: 'https://api.twitter.com/2/problems/client-forbidden', detail: 'x' }), 'app_misconfigured'],
    [reply(403, { detail: 'This request looks like it might be automated.' }), 'policy_rejected'],
    [reply(403, { detail: 'Your account is suspended and is not permitted to access this.' }), 'account_restricted'],
    [reply(403, { detail: 'You are not permitted to perform this action.' }), 'validation'],
    [reply(400, { errors: [{ message: 'Media could not be processed.' }] }), 'media_processing'],
    [reply(401, { error: 'invalid_client' }, {}, 'POST /2/oauth2/token'), 'app_misconfigured'],
    [reply(502, undefined), 'server_error'],
  ])('%j is %s', (found, kind) => {
    expect(found?.kind).toBe(kind)
  })

  test('the end of the day is when a daily limit resets', () => {
    const headers = { 'x-user-limit-24hour-remaining': '0', 'x-user-limit-24hour-reset': '1600' }
    expect(reply(429, {}, headers)?.retryAfter).toBe(600)
  })
})

test('a post is deleted twice without an error, and its figures are then gone', async () => {
  const post = await publish('Read me')
  expect(await publishing.insights?.(account, post)).toEqual({ likes: 0, comments: 0, shares: 0, saves: 0, views: 1 })
  await publishing.remove?.(account, post)
  await publishing.remove?.(account, post)
  expect(posts().some(({ id }) => id === post.id)).toBe(false)
  await expect(publishing.insights?.(account, post)).rejects.toMatchObject({ kind: 'unsupported' })
})
