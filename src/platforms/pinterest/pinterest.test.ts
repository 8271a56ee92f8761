import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { FakePlatform, partOf } from '../../../test/support/fake-platform.ts'
import type { Credential } from '../platform.ts'
import type { PublishContext, PublishPart } from '../publishing.ts'
import { pinterest } from './index.ts'
import { reader } from './replies.ts'

let peer: FakePlatform
let account: PublishContext
let board: string

const { publishing } = pinterest
const DAY_MS = 86_400_000

beforeAll(async () => {
  peer = await FakePlatform.start(pinterest)
})
afterAll(() => peer.stop())
beforeEach(async () => {
  Object.assign(stateOf(), { trial: false, mostPerMinute: 1_000 })
  account = await peer.connect()
  const [first] = await pinterest.places(account)
  board = first!.id
})

const posts = () => peer.running.fake.posts()
const withText = (text: string) => posts().filter((post) => post.text === text)
const stateOf = () => peer.running.fake.state as Record<string, unknown>
const image = (altText?: string) =>
  peer.file({ kind: 'image', type: 'image/png', ...(altText !== undefined && { altText }) })

function pin(text: string, more: Partial<PublishPart> = {}): PublishPart {
  return partOf(text, { media: [image()], options: { board_id: board }, createdAt: peer.clock.now(), ...more })
}

function video(text: string, more: Partial<PublishPart> = {}): PublishPart {
  return pin(text, { media: [peer.file({ kind: 'video', type: 'video/mp4' }, Buffer.alloc(100_000, 7))], ...more })
}

describe('access', () => {
  test('a sign-in returns the profile, and tokens with their lives', async () => {
    const { credential, profile, scopes } = await peer.signIn({ account: 'ada' })
    expect(profile).toMatchObject({
      name: 'ada',
      handle: 'ada',
      kind: 'business',
      url: 'https://www.pinterest.com/ada/',
    })
    expect(scopes).toEqual(pinterest.oauth.scopes)
    const now = peer.clock.now()
    expect(credential).toMatchObject({ expiresAt: now + 30 * DAY_MS, refreshExpiresAt: now + 60 * DAY_MS })
    expect((await peer.signIn({ account: 'ada' })).profile.remoteId).toBe(profile.remoteId)
  })

  test('a scope that the user denied ends calls that need it', async () => {
    const { credential } = await peer.signIn({ account: 'bob', without: ['pins:write'] })
    await expect(peer.publish(peer.as(credential), pin('No'))).rejects.toMatchObject({
      kind: 'scope_missing',
      code: '3',
    })
  })

  test('a refresh replaces both tokens and their lives, and a spent token ends the grant', async () => {
    peer.clock.advance(29 * DAY_MS)
    const fresh = (await pinterest.oauth.refresh?.(account)) as Credential
    expect(fresh.refreshToken).not.toBe(account.credential.refreshToken)
    expect(fresh.refreshExpiresAt).toBe(peer.clock.now() + 60 * DAY_MS)
    await pinterest.profile(peer.as(fresh))
    await expect(pinterest.oauth.refresh?.(account)).rejects.toMatchObject({ kind: 'auth_expired', code: '283' })
    await expect(pinterest.profile(peer.as(fresh))).rejects.toMatchObject({ kind: 'auth_expired', code: '2' })
  })

  test('a wrong secret of the app is a matter for the operator, not for the user', async () => {
    const settings = { ...account.settings, clientSecret: 'wrong' }
    await expect(pinterest.oauth.refresh?.({ ...account, settings })).rejects.toMatchObject({
      kind: 'app_misconfigured',
      code: '2',
    })
    await pinterest.oauth.refresh?.(account)
  })

  test('boards are listed page by page, and created', async () => {
    const boards = stateOf()['boards'] as object[]
    const copies = Array.from({ length: 300 }, (_, id) => ({ id: `7${id}`, owner: account.remoteId, name: `B${id}` }))
    boards.push(...copies.map((copy) => ({ ...copy, privacy: 'PUBLIC' })))
    expect(await pinterest.places(account)).toHaveLength(301)
    const created = await pinterest.createPlace(account, { name: 'Secret plans', privacy: 'SECRET' })
    expect(created).toMatchObject({ name: 'Secret plans', kind: 'board', privacy: 'SECRET' })
    await peer.publish(account, pin('In the new board', { options: { board_id: created.id } }))
    await expect(pinterest.createPlace(account, { name: 'Secret plans' })).rejects.toMatchObject({ kind: 'validation' })
  })

  test('an account without a board cannot publish', async () => {
    const choices = { board_id: expect.arrayContaining([{ value: expect.any(String), title: 'First board' }]) }
    expect(await pinterest.capabilities(account)).toEqual({ limits: {}, blocked: {}, choices, details: {} })
    const { credential } = await peer.signIn({ account: 'without_board' })
    const live = await pinterest.capabilities(peer.as(credential))
    expect(live.blocked['publish']).toContain('no board')
  })

  test('a server that uses the sandbox of Pinterest says so', async () => {
    const settings = { ...account.settings, apiUrl: account.settings.apiUrl.replace('127.0.0.1', 'sandbox.localhost') }
    const send = account.http.send.bind(account.http)
    const http = Object.assign(Object.create(account.http) as typeof account.http, {
      send: (request: Parameters<typeof send>[0]) =>
        send({ ...request, url: request.url.replace('sandbox.localhost', '127.0.0.1') }),
    })
    const live = await pinterest.capabilities({ ...account, settings, http })
    expect(live.details['sandbox']).toContain('only its author')
  })
})

describe('publishing', () => {
  test('one image, a carousel and a link are published', async () => {
    const part = pin('One', { title: 'Title', link: 'https://example.com/a', media: [image('A cat')] })
    const post = await peer.publish(account, part)
    expect(post.url).toBe(`https://www.pinterest.com/pin/${post.id}/`)
    expect(withText('Title\nOne')).toHaveLength(1)
    const pins = stateOf()['pins'] as Record<string, unknown>[]
    expect(pins.at(-1)).toMatchObject({ link: 'https://example.com/a', altText: 'A cat', board })
    await peer.publish(account, pin('Two', { media: [image(), image()] }))
    expect(withText('Two')[0]?.media).toHaveLength(2)
    const six = Array.from({ length: 6 }, () => image())
    await expect(peer.publish(account, pin('Six', { media: six }))).rejects.toMatchObject({ kind: 'validation' })
  })

  test('a video is uploaded, processed and published with its cover', async () => {
    const post = await peer.publish(account, video('Video'))
    expect(withText('Video')).toMatchObject([{ id: post.id, media: ['video/mp4'] }])
    const options = { board_id: board, cover_image_url: 'https://example.com/cover.png' }
    await peer.publish(account, video('With a cover', { options }))
    expect(withText('With a cover')).toHaveLength(1)
  })

  test('retries an upload whose reply was lost, and registers it again if the upload form has expired', async () => {
    const part = video('Again')
    const registered = await publishing.step(account, part, publishing.start(part, account))
    const state = registered.kind === 'next' ? registered.state : undefined
    peer.running.faults.add({ path: '/s3-upload/', kind: 'cut', times: 1 })
    await expect(publishing.step(account, part, state!)).rejects.toMatchObject({ kind: 'network' })
    peer.clock.advance(2 * 3_600_000)
    const post = await peer.publish(account, part, state)
    expect(withText('Again')).toMatchObject([{ id: post.id }])
  })

  test('a video that Pinterest could not process is a matter of the media', async () => {
    const media = [peer.file({ kind: 'video', type: 'application/x-broken' })]
    await expect(peer.publish(account, video('Broken', { media }))).rejects.toMatchObject({
      kind: 'media_processing',
      mayHaveHappened: false,
    })
  })

  test('no field of an upload is logged', async () => {
    const from = peer.calls.length
    await peer.publish(account, video('Secret'))
    expect(JSON.stringify(peer.calls.slice(from))).not.toMatch(/sig\d{6}/)
  })

  test('a Pin whose reply was lost is found on its board, and one that was never made is absent', async () => {
    const part = pin('Once', { title: 'T' })
    const state = await peer.prepare(account, part)
    expect(await publishing.reconcile?.(account, part, state)).toEqual({ kind: 'absent' })
    peer.running.faults.add({ path: '/v5/pins', method: 'POST', kind: 'cut', times: 1 })
    await expect(peer.publish(account, part, state)).rejects.toMatchObject({ kind: 'network', mayHaveHappened: true })
    expect(await publishing.reconcile?.(account, part, state)).toMatchObject({
      kind: 'published',
      post: { id: withText('T\nOnce')[0]?.id },
    })
    const later = { ...part, createdAt: peer.clock.now() + 3_600_000 }
    expect(await publishing.reconcile?.(account, later, state)).toEqual({ kind: 'absent' })
    expect(await publishing.reconcile?.(account, pin(''), state)).toMatchObject({ kind: 'unknown' })
  })

  test('reads the time of a Pin as UTC in any server time zone', async () => {
    const part = pin('In Tokyo')
    const post = await peer.publish(account, part)
    vi.stubEnv('TZ', 'Asia/Tokyo')
    try {
      const state = publishing.start(part, account)
      expect(await publishing.reconcile?.(account, part, state)).toEqual({ kind: 'published', post })
    } finally {
      vi.unstubAllEnvs()
    }
  })

  test('a Pin is edited, its figures are read, and it is deleted twice without an error', async () => {
    const post = await peer.publish(account, pin('Typo', { title: 'Kept' }))
    expect(await publishing.edit?.(account, post, partOf('No typo'))).toEqual(post)
    expect(withText('Kept\nNo typo')).toHaveLength(1)
    const figures = { views: 0, likes: 0, comments: 0, saves: 0, clicks: 0 }
    expect(await publishing.insights?.(account, post)).toEqual(figures)
    await publishing.remove?.(account, post)
    await publishing.remove?.(account, post)
    expect(withText('Kept\nNo typo')).toEqual([])
    await expect(publishing.edit?.(account, post, partOf('Gone'))).rejects.toMatchObject({ kind: 'unsupported' })
  })

  test('a refusal of code 29 is one of trial access only if it says so', () => {
    const errorOf = (message: string) =>
      reader.errorOf({ status: 403, headers: {}, bytes: Buffer.alloc(0), json: { code: 29, message } })
    expect(errorOf('You are not permitted to access that resource.')).toMatchObject({ kind: 'account_restricted' })
    expect(errorOf('Apps with Trial access may not create Pins')).toMatchObject({ kind: 'app_misconfigured' })
  })

  test('an app with trial access is a matter for the operator', async () => {
    stateOf()['trial'] = true
    await expect(peer.publish(account, pin('Trial'))).rejects.toMatchObject({
      kind: 'app_misconfigured',
      code: '29',
      detail: expect.stringContaining('PINTEREST_API_URL=https://api-sandbox.pinterest.com') as string,
    })
  })

  test('a Pin without media or a board, and a comment, are refused before any call', async () => {
    const from = peer.running.requests.length
    await expect(peer.publish(account, pin('Text', { media: [] }))).rejects.toMatchObject({ kind: 'validation' })
    await expect(peer.publish(account, pin('Nowhere', { options: {} }))).rejects.toMatchObject({ code: 'board_id' })
    await expect(peer.publish(account, pin('Re', { role: 'comment' }))).rejects.toMatchObject({ kind: 'unsupported' })
    expect(peer.running.requests).toHaveLength(from)
  })

  test('boards of others and unknown ones are refused', async () => {
    const other = await peer.connect()
    await expect(peer.publish(other, pin('Theirs'))).rejects.toMatchObject({ kind: 'validation', code: '7' })
    const options = { board_id: '1' }
    await expect(peer.publish(account, pin('Gone', { options }))).rejects.toMatchObject({
      kind: 'validation',
      code: '40',
    })
  })

  test('lengths count characters', async () => {
    await peer.publish(account, pin('😀'.repeat(800)))
    await expect(peer.publish(account, pin('😀'.repeat(801)))).rejects.toMatchObject({ kind: 'validation' })
  })

  test('budgets are read from the headers, and a limit waits for their reset', async () => {
    const before = peer.budgets.length
    await pinterest.profile(account)
    expect(peer.budgets.slice(before)).toEqual([
      { name: 'org_write_app_id_user_id', limit: 1_000, remaining: 997, resetsAt: peer.clock.now() + 60_000 },
    ])
    stateOf()['mostPerMinute'] = 2
    peer.clock.advance(20_000)
    await expect(pinterest.profile(account)).rejects.toMatchObject({ kind: 'rate_limited', code: '8', retryAfter: 40 })
    peer.running.faults.add({ path: '/user_account', kind: 'status', status: 429, retryAfter: 9, times: 1 })
    await expect(pinterest.profile(account)).rejects.toMatchObject({ kind: 'rate_limited', retryAfter: 9 })
    peer.clock.advance(40_000)
    await pinterest.profile(account)
  })
})

test.each([
  [403, 3, 'Authorization failed.', 'scope_missing'],
  [401, 2, 'App is deactivated.', 'app_misconfigured'],
  [403, 12, 'User is deactivated. Please reactivate your account.', 'account_restricted'],
  [400, 9, 'Sorry, we blocked this link because it may lead to spam.', 'policy_rejected'],
  [400, 235, 'Sorry, we could not fetch the image.', 'media_processing'],
  [400, 235, 'The video is too small.', 'media_processing'],
  [400, 1, 'Invalid request.', 'validation'],
  [500, 0, 'Sorry! Something went wrong on our end.', 'server_error'],
])('an error with status %i, code %i and “%s” is %s', (status, code, message, kind) => {
  const json = { code, message }
  expect(reader.errorOf({ status, headers: {}, bytes: Buffer.alloc(0), json })).toMatchObject({
    kind,
    code: String(code),
  })
})
