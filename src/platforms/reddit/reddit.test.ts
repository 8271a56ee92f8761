import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { FakePlatform, partOf } from '../../../test/support/fake-platform.ts'
import type { PublishContext } from '../publishing.ts'
import { reddit } from './index.ts'
import { publishing } from './publishing.ts'

interface FakeState {
  readonly users: Record<string, { isSuspended: boolean; cooldownUntil: number }>
  readonly assets: Record<string, { type: string }>
}

type Draft = Parameters<typeof partOf>[1]

const NEWS = '7f6a52de-0000-11ef-9c3a-5e2d1a4b7c90'

let peer: FakePlatform
let account: PublishContext

beforeAll(async () => {
  peer = await FakePlatform.start(reddit)
})
afterAll(() => peer.stop())
beforeEach(async () => {
  peer.clock.advance(600_000)
  account = await peer.connect()
})

const state = () => peer.running.fake.state as FakeState
const posts = () => peer.running.fake.posts()
const draft = (title: string, { options, ...more }: Draft = {}) =>
  partOf(more.text ?? '', {
    title,
    createdAt: peer.clock.now(),
    options: { subreddit: 'sandbox', ...options },
    ...more,
  })
const publish = (title: string, more?: Draft) => peer.publish(account, draft(title, more))
const fail = (title: string, more?: Draft) => expect(publish(title, more)).rejects.toMatchObject
const image = (type = 'image/png') => peer.file({ kind: 'image', type, altText: 'A cat' })

describe('sign-in', () => {
  test('gives the profile, a token of an hour, and a permanent refresh token', async () => {
    const { credential, profile, scopes } = await peer.signIn({ account: 'grace' })
    expect(profile).toMatchObject({ handle: 'grace', url: 'https://www.reddit.com/user/grace' })
    expect(profile.avatarUrl).not.toContain('?')
    expect(credential).toMatchObject({ expiresAt: peer.clock.now() + 3_600_000, username: 'grace' })
    expect(credential.refreshToken).toEqual(expect.any(String))
    expect(scopes).toEqual(reddit.oauth.scopes)
  })

  test('a scope that the user denied is named by the error of the call', async () => {
    const { credential, profile } = await peer.signIn({ without: ['submit'] })
    const context = peer.as(credential, profile.remoteId)
    await expect(peer.publish(context, draft('Not allowed'))).rejects.toMatchObject({ kind: 'scope_missing' })
  })

  test('a code that was used is refused with status 200', async () => {
    const redirectUri = 'http://127.0.0.1/api/social-accounts/oauth/reddit/callback'
    const request = { code: 'used', redirectUri, codeVerifier: '', secrets: {}, params: {} }
    await expect(reddit.oauth.exchange(peer.context, request)).rejects.toMatchObject({ kind: 'auth_expired' })
  })

  test('a wrong client secret is a matter of the operator', async () => {
    const settings = { ...peer.context.settings, clientSecret: 'wrong' }
    await expect(reddit.oauth.refresh({ ...account, settings })).rejects.toMatchObject({ kind: 'app_misconfigured' })
  })
})

describe('refresh', () => {
  test('can be repeated, and keeps the name of the user', async () => {
    const once = await reddit.oauth.refresh(account)
    const twice = await reddit.oauth.refresh(account)
    expect(twice.accessToken).not.toBe(once.accessToken)
    expect(twice).toMatchObject({
      refreshToken: account.credential.refreshToken,
      username: account.credential['username'],
    })
  })

  test('an empty reply gives no credential that could replace a good one', async () => {
    peer.running.faults.add({ path: '/api/v1/access_token', kind: 'status', status: 204, times: 1 })
    await expect(reddit.oauth.refresh(account)).rejects.toMatchObject({ kind: 'unknown', code: 'no_access_token' })
    await expect(reddit.oauth.refresh(account)).resolves.toHaveProperty('accessToken')
  })
})

test('an account is revoked, twice without an error', async () => {
  await reddit.revoke(account)
  await reddit.revoke(account)
  await expect(reddit.profile(account)).rejects.toMatchObject({ kind: 'auth_expired' })
  await expect(reddit.oauth.refresh(account)).rejects.toMatchObject({ kind: 'auth_expired' })
})

test('a suspended account cannot publish', async () => {
  const { choices = {}, ...found } = await reddit.capabilities(account)
  expect(found).toMatchObject({ blocked: {}, details: { karma: 1, verifiedEmail: true } })
  expect(choices['subreddit']).toContainEqual({ value: 'flaired', title: 'r/flaired' })
  expect(choices['flair_id']).toEqual([{ value: expect.any(String), title: 'r/flaired: News' }])
  state().users[account.remoteId]!.isSuspended = true
  expect((await reddit.capabilities(account)).blocked).toHaveProperty('publish')
  await fail('Suspended')({ kind: 'account_restricted', code: 'suspended' })
})

test('places are the profile and the subreddits of all pages', async () => {
  const found = await reddit.places(account)
  expect(found[0]).toMatchObject({ id: `u_${String(account.credential['username'])}`, kind: 'profile' })
  expect(found.map(({ id }) => id)).toEqual(expect.arrayContaining(['sandbox', 'flaired', 'linksonly', 'closed']))
  expect(found.find(({ id }) => id === 'closed')).toMatchObject({ name: 'r/closed', privacy: 'private' })
})

describe('publishing', () => {
  test('a text', async () => {
    const post = await publish('A title', { text: 'The *body*', options: { subreddit: 'r/Sandbox' } })
    expect(posts().at(-1)).toMatchObject({ id: post.id, text: 'r/sandbox: A title\nThe *body*' })
    expect(post.url).toMatch(/^https:\/\/www\.reddit\.com\/r\/sandbox\/comments\//)
  })

  test('a text on the own profile', async () => {
    const name = `u_${String(account.credential['username'])}`
    await publish('Mine', { options: { subreddit: name } })
    expect(posts().at(-1)?.text).toBe(`r/${name}: Mine`)
  })

  test('a link', async () => {
    await publish('Read this', { link: 'https://example.com/a', options: { subreddit: 'linksonly' } })
    expect(posts().at(-1)?.text).toBe('r/linksonly: Read this\nhttps://example.com/a')
  })

  test('an image, which appears after a while', async () => {
    const post = await publish('An image', { media: [image()] })
    expect(posts().at(-1)).toMatchObject({ id: post.id, media: ['image/png'] })
  })

  test('a gallery with captions', async () => {
    const post = await publish('A gallery', { media: [image(), image('image/jpeg')] })
    expect(posts().at(-1)).toMatchObject({ id: post.id, media: ['image/png', 'image/jpeg'] })
  })

  test('a video with a poster', async () => {
    const post = await publish('A video', { media: [peer.file({ kind: 'video', type: 'video/mp4' })] })
    expect(posts().at(-1)).toMatchObject({ id: post.id, media: ['video/mp4'] })
    expect(Object.values(state().assets).map(({ type }) => type)).toContain('image/png')
  })

  test('a lease that has expired is asked for again', async () => {
    const part = draft('Late', { media: [image()] })
    let step = publishing.start(part, account)
    while (step.step !== 'upload') {
      const result = await publishing.step(account, part, step)
      if (result.kind === 'next') step = result.state
    }
    peer.clock.advance(3_600_000)
    const later = peer.as({ ...account.credential, ...(await reddit.oauth.refresh(account)) }, account.remoteId)
    await peer.publish(later, part, step)
    expect(posts().at(-1)?.media).toEqual(['image/png'])
  })

  test('a thread of comments and a first comment', async () => {
    const root = await publish('First')
    const reply = await publish('', { text: 'Second', role: 'reply', root, parent: root })
    const comment = await publish('', { text: 'Third', role: 'comment', root, parent: reply })
    expect(posts().at(-2)).toMatchObject({ id: reply.id, replyTo: root.id, text: 'Second' })
    expect(posts().at(-1)).toMatchObject({ id: comment.id, replyTo: reply.id })
  })
})

describe('a lost reply', () => {
  test.each(['text', 'image', 'comment'])('of a post with %s leads to one post', async (kind) => {
    const parent = kind === 'comment' ? await publish('A question') : undefined
    const part =
      parent === undefined
        ? draft(`Lost ${kind}`, { text: 'See https://example.com & <this>', media: kind === 'image' ? [image()] : [] })
        : draft('', { text: 'An answer', role: 'reply', parent, root: parent })
    const before = await peer.prepare(account, part)
    expect(await publishing.reconcile?.(account, part, before)).toEqual({ kind: 'absent' })
    const path = kind === 'comment' ? '/api/comment' : '/api/submit'
    peer.running.faults.add({ path, method: 'POST', kind: 'cut', times: 1 })
    await expect(publishing.step(account, part, before)).rejects.toMatchObject({
      kind: 'network',
      mayHaveHappened: true,
    })
    const asked = async () => publishing.reconcile?.(account, part, before)
    let found = await asked()
    for (let read = 0; found?.kind === 'absent' && read < 3; read += 1) found = await asked()
    expect(found).toMatchObject({ kind: 'published', post: { id: posts().at(-1)?.id } })
  })
})

describe('what a subreddit requires', () => {
  test.each([
    ['flaired', 'A long enough title', {}, { code: 'SUBMIT_VALIDATION_FLAIR_REQUIRED', detail: /News \(7f6a52de/ }],
    ['flaired', 'Short', { options: { flair_id: NEWS } }, { code: 'post_requirements', detail: /at least 10 char/ }],
    ['linksonly', 'Text', { text: 'Not here' }, { code: 'post_requirements', detail: /no text/ }],
    ['linksonly', 'Blocked', { link: 'https://www.blocked.example' }, { detail: /domain/ }],
    ['textsonly', 'Empty', {}, { code: 'post_requirements', detail: /need a text/ }],
    ['textsonly', 'Link', { link: 'https://example.com' }, { code: 'NO_LINKS' }],
    ['nowhere', 'Missing', {}, { code: 'SUBREDDIT_NOEXIST' }],
  ])(
    'r/%s refuses “%s”',
    async (subreddit, title, more: Draft, { detail, ...error }: { code?: string; detail?: RegExp }) => {
      await fail(title, { ...more, options: { ...more?.options, subreddit } })({
        kind: 'validation',
        mayHaveHappened: false,
        ...error,
        ...(detail && { detail: expect.stringMatching(detail) as unknown }),
      })
    },
  )

  test('with a flair the post is taken', async () => {
    await publish('A long enough title', { options: { subreddit: 'flaired', flair_id: NEWS } })
  })

  test('a private subreddit', async () => {
    await fail('Private', { options: { subreddit: 'closed' } })({ kind: 'account_restricted', code: 'private' })
  })
})

describe('errors', () => {
  test('a title, a subreddit and a fitting set of files are needed', async () => {
    const video = peer.file({ kind: 'video', type: 'video/mp4' })
    await fail('')({ kind: 'validation', code: 'NO_TITLE' })
    await fail('No place', { options: { subreddit: '' } })({ kind: 'validation', code: 'SUBREDDIT_REQUIRED' })
    await fail('Mixed', { media: [image(), video] })({ kind: 'validation', code: 'mixed_media' })
    await fail('PDF', { media: [peer.file({ kind: 'document', type: 'application/pdf' })] })({ kind: 'unsupported' })
  })

  test('a file that the storage refuses', async () => {
    const large = peer.file({ kind: 'image', type: 'image/png' }, Buffer.alloc(20_000_001))
    await fail('Large', { media: [large] })({ kind: 'media_processing', code: 'EntityTooLarge' })
    await fail('Unknown type', { media: [image('image/bmp')] })({ kind: 'validation', code: 'BAD_MIME_TYPE' })
  })

  test('a break that Reddit asks for is inside of a reply', async () => {
    state().users[account.remoteId]!.cooldownUntil = peer.clock.now() + 540_000
    await fail('Too fast')({ kind: 'rate_limited', retryAfter: 540, code: 'RATELIMIT', mayHaveHappened: false })
  })

  test.each([
    [
      { status: 429, retryAfter: 30 },
      { kind: 'rate_limited', retryAfter: 30 },
    ],
    [{ status: 429 }, { kind: 'rate_limited', retryAfter: undefined }],
    [{ status: 500 }, { kind: 'server_error', mayHaveHappened: true }],
    [{ status: 403 }, { kind: 'account_restricted' }],
  ])('%j is %j', async (reply, error) => {
    peer.running.faults.add({ path: '/api/submit', method: 'POST', kind: 'status', times: 1, ...reply })
    await fail('Refused')(error)
  })

  const form = (code: string, message = 'why') => {
    const json = { json: { errors: [[code, message, 'sr']] } }
    return reddit.reader.errorOf(
      { target: 'POST /api/submit', status: 200, json, headers: {}, bytes: Buffer.alloc(0) },
      0,
    )
  }
  test.each([
    ['ALREADY_SUB', 'duplicate_content'],
    ['QUOTA_FILLED', 'quota_exhausted'],
    ['USER_REQUIRED', 'auth_expired'],
    ['SUBREDDIT_NOTALLOWED', 'account_restricted'],
    ['DOMAIN_BANNED', 'policy_rejected'],
    ['BAD_VIDEO', 'media_processing'],
    ['THREAD_LOCKED', 'unsupported'],
    ['SOMETHING_NEW', 'validation'],
  ])('%s is %s', (code, kind) => {
    expect(form(code)).toMatchObject({ kind, code, detail: 'why (sr)' })
  })

  test('the wait is read from the message when there is no number beside it', () => {
    expect(form('RATELIMIT', 'Take a break for 9 minutes before trying again.')?.retryAfter).toBe(540)
    expect(form('RATELIMIT', 'Take a break.')?.retryAfter).toBeUndefined()
  })

  test('a client without a unique User-Agent is refused', async () => {
    const reply = await fetch(`${peer.running.url}/api/v1/me`, { headers: { 'User-Agent': 'curl/8' } })
    expect(reply.status).toBe(429)
  })
})

test('calls report the budget of the client', async () => {
  await publish('Budget')
  const { limit, name, remaining, resetsAt } = peer.budgets.at(-1)!
  expect({ name, limit }).toEqual({ name: 'client', limit: 1_000 })
  expect(remaining).toBeLessThan(1_000)
  expect(resetsAt).toBeGreaterThan(peer.clock.now())
})

test('a text is edited, figures are read, and a post is deleted twice without an error', async () => {
  const post = await publish('Edited', { text: 'Typo' })
  expect(await publishing.edit?.(account, post, draft('Edited', { text: 'No typo' }))).toEqual(post)
  expect(posts().at(-1)?.text).toBe('r/sandbox: Edited\nNo typo')
  expect(await publishing.insights?.(account, post)).toEqual({ likes: 1, comments: 0, shares: 0 })
  await publishing.remove?.(account, post)
  await publishing.remove?.(account, post)
  expect(posts().some(({ id }) => id === post.id)).toBe(false)
  await expect(publishing.insights?.(account, post)).rejects.toMatchObject({ kind: 'unsupported' })
})

test.each([
  ['server:id:v0.1 (by /u/ada)', 401],
  // PRAW, snoowrap and others add what they are.
  ['server:id:v0.1 (by /u/ada) PRAW/8.0.3 prawcore/4.0.0', 401],
  ['server:id:v0.1 by /u/ada (snoowrap)', 429],
  ['python-requests/2.34.2', 429],
])('a client with the User-Agent %s gets %i without a token', async (agent, status) => {
  const reply = await fetch(`${peer.running.url}/api/v1/me`, { headers: { 'User-Agent': agent } })
  expect(reply.status).toBe(status)
})
