import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { FakePlatform, partOf } from '../../../test/support/fake-platform.ts'
import type { Credential } from '../platform.ts'
import type { PostContent } from '../content.ts'
import type { PublishContext, PublishPart } from '../publishing.ts'
import { check } from '../rules/engine.ts'
import { effectiveLimits } from '../rules/limits.ts'
import { tiktok } from './index.ts'
import { publishing } from './publishing.ts'
import { reader } from './replies.ts'

let peer: FakePlatform
let account: PublishContext

beforeAll(async () => {
  peer = await FakePlatform.start(tiktok)
})
afterAll(() => peer.stop())
beforeEach(async () => {
  Object.assign(stateOf(), { audited: true, verifiedDomains: null, failNext: null })
  account = await peer.connect()
})

const MIB = 1_048_576
const PUBLIC = { privacy_level: 'PUBLIC_TO_EVERYONE' }
const posts = () => peer.running.fake.posts()
const stateOf = () => peer.running.fake.state as Record<string, unknown>

function video(text: string, more: Partial<PublishPart> = {}, bytes = 1_000): PublishPart {
  const media = [peer.file({ kind: 'video', type: 'video/mp4' }, Buffer.alloc(bytes, 7))]
  return partOf(text, { media, options: PUBLIC, ...more })
}

function photos(text: string, more: Partial<PublishPart> = {}): PublishPart {
  const media = [peer.file({ kind: 'image', type: 'image/jpeg' }), peer.file({ kind: 'image', type: 'image/webp' })]
  return partOf(text, { media, options: PUBLIC, ...more })
}

describe('access', () => {
  test('a sign-in returns the profile, and tokens with their lives', async () => {
    const { credential, profile, scopes } = await peer.signIn({ account: 'ada' })
    expect(profile).toMatchObject({ name: 'ada', handle: 'ada', url: 'https://www.tiktok.com/@ada', kind: 'creator' })
    expect(scopes).toEqual(tiktok.oauth.scopes)
    const now = peer.clock.now()
    expect(credential).toMatchObject({
      username: 'ada',
      expiresAt: now + 2 * 3_600_000,
      refreshExpiresAt: now + 180 * 86_400_000,
    })
    const again = await peer.signIn({ account: 'ada' })
    expect(again.profile.remoteId).toBe(profile.remoteId)
  })

  test('a denied scope is missing from the grant and ends calls that need it', async () => {
    const { credential, profile, scopes } = await peer.signIn({ without: ['video.publish', 'user.info.profile'] })
    expect(scopes).toEqual(['user.info.basic', 'video.upload', 'video.list'])
    expect(profile.handle).toBeNull()
    await expect(peer.publish(peer.as(credential), video('No'))).rejects.toMatchObject({ kind: 'scope_missing' })
  })

  test('a refresh replaces both tokens, and a spent one ends the grant', async () => {
    const fresh = (await tiktok.oauth.refresh?.(account)) as Credential
    expect(fresh.refreshToken).not.toBe(account.credential.refreshToken)
    await tiktok.profile(peer.as(fresh))
    await expect(tiktok.oauth.refresh?.(account)).rejects.toMatchObject({ kind: 'auth_expired', code: 'invalid_grant' })
    await expect(tiktok.profile(peer.as(fresh))).rejects.toMatchObject({ kind: 'auth_expired' })
  })

  test('an account without a refresh token has to be connected again', async () => {
    const { refreshToken: _, ...credential } = account.credential
    await expect(tiktok.oauth.refresh?.(peer.as(credential))).rejects.toMatchObject({ kind: 'auth_expired' })
  })

  test('an access token ends after two hours', async () => {
    peer.clock.advance(2 * 3_600_000)
    await expect(tiktok.profile(account)).rejects.toMatchObject({ kind: 'auth_expired', code: 'access_token_invalid' })
  })

  test('a grant is revoked twice without an error', async () => {
    await tiktok.revoke?.(account)
    await tiktok.revoke?.(account)
    await expect(tiktok.profile(account)).rejects.toMatchObject({ kind: 'auth_expired' })
  })

  test('the capabilities are those of the creator', async () => {
    const live = await tiktok.capabilities?.(account)
    expect(live).toMatchObject({ limits: { 'video.maxSeconds': 300 }, blocked: {} })
    expect(live?.details['privacy_level_options']).toContain('PUBLIC_TO_EVERYONE')
    stateOf()['audited'] = false
    const unaudited = await tiktok.capabilities?.(account)
    expect(unaudited?.details['privacy_level_options']).toEqual(['SELF_ONLY'])
    expect(Object.keys(unaudited?.blocked ?? {})).toEqual(['public'])
  })

  test('creator info is limited to 20 calls a minute', async () => {
    for (let count = 0; count < 20; count += 1) await tiktok.capabilities?.(account)
    const refused = { kind: 'rate_limited', code: 'rate_limit_exceeded', retryAfter: 60 }
    await expect(tiktok.capabilities?.(account)).rejects.toMatchObject(refused)
    peer.clock.advance(60_000)
    await tiktok.capabilities?.(account)
  })
})

describe('publishing', () => {
  test('a draft of a video goes to the inbox of the account, and the post says so', async () => {
    const part = video('Left out', { options: { mode: 'draft' } }, 11 * MIB)
    const from = peer.running.requests.length
    const state = await peer.prepare(account, part)
    expect(await publishing.reconcile?.(account, part, state)).toEqual({ kind: 'absent' })
    const post = await peer.publish(account, part, state)
    expect(post).toMatchObject({ url: null, note: { code: 'in_inbox', nextStep: expect.any(String) as string } })
    expect(posts().at(-1)).toMatchObject({ text: 'Draft in the inbox: ', media: ['video/mp4'] })
    const sent = { ...state, publishId: post.id }
    expect(await publishing.reconcile?.(account, part, sent)).toEqual({ kind: 'published', post })
    expect(peer.running.requests.slice(from)).not.toContain('POST /v2/post/publish/video/init/')
  })

  test('a draft of photos has its text, and an outcome that nobody can look up', async () => {
    const part = photos('A description', { title: 'A title', options: { mode: 'draft', photo_cover_index: 1 } })
    const post = await peer.publish(account, part)
    expect(post.note?.code).toBe('in_inbox')
    expect(posts().at(-1)).toMatchObject({ text: 'Draft in the inbox: A description' })
    const start = publishing.start(part, account)
    expect(await publishing.reconcile?.(account, part, start)).toMatchObject({ kind: 'unknown' })
  })

  test('drafts have a scope and a limit of their own', async () => {
    const { credential } = await peer.signIn({ without: ['video.upload'] })
    const draft = (text: string) => photos(text, { options: { mode: 'draft' } })
    const without = peer.as(credential)
    await expect(peer.publish(without, draft('No'))).rejects.toMatchObject({ kind: 'scope_missing' })
    const limits = effectiveLimits(tiktok, undefined, await tiktok.capabilities(without))
    const problems = check(tiktok, limits, draft('No')).filter(({ severity }) => severity === 'error')
    expect(problems).toMatchObject([{ pointer: '/options/mode' }])
    for (let count = 0; count < 5; count += 1) await peer.publish(account, draft(`Draft ${count}`))
    peer.clock.advance(60_000)
    await expect(peer.publish(account, draft('Sixth'))).rejects.toMatchObject({ kind: 'quota_exhausted' })
  })

  test('a draft needs no audience, and warns of what it leaves out', () => {
    const limits = effectiveLimits(tiktok)
    const content = { ...video('A text'), options: { mode: 'draft', disable_duet: true } }
    const found = (one: PostContent) => check(tiktok, limits, one).filter(({ rule }) => rule === 'content.refused')
    expect(found(content)).toMatchObject([
      { severity: 'warning', pointer: '/text' },
      { severity: 'warning', pointer: '/options/disable_duet' },
    ])
    expect(found({ ...content, options: {} })).toMatchObject([{ severity: 'error', pointer: '/options/privacy_level' }])
  })

  test('a video is sent in chunks, in order, and linked by its long id', async () => {
    const from = peer.running.requests.length
    const post = await peer.publish(account, video('Three chunks', {}, 31 * MIB + 5))
    expect(peer.running.requests.slice(from).filter((line) => line.startsWith('PUT'))).toHaveLength(3)
    expect(posts().at(-1)).toMatchObject({ id: post.id, text: 'Three chunks', media: ['video/mp4'] })
    expect(post.id).toHaveLength(19)
    expect(post.url).toBe(`https://www.tiktok.com/@${String(account.credential['username'])}/video/${post.id}`)
  })

  test('photos are fetched by TikTok', async () => {
    const post = await peer.publish(account, photos('Two photos', { title: 'Photos' }))
    expect(posts().at(-1)).toMatchObject({ id: post.id, text: 'Two photos' })
    expect(posts().at(-1)?.media[0]).toMatch(/^https:\/\/media\.example\/file-/)
    expect(post.url).toContain('/photo/')
  })

  test('photos from a domain that is not verified are a matter for the operator', async () => {
    stateOf()['verifiedDomains'] = ['other.example']
    await expect(peer.publish(account, photos('Refused'))).rejects.toMatchObject({
      kind: 'app_misconfigured',
      code: 'url_ownership_unverified',
      detail: expect.stringContaining('Verify its domain') as string,
    })
  })

  test('a private post is known by the id of its publication', async () => {
    stateOf()['audited'] = false
    await expect(peer.publish(account, video('Public'))).rejects.toMatchObject({ kind: 'app_misconfigured' })
    const post = await peer.publish(account, video('Private', { options: { privacy_level: 'SELF_ONLY' } }))
    expect(post).toMatchObject({ url: null, ids: { publishId: post.id } })
  })

  test('a cut in the middle continues at the same chunk', async () => {
    const part = video('Cut', {}, 31 * MIB)
    let state = tiktok.publishing.start(part, account)
    const step = async () => {
      const result = await tiktok.publishing.step(account, part, state)
      if (result.kind === 'next') ({ state } = result)
    }
    await step()
    await step()
    // TikTok has stored the second chunk, but its reply is lost: the session refuses the repetition.
    peer.running.faults.add({ path: '/upload/', kind: 'cut', times: 1 })
    await expect(step()).rejects.toMatchObject({ kind: 'network' })
    await step()
    expect(state).toMatchObject({ step: 'upload', chunk: 2 })
    const post = await peer.publish(account, part, state)
    expect(posts().filter(({ text }) => text === 'Cut')).toMatchObject([{ id: post.id }])
  })

  test('an upload whose session is over starts again', async () => {
    const part = video('Late', {}, 1_000)
    const state = await peer.prepare(account, part)
    // As long as an access token.
    peer.clock.advance(2 * 3_600_000)
    const renewed = peer.as((await tiktok.oauth.refresh?.(account)) as Credential, account.remoteId)
    const post = await peer.publish(renewed, part, state)
    expect(posts().filter(({ text }) => text === 'Late')).toMatchObject([{ id: post.id }])
  })

  test('a last chunk whose reply was lost makes one post', async () => {
    const part = video('Once', {}, 1_000)
    const state = await peer.prepare(account, part)
    expect(await tiktok.publishing.reconcile?.(account, part, state)).toEqual({ kind: 'absent' })
    peer.running.faults.add({ path: '/upload/', kind: 'cut', times: 1 })
    await expect(peer.publish(account, part, state)).rejects.toMatchObject({ kind: 'network', mayHaveHappened: true })
    // TikTok still processes it. If the step is repeated nevertheless, the session recognizes that.
    expect(await tiktok.publishing.reconcile?.(account, part, state)).toEqual({ kind: 'pending' })
    const post = await peer.publish(account, part, state)
    expect(await tiktok.publishing.reconcile?.(account, part, state)).toEqual({ kind: 'published', post })
    expect(posts().filter(({ text }) => text === 'Once')).toMatchObject([{ id: post.id }])
  })

  test('photos whose reply was lost are found when they are public, and unknown otherwise', async () => {
    const part = photos('Lost photos', { createdAt: peer.clock.now() })
    const state = await peer.prepare(account, part)
    expect(await tiktok.publishing.reconcile?.(account, part, state)).toMatchObject({ kind: 'unknown' })
    peer.running.faults.add({ path: '/content/init/', kind: 'cut', times: 1 })
    await expect(peer.publish(account, part, state)).rejects.toMatchObject({ kind: 'network' })
    expect(await tiktok.publishing.reconcile?.(account, part, state)).toMatchObject({
      kind: 'published',
      post: { id: posts().at(-1)?.id },
    })
  })

  test.each([
    ['frame_rate_check_failed', 'media_processing'],
    ['spam_risk', 'policy_rejected'],
    ['spam_risk_user_banned_from_posting', 'account_restricted'],
    ['auth_removed', 'auth_expired'],
    ['internal', 'server_error'],
    ['something_new', 'unknown'],
  ])('a publication that failed with %s is %s', async (code, kind) => {
    stateOf()['failNext'] = code
    await expect(peer.publish(account, video('Fails'))).rejects.toMatchObject({ kind, code, mayHaveHappened: false })
  })

  test('a seventh publication in a minute waits', async () => {
    const part = video('Six', { options: { privacy_level: 'PUBLIC_TO_EVERYONE' } })
    for (let count = 0; count < 6; count += 1) await peer.prepare(account, part)
    await expect(peer.prepare(account, part)).rejects.toMatchObject({ kind: 'rate_limited', retryAfter: 60 })
    peer.running.faults.add({ path: '/video/init/', kind: 'status', status: 429, retryAfter: 7, times: 1 })
    await expect(peer.prepare(account, part)).rejects.toMatchObject({ kind: 'rate_limited', retryAfter: 7 })
  })

  test('the cap of a day is a quota', async () => {
    for (let count = 0; count < 15; count += 1) {
      await peer.publish(account, video(`Post ${count}`))
      peer.clock.advance(30_000)
    }
    await expect(peer.publish(account, video('Too many'))).rejects.toMatchObject({ kind: 'quota_exhausted' })
  })

  test('a post without media, without a choice of who sees it, and a reply are refused before any call', async () => {
    const from = peer.running.requests.length
    await expect(peer.publish(account, partOf('Text'))).rejects.toMatchObject({ kind: 'validation' })
    await expect(peer.publish(account, video('No choice', { options: {} }))).rejects.toMatchObject({
      kind: 'validation',
      code: 'privacy_level',
    })
    await expect(peer.publish(account, video('Reply', { role: 'reply' }))).rejects.toMatchObject({
      kind: 'unsupported',
    })
    expect(peer.running.requests).toHaveLength(from)
  })

  test('a caption is counted in UTF-16', async () => {
    await peer.publish(account, video('😀'.repeat(1_100)))
    await expect(peer.publish(account, video('😀'.repeat(1_101)))).rejects.toMatchObject({ kind: 'validation' })
  })

  test('figures of a public post are read', async () => {
    const post = await peer.publish(account, video('Figures'))
    expect(await tiktok.publishing.insights?.(account, post)).toEqual({ views: 0, likes: 0, comments: 0, shares: 0 })
    expect(await tiktok.publishing.insights?.(account, { id: '1', url: null })).toEqual({})
  })

  test('no token of an upload is logged', async () => {
    await peer.publish(account, video('Secret'))
    const logged = peer.calls.filter(({ url }) => url.includes('/upload/')).map(({ url }) => url)
    expect(logged.at(-1)).toMatch(/upload_token=(?:\*|\[|%5B)/)
  })
})

test('an error with status 200 is an error', () => {
  const reply = (status: number, json: unknown) => reader.errorOf({ status, headers: {}, bytes: Buffer.alloc(0), json })
  expect(reply(200, { error: { code: 'ok', message: '', log_id: '1' } })).toBeUndefined()
  expect(reply(200, { error: { code: 'spam_risk', message: 'Risky', log_id: '1' } })).toMatchObject({
    kind: 'policy_rejected',
    detail: 'Risky',
  })
  expect(
    reply(200, { error: 'invalid_client', error_description: 'Client key or secret is incorrect.' }),
  ).toMatchObject({
    kind: 'app_misconfigured',
  })
  expect(reply(502, undefined)).toMatchObject({ kind: 'server_error' })
})
