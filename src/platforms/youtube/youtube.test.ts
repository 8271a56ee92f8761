import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { FakePlatform, partOf } from '../../../test/support/fake-platform.ts'
import type { Credential } from '../platform.ts'
import { PlatformError } from '../error-kinds.ts'
import type { PublishContext, PublishPart, PublishState } from '../publishing.ts'
import { check } from '../rules/engine.ts'
import { effectiveLimits } from '../rules/limits.ts'
import { youtube } from './index.ts'
import { reader } from './replies.ts'

let peer: FakePlatform
let account: PublishContext

const { publishing } = youtube
const SCOPE = 'https://www.googleapis.com/auth/youtube'
const PIECE = 8_388_608
const DAY_MS = 86_400_000

beforeAll(async () => {
  peer = await FakePlatform.start(youtube)
})
afterAll(() => peer.stop())
beforeEach(async () => {
  const usual = { audited: true, phoneVerified: true, channelLimit: 100, rejectNext: null, testing: false }
  Object.assign(stateOf(), usual)
  account = await peer.connect()
})

const posts = () => peer.running.fake.posts()
const titled = (title: string) => posts().filter(({ text }) => text === title)
const stateOf = () => peer.running.fake.state as Record<string, unknown>
const videos = () => stateOf()['videos'] as Record<string, unknown>[]

function video(title: string, more: Partial<PublishPart> = {}, bytes = 1_000): PublishPart {
  const media = [peer.file({ kind: 'video', type: 'video/mp4' }, Buffer.alloc(bytes, 7))]
  return partOf('Description', { title, media, createdAt: peer.clock.now(), ...more })
}

describe('access', () => {
  test('the consent page is asked for offline access', async () => {
    const request = { state: 's', redirectUri: 'http://127.0.0.1/callback', codeVerifier: 'v'.repeat(64) }
    const { url } = await youtube.oauth.authorize(peer.context, request)
    expect(Object.fromEntries(new URL(url).searchParams)).toMatchObject({
      access_type: 'offline',
      prompt: 'consent',
      include_granted_scopes: 'true',
      code_challenge_method: 'S256',
    })
    const settings = { ...peer.context.settings, authUrl: youtube.defaults.authUrl }
    expect((await youtube.oauth.authorize({ ...peer.context, settings }, request)).url).toMatch(
      /^https:\/\/accounts\.google\.com\/o\/oauth2\/v2\/auth\?/,
    )
  })

  test('a sign-in returns the channel', async () => {
    const { credential, profile, scopes } = await peer.signIn({ account: 'ada' })
    expect(profile).toMatchObject({ name: 'ada', handle: 'ada', kind: 'channel' })
    expect(profile.url).toBe(`https://www.youtube.com/channel/${profile.remoteId}`)
    expect(scopes).toEqual(youtube.oauth.scopes)
    expect(credential).toMatchObject({ expiresAt: peer.clock.now() + 3_600_000 })
    expect(credential.refreshToken).toBeDefined()
    expect((await peer.signIn({ account: 'ada' })).profile.remoteId).toBe(profile.remoteId)
  })

  test('a Google account without a channel is told to create one', async () => {
    await expect(peer.signIn({ account: 'without_channel' })).rejects.toMatchObject({
      kind: 'account_restricted',
      code: 'no_channel',
      detail: expect.stringContaining('create_channel') as string,
    })
  })

  test('a scope that the user denied ends calls that need it', async () => {
    const { credential, profile } = await peer.signIn({ account: 'bob', without: [`${SCOPE}.force-ssl`] })
    const context = peer.as(credential, profile.remoteId)
    const post = await peer.publish(context, video('Only an upload'))
    await expect(publishing.remove?.(context, post)).rejects.toMatchObject({ kind: 'scope_missing' })
  })

  test('a refresh leaves the refresh token as it is', async () => {
    const fresh = (await youtube.oauth.refresh?.(account)) as Credential
    expect(fresh.accessToken).not.toBe(account.credential.accessToken)
    // Not returned, so that the old one is kept.
    expect(fresh).not.toHaveProperty('refreshToken')
    await youtube.oauth.refresh?.(account)
    await youtube.profile(peer.as(fresh))
  })

  test('the grant of an app in testing ends after 7 days', async () => {
    stateOf()['testing'] = true
    const { credential } = await peer.signIn({ account: 'carl' })
    const context = peer.as(credential)
    peer.clock.advance(7 * DAY_MS - 1)
    await youtube.oauth.refresh?.(context)
    peer.clock.advance(1)
    await expect(youtube.oauth.refresh?.(context)).rejects.toMatchObject({
      kind: 'auth_expired',
      code: 'invalid_grant',
      detail: expect.stringContaining('in testing ends after 7 days') as string,
    })
  })

  test('a grant is revoked twice without an error', async () => {
    await youtube.revoke(account)
    await youtube.revoke(account)
    await expect(youtube.profile(account)).rejects.toMatchObject({ kind: 'auth_expired', code: 'authError' })
  })

  test('capabilities name the length of videos, and what an audit changes', async () => {
    expect(await youtube.capabilities(account)).toMatchObject({
      limits: {},
      blocked: {},
      details: { longUploadsStatus: 'allowed', appAudit: expect.stringContaining('stay private') as string },
    })
    stateOf()['phoneVerified'] = false
    const live = await youtube.capabilities(account)
    expect(live.limits).toEqual({ 'video.maxSeconds': 900 })
    expect(Object.keys(live.blocked)).toEqual(['longVideos'])
  })
})

describe('publishing', () => {
  test('a video is sent in pieces, with its metadata and its thumbnail', async () => {
    const from = peer.running.requests.length
    const part = video('Pieces', { tags: ['one', 'two words'], options: { privacyStatus: 'unlisted' } }, 2 * PIECE + 5)
    const image = peer.file({ kind: 'image', type: 'image/png' })
    const post = await peer.publish(account, { ...part, media: [...part.media, image] })
    expect(peer.running.requests.slice(from).filter((line) => line.startsWith('PUT'))).toHaveLength(3)
    expect(titled('Pieces')).toMatchObject([{ id: post.id, media: ['video/mp4', 'image/png'] }])
    expect(videos().at(-1)).toMatchObject({
      description: 'Description',
      tags: ['one', 'two words'],
      privacyStatus: 'unlisted',
      categoryId: '22',
    })
    expect(post).toEqual({ id: post.id, url: `https://www.youtube.com/watch?v=${post.id}` })
  })

  test('a refused thumbnail does not take the video back, and is reported', async () => {
    stateOf()['phoneVerified'] = false
    const part = video('Plain')
    const post = await peer.publish(account, {
      ...part,
      media: [...part.media, peer.file({ kind: 'image', type: 'image/png' })],
    })
    expect(titled('Plain')).toMatchObject([{ id: post.id, media: ['video/mp4'] }])
    expect(post.ids?.['thumbnailRefused']).toContain('permissions')
  })

  const playlistItems = (id: string) => {
    const lists = stateOf()['playlists'] as Record<string, { items: { video: string }[] }>
    return lists[id]?.items.map((item) => item.video)
  }

  test('a video is added once to a playlist that the channel has', async () => {
    const { choices = {} } = await youtube.capabilities(account)
    const [choice] = choices['playlistId'] ?? []
    expect(choice?.title).toBe('Sandbox playlist')
    const playlistId = choice?.value ?? ''
    const part = video('In a playlist', { options: { playlistId } })
    // The reply to the call that adds it is lost, and the step is repeated.
    peer.running.faults.add({ path: '/youtube/v3/playlistItems', method: 'POST', kind: 'cut', times: 1 })
    const states: PublishState[] = []
    let state = publishing.start(part, account)
    const post = await (async () => {
      for (;;) {
        const result = await publishing.step(account, part, state).catch((error: unknown) => error as PlatformError)
        if (result instanceof PlatformError) expect([state.step, result.kind]).toEqual(['playlist', 'network'])
        else if (result.kind === 'published') return result.post
        else states.push((state = result.state))
      }
    })()
    expect(playlistItems(playlistId)).toEqual([post.id])
    expect(states.map(({ step }) => step)).toContain('playlist')
    expect(post.ids).toBeUndefined()
  })

  test('a playlist that refuses the video does not take it back, and is reported', async () => {
    const part = video('Without a playlist', { options: { playlistId: 'PLunknownunknown' } })
    const post = await peer.publish(account, part)
    expect(post.ids).toEqual({ playlistRefused: 'The playlist cannot be found.' })
    expect(titled('Without a playlist')).toHaveLength(1)
  })

  test('the fake takes a video with its metadata in one request, as small clients send it', async () => {
    const metadata = { snippet: { title: 'In one request' }, status: { privacyStatus: 'unlisted' } }
    const send = (parts: readonly string[], type = 'multipart/related; boundary="b"') =>
      fetch(`${peer.running.url}/upload/youtube/v3/videos?uploadType=multipart&part=snippet&part=status`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${account.credential.accessToken}`, 'Content-Type': type },
        body: parts.map((part) => `--b\r\n${part}\r\n`).join('') + '--b--',
      })
    const json = `Content-Type: application/json\r\n\r\n${JSON.stringify(metadata)}`
    const file = 'Content-Type: video/mp4\r\n\r\nbytes'
    const reply = await send([json, file])
    // A parameter can be repeated in place of a list.
    expect(await reply.json()).toMatchObject({
      snippet: { title: 'In one request' },
      status: { privacyStatus: 'unlisted' },
    })
    expect(titled('In one request')).toMatchObject([{ media: ['video/mp4'] }])
    expect((await send([json])).status).toBe(400)
    expect((await send(['Content-Type: application/json\r\n\r\n{', file])).status).toBe(400)
    expect((await send([json, file.replace('video/mp4', 'text/plain')])).status).toBe(400)
  })

  test('an app without an audit publishes in private', async () => {
    stateOf()['audited'] = false
    await peer.publish(account, video('Locked'))
    expect(videos().at(-1)).toMatchObject({ privacyStatus: 'private' })
  })

  test('a piece whose reply was lost is not sent again', async () => {
    const part = video('Cut', {}, 2 * PIECE)
    const result = await publishing.step(account, part, publishing.start(part, account))
    const state = result.kind === 'next' ? result.state : undefined
    expect(publishing.commits(state!)).toBe(false)
    peer.running.faults.add({ path: '/upload/', method: 'PUT', kind: 'cut', times: 1 })
    await expect(publishing.step(account, part, state!)).rejects.toMatchObject({ kind: 'network' })
    const next = await publishing.step(account, part, state!)
    expect(next).toMatchObject({ kind: 'next', state: { step: 'upload', offset: PIECE, isLast: true } })
    const post = await peer.publish(account, part, state)
    expect(titled('Cut')).toMatchObject([{ id: post.id }])
  })

  test('a last piece whose reply was lost makes one video', async () => {
    const part = video('Once')
    expect(await publishing.reconcile?.(account, part, publishing.start(part, account))).toEqual({ kind: 'absent' })
    const state = await peer.prepare(account, part)
    expect(await publishing.reconcile?.(account, part, state)).toEqual({ kind: 'absent' })
    peer.running.faults.add({ path: '/upload/', method: 'PUT', kind: 'cut', times: 1 })
    await expect(peer.publish(account, part, state)).rejects.toMatchObject({ kind: 'network', mayHaveHappened: true })
    const found = await publishing.reconcile?.(account, part, state)
    expect(found).toMatchObject({ kind: 'published', post: { id: titled('Once')[0]?.id } })
    const post = await peer.publish(account, part, state)
    expect(titled('Once')).toMatchObject([{ id: post.id }])
  })

  test('when its upload session has expired, a video is found by its title or uploaded again', async () => {
    const part = video('Late')
    const state = await peer.prepare(account, part)
    peer.clock.advance(8 * DAY_MS)
    account = peer.as((await youtube.oauth.refresh?.(account)) as Credential, account.remoteId)
    expect(await publishing.reconcile?.(account, part, state)).toEqual({ kind: 'absent' })
    const post = await peer.publish(account, part, state)
    expect(await publishing.reconcile?.(account, part, state)).toEqual({ kind: 'published', post })
    expect(await peer.publish(account, part, state)).toEqual(post)
    expect(titled('Late')).toHaveLength(1)
  })

  test.each([
    ['codec', 'media_processing'],
    ['duplicate', 'duplicate_content'],
    ['uploaderAccountSuspended', 'account_restricted'],
    ['termsOfUse', 'policy_rejected'],
  ])('a video that is rejected for %s is %s', async (code, kind) => {
    stateOf()['rejectNext'] = code
    await expect(peer.publish(account, video('Rejected'))).rejects.toMatchObject({ kind, code, mayHaveHappened: false })
  })

  test('waiting for a long processing ends, because the video is visible', async () => {
    const part = video('Long')
    const state = await peer.prepare(account, part)
    const sent = await publishing.step(account, part, state)
    Object.assign(videos().at(-1)!, { pending: 1_000 })
    const start = peer.clock.now()
    const post = await peer.publish(account, part, sent.kind === 'next' ? sent.state : undefined)
    expect(post.id).toBe(titled('Long')[0]?.id)
    expect(peer.clock.now() - start).toBe(300_000)
  })

  test('a first comment is published once, edited and deleted', async () => {
    const parent = await peer.publish(account, video('Commented'))
    const part = partOf('First!', { role: 'comment', parent, root: parent, createdAt: peer.clock.now() })
    const state = await peer.prepare(account, part)
    expect(await publishing.reconcile?.(account, part, state)).toEqual({ kind: 'absent' })
    peer.running.faults.add({ path: '/commentThreads', method: 'POST', kind: 'cut', times: 1 })
    await expect(peer.publish(account, part, state)).rejects.toMatchObject({ kind: 'network', mayHaveHappened: true })
    const found = await publishing.reconcile?.(account, part, state)
    const comment = found?.kind === 'published' ? found.post : undefined
    expect(posts().at(-1)).toMatchObject({ id: comment?.id, text: 'First!', replyTo: parent.id })
    expect(await publishing.edit?.(account, comment!, partOf('Second'))).toEqual(comment)
    expect(posts().at(-1)?.text).toBe('Second')
    await publishing.remove?.(account, comment!)
    await publishing.remove?.(account, comment!)
    expect(posts().some(({ id }) => id === comment?.id)).toBe(false)
  })

  test('a video for children takes no comments', async () => {
    const parent = await peer.publish(account, video('Kids', { options: { selfDeclaredMadeForKids: true } }))
    const part = partOf('First!', { role: 'comment', parent, root: parent })
    await expect(peer.publish(account, part)).rejects.toMatchObject({ kind: 'unsupported', code: 'commentsDisabled' })
  })

  test('a video is edited, its figures are read, and it is deleted twice without an error', async () => {
    const post = await peer.publish(account, video('Typo', { tags: ['kept'] }))
    expect(await publishing.edit?.(account, post, partOf('Better', { title: 'No typo' }))).toEqual(post)
    expect(videos().at(-1)).toMatchObject({ title: 'No typo', description: 'Better', tags: ['kept'], categoryId: '22' })
    expect(await publishing.insights?.(account, post)).toEqual({ views: 0, likes: 0, comments: 0 })
    await publishing.remove?.(account, post)
    await publishing.remove?.(account, post)
    expect(titled('No typo')).toEqual([])
    await expect(publishing.edit?.(account, post, partOf('Gone'))).rejects.toMatchObject({ kind: 'unsupported' })
  })

  test('a description is counted in bytes, and a title in characters', async () => {
    await peer.publish(account, video('😀'.repeat(100), { text: 'é'.repeat(2_500) }))
    const refused = { kind: 'validation', code: 'invalidDescription', mayHaveHappened: false }
    await expect(peer.publish(account, video('Long', { text: 'é'.repeat(2_501) }))).rejects.toMatchObject(refused)
    await expect(peer.publish(account, video('x'.repeat(101)))).rejects.toMatchObject({ code: 'invalidTitle' })
    const tags = ['x'.repeat(499), 'y']
    await expect(peer.publish(account, video('Tags', { tags }))).rejects.toMatchObject({ code: 'invalidTags' })
  })

  test('a post without a video or title, and a thread, are refused before any call', async () => {
    const from = peer.running.requests.length
    await expect(peer.publish(account, partOf('Text', { title: 'Text' }))).rejects.toMatchObject({ kind: 'validation' })
    await expect(peer.publish(account, video(' '))).rejects.toMatchObject({
      kind: 'validation',
      code: 'title_required',
    })
    await expect(peer.publish(account, video('Re', { role: 'reply' }))).rejects.toMatchObject({ kind: 'unsupported' })
    expect(peer.running.requests).toHaveLength(from)
  })

  test('the rules ask for a video', () => {
    const image = peer.file({ kind: 'image', type: 'image/png' })
    const rulesOf = (media: PublishPart['media']) =>
      check(youtube, effectiveLimits(youtube), { text: '', title: 'Title', media, options: {} })
        .filter(({ severity }) => severity === 'error')
        .map(({ rule }) => rule)
    expect(rulesOf([image])).toEqual(['video.required'])
    expect(rulesOf([image, ...video('Title').media])).toEqual([])
  })

  test('limits of the channel and of the app are quotas, and throttles are rates', async () => {
    stateOf()['channelLimit'] = 0
    const limit = { kind: 'quota_exhausted', code: 'uploadLimitExceeded' }
    await expect(peer.publish(account, video('Limit'))).rejects.toMatchObject(limit)
    stateOf()['channelLimit'] = 100
    const one = await peer.publish(account, video('Last'))
    videos().push(...Array.from({ length: 99 }, () => ({ ...videos().at(-1), id: `copy of ${one.id}` })))
    const quota = { kind: 'quota_exhausted', code: 'quotaExceeded' }
    await expect(peer.publish(account, video('Too many'))).rejects.toMatchObject(quota)
    videos().length = 0
    peer.running.faults.add({ path: '/upload/', method: 'POST', kind: 'status', status: 429, retryAfter: 5, times: 1 })
    await expect(peer.publish(account, video('Wait'))).rejects.toMatchObject({ kind: 'rate_limited', retryAfter: 5 })
  })

  test('no session is logged', () => {
    const uploads = peer.calls.filter(({ method, url }) => method === 'PUT' && url.includes('/upload/'))
    const ids = Object.keys(stateOf()['sessions'] as object)
    expect(uploads.length).toBeGreaterThan(0)
    expect(uploads.filter(({ url }) => ids.some((id) => url.includes(id)))).toEqual([])
  })
})

test.each([
  [403, 'rateLimitExceeded', 'rate_limited'],
  [403, 'accountSuspended', 'account_restricted'],
  [403, 'accessNotConfigured', 'app_misconfigured'],
  [401, 'youtubeSignupRequired', 'account_restricted'],
  [404, 'videoNotFound', 'unsupported'],
  [400, 'somethingNew', 'validation'],
  [503, 'backendError', 'server_error'],
])('an error with status %i and reason %s is %s', (code, reason, kind) => {
  const json = { error: { code, message: 'No', errors: [{ reason, message: 'No' }] } }
  expect(reader.errorOf({ status: code, headers: {}, bytes: Buffer.alloc(0), json })).toMatchObject({
    kind,
    code: reason,
  })
})

test('errors of the token endpoint, and those with details, are known', () => {
  const kindOf = (status: number, json: unknown) =>
    reader.errorOf({ status, headers: {}, bytes: Buffer.alloc(0), json })?.kind
  expect(kindOf(401, { error: 'invalid_client' })).toBe('app_misconfigured')
  const details = [{ reason: 'ACCESS_TOKEN_SCOPE_INSUFFICIENT' }]
  const errors = [{ reason: 'forbidden' }]
  expect(kindOf(403, { error: { code: 403, status: 'PERMISSION_DENIED', errors, details } })).toBe('scope_missing')
  expect(kindOf(500, undefined)).toBe('server_error')
})
