import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { FakePlatform, partOf } from '../../../test/support/fake-platform.ts'
import type { PostMedia } from '../content.ts'
import type { Credential } from '../platform.ts'
import type { PublishContext, PublishPart } from '../publishing.ts'
import { linkedin } from './index.ts'
import { littleText, plainText } from './little-text.ts'
import { reader } from './replies.ts'

let peer: FakePlatform
let member: PublishContext
let page: PublishContext

const DAY_MS = 86_400_000
const MB = 1_000_000
const { publishing } = linkedin

beforeAll(async () => {
  peer = await FakePlatform.start(linkedin)
})
afterAll(() => peer.stop())
beforeEach(async () => {
  Object.assign(stateOf(), { refreshTokens: true, oldestVersion: '202512' })
  member = await peer.connect()
  const [child] = await linkedin.children(member)
  page = peer.as(child!.credential ?? member.credential, child!.profile.remoteId)
})

const posts = () => peer.running.fake.posts()
const withText = (text: string) => posts().filter((post) => post.text === text)
const stateOf = () => peer.running.fake.state as Record<string, unknown>
const image = (more: Partial<PostMedia> = {}) => peer.file({ kind: 'image', type: 'image/png', ...more })
const video = (bytes: number) => peer.file({ kind: 'video', type: 'video/mp4' }, Buffer.alloc(bytes, 7))

describe('access', () => {
  test('a sign-in returns the profile, and tokens with their lives', async () => {
    const { credential, profile, scopes } = await peer.signIn({ account: 'ada' })
    expect(profile).toMatchObject({
      name: 'ada',
      kind: 'person',
      remoteId: expect.stringMatching(/^urn:li:person:/) as string,
    })
    expect(scopes).toEqual(linkedin.oauth.scopes)
    const now = peer.clock.now()
    expect(credential).toMatchObject({ expiresAt: now + 60 * DAY_MS, refreshExpiresAt: now + 365 * DAY_MS })
    expect((await peer.signIn({ account: 'ada' })).profile.remoteId).toBe(profile.remoteId)
  })

  test('a scope that the user denied ends calls that need it', async () => {
    const { credential, profile } = await peer.signIn({ account: 'bob', without: ['w_member_social'] })
    const context = peer.as(credential, profile.remoteId)
    await expect(peer.publish(context, partOf('No'))).rejects.toMatchObject({
      kind: 'scope_missing',
      code: 'ACCESS_DENIED',
    })
  })

  test('a refresh keeps the refresh token and does not extend it', async () => {
    peer.clock.advance(30 * DAY_MS)
    const fresh = (await linkedin.oauth.refresh?.(member)) as Credential
    expect(fresh.accessToken).not.toBe(member.credential.accessToken)
    expect(fresh).toMatchObject({
      refreshToken: member.credential.refreshToken,
      refreshExpiresAt: member.credential.refreshExpiresAt,
    })
    await linkedin.oauth.refresh?.(member)
    await linkedin.profile(peer.as(fresh))
  })

  test('an app without refresh tokens has accounts that expire', async () => {
    stateOf()['refreshTokens'] = false
    const { credential } = await peer.signIn({ account: 'carl' })
    expect(credential.refreshToken).toBeUndefined()
    const context = peer.as(credential)
    await expect(linkedin.oauth.refresh?.(context)).rejects.toMatchObject({
      kind: 'auth_expired',
      code: 'no_refresh_token',
    })
    peer.clock.advance(60 * DAY_MS)
    await expect(linkedin.profile(context)).rejects.toMatchObject({
      kind: 'auth_expired',
      code: 'INVALID_ACCESS_TOKEN',
    })
  })

  test('a grant is revoked twice without an error, and not by one of its pages', async () => {
    await linkedin.revoke(page)
    await linkedin.profile(member)
    await linkedin.revoke(member)
    await linkedin.revoke(member)
    await expect(linkedin.profile(member)).rejects.toMatchObject({ kind: 'auth_expired' })
    await expect(linkedin.oauth.refresh?.(member)).rejects.toMatchObject({
      kind: 'auth_expired',
      code: 'invalid_grant',
    })
  })

  test('pages are listed, and those without the role of an administrator are blocked', async () => {
    const children = await linkedin.children(member)
    expect(
      children.map(({ blocked, profile }) => [profile.kind, profile.name.split(' ')[0], blocked !== null]),
    ).toEqual([
      ['organization', expect.any(String), false],
      ['organization', 'Friends', true],
    ])
    expect(children[1]?.blocked).toContain('analyst')
    expect(await linkedin.profile(page)).toEqual(children[0]?.profile)
  })

  test('capabilities say what is missing', async () => {
    expect(Object.keys((await linkedin.capabilities(member)).blocked)).toEqual(['insights', 'reconcile'])
    expect((await linkedin.capabilities(page)).blocked).toEqual({})
    const id = page.remoteId.split(':').at(-1) ?? ''
    const organizations = stateOf()['organizations'] as Record<string, { roles: Record<string, string> }>
    for (const account of Object.keys(organizations[id]!.roles)) organizations[id]!.roles[account] = 'ANALYST'
    expect(Object.keys((await linkedin.capabilities(page)).blocked)).toEqual(['publish'])
  })

  test('a version that has ended is a matter for the operator', async () => {
    stateOf()['oldestVersion'] = '209901'
    await expect(peer.publish(member, partOf('Old'))).rejects.toMatchObject({
      kind: 'app_misconfigured',
      code: 'NONEXISTENT_VERSION',
      detail: expect.stringContaining('Update the server') as string,
    })
  })
})

describe('publishing', () => {
  test('a text with reserved characters and hashtags arrives as it was', async () => {
    const text = 'Look (here) [now] {x} <b> *y* _z_ ~ | \\ @me 50# #wörld #a_b https://e.com/a_b#c (#end)'
    const post = await peer.publish(member, partOf(text))
    expect(withText(text)).toMatchObject([{ id: post.id, account: member.remoteId }])
    expect(post.url).toBe(`https://www.linkedin.com/feed/update/${post.id}/`)
  })

  test('a poll is published, and found again at an organization', async () => {
    const poll = { question: 'Which ones?', options: ['Cats', 'Dogs'], durationMinutes: 4_320 }
    const part = partOf('Tell us', { options: { poll } })
    const state = await peer.prepare(page, part)
    const post = await peer.publish(page, part, state)
    expect((stateOf()['posts'] as { poll: unknown }[]).at(-1)?.poll).toEqual({
      question: 'Which ones?',
      options: [{ text: 'Cats' }, { text: 'Dogs' }],
      settings: { duration: 'THREE_DAYS', voteSelectionType: 'SINGLE_VOTE', isVoterVisibleToAuthor: true },
    })
    expect(await linkedin.publishing.reconcile?.(page, part, state)).toEqual({ kind: 'published', post })
  })

  test('one image, several images, a video, a document and a link are published', async () => {
    await peer.publish(page, partOf('One', { media: [image({ altText: 'A cat' })] }))
    expect(posts().filter(({ text }) => text === 'One')[0]?.media).toHaveLength(1)
    await peer.publish(page, partOf('Two', { media: [image(), image()] }))
    expect(withText('Two')[0]?.media).toHaveLength(2)
    const from = peer.running.requests.length
    const post = await peer.publish(page, partOf('Video', { media: [video(9 * MB)] }))
    expect(post.id).toContain('ugcPost')
    expect(peer.running.requests.slice(from).filter((line) => line.startsWith('PUT'))).toHaveLength(3)
    await peer.publish(page, partOf('Slides', { media: [peer.file({ kind: 'document', type: 'application/pdf' })] }))
    expect(withText('Slides')[0]?.media[0]).toContain('document')
    await peer.publish(page, partOf('Link', { link: 'https://example.com/a' }))
    expect(withText('Link')).toHaveLength(1)
    await peer.publish(page, partOf('Both', { link: 'https://example.com/a', media: [image()] }))
    expect(withText('Both\nhttps://example.com/a')).toHaveLength(1)
  })

  describe('the card of a link', () => {
    const link = 'https://example.com/card'
    const imageUrl = 'https://example.com/card.jpg'
    const cardOf = async (text: string, more: Partial<PublishPart> = {}) => {
      const post = await peer.publish(page, partOf(text, more))
      return (stateOf()['posts'] as readonly Stored[]).find(({ id }) => id === post.id)
    }
    interface Stored {
      readonly id: string
      readonly link: string | null
      readonly card?: Readonly<Record<string, string>>
    }
    beforeAll(() => {
      peer.links.set(link, { title: 'Its title', description: 'Its text', imageUrl })
      peer.pictures.set(imageUrl, { bytes: Buffer.alloc(5_000, 7), type: 'image/jpeg' })
    })

    test('has title, text and picture of the page, also for a link in the text', async () => {
      const card = { title: 'Its title', description: 'Its text', thumbnail: expect.stringMatching(/^urn:li:image:/) }
      expect(await cardOf('A field', { link })).toMatchObject({ link, card })
      expect(await cardOf(`In a text: ${link}.`)).toMatchObject({ link, card })
      const options = { title: 'Mine', linkDescription: '' }
      expect(await cardOf('My own', { link, options })).toMatchObject({ card: { title: 'Mine', description: '' } })
      expect(await cardOf('A domain: example.com/card')).toMatchObject({ link: null })
    })

    test('is plain for a page or a picture that cannot be had', async () => {
      const gone = 'https://gone.example/x'
      const plain = await cardOf('Gone', { link: gone })
      expect(plain).toMatchObject({ link: gone, card: { title: 'gone.example', description: '' } })
      expect(plain?.card).not.toHaveProperty('thumbnail')
      peer.running.faults.add({ path: 'images', kind: 'status', status: 400, times: 1 })
      const refused = await cardOf(`Refused ${link}`)
      expect(refused).toMatchObject({ link, card: { title: 'Its title' } })
      expect(refused?.card).not.toHaveProperty('thumbnail')
    })

    test('is read once', async () => {
      const part = partOf(`Once ${link}`)
      const state = await peer.prepare(page, part)
      const reads = peer.read.length
      await peer.publish(page, part, state)
      expect(peer.read).toHaveLength(reads)
    })
  })

  test('a part whose reply was lost is sent again', async () => {
    const part = partOf('Cut', { media: [video(9 * MB)] })
    let state = publishing.start(part, member)
    for (const _ of [1, 2]) {
      const result = await publishing.step(member, part, state)
      if (result.kind === 'next') ({ state } = result)
    }
    peer.running.faults.add({ path: '/dms-uploads/', kind: 'cut', times: 1 })
    await expect(publishing.step(member, part, state)).rejects.toMatchObject({ kind: 'network' })
    const post = await peer.publish(member, part, state)
    expect(withText('Cut')).toMatchObject([{ id: post.id }])
  })

  test('a page finds a post whose reply was lost, and one that was never made is absent', async () => {
    const part = partOf('Once #only (really)', { createdAt: peer.clock.now() })
    const state = await peer.prepare(page, part)
    expect(await publishing.reconcile?.(page, part, state)).toEqual({ kind: 'absent' })
    peer.running.faults.add({ path: '/rest/posts', method: 'POST', kind: 'cut', times: 1 })
    await expect(peer.publish(page, part, state)).rejects.toMatchObject({ kind: 'network', mayHaveHappened: true })
    expect(await publishing.reconcile?.(page, part, state)).toMatchObject({
      kind: 'published',
      post: { id: withText('Once #only (really)')[0]?.id },
    })
    const older = partOf(part.text, { createdAt: peer.clock.now() + DAY_MS })
    expect(await publishing.reconcile?.(page, older, state)).toEqual({ kind: 'absent' })
  })

  test('a post of a member whose reply was lost is unknown, and so is one without a text', async () => {
    const part = partOf('Mine')
    const state = publishing.start(part, member)
    expect(await publishing.reconcile?.(member, part, state)).toMatchObject({ kind: 'unknown' })
    expect(await publishing.reconcile?.(page, partOf(''), state)).toMatchObject({ kind: 'unknown' })
  })

  test('a first comment is published, found and deleted', async () => {
    const parent = await peer.publish(page, partOf('Post', { createdAt: peer.clock.now() }))
    const part = partOf('First!', { role: 'comment', parent, root: parent, createdAt: peer.clock.now() })
    const state = publishing.start(part, page)
    expect(await publishing.reconcile?.(page, part, state)).toEqual({ kind: 'absent' })
    const post = await peer.publish(page, part)
    expect(posts().at(-1)).toMatchObject({ id: post.id, text: 'First!', replyTo: parent.id })
    expect(await publishing.reconcile?.(page, part, state)).toEqual({ kind: 'published', post })
    expect(await publishing.insights?.(page, parent)).toMatchObject({ comments: 1, views: 0 })
    await publishing.remove?.(page, post)
    await publishing.remove?.(page, post)
    expect(posts().some(({ id }) => id === post.id)).toBe(false)
  })

  test('a duplicate is refused', async () => {
    await peer.publish(member, partOf('Twice'))
    await expect(peer.publish(member, partOf('Twice'))).rejects.toMatchObject({
      kind: 'duplicate_content',
      code: 'DUPLICATE_POST',
      mayHaveHappened: false,
    })
  })

  test('a text is edited, and a post is deleted twice without an error', async () => {
    const post = await peer.publish(member, partOf('Typo'))
    expect(await publishing.edit?.(member, post, partOf('No (typo)'))).toEqual(post)
    expect(withText('No (typo)')).toHaveLength(1)
    await publishing.remove?.(member, post)
    await publishing.remove?.(member, post)
    expect(withText('No (typo)')).toEqual([])
  })

  test('a thread and figures of a member are not supported', async () => {
    const post = await peer.publish(member, partOf('Figures'))
    await expect(publishing.insights?.(member, post)).rejects.toMatchObject({ kind: 'unsupported' })
    const reply = partOf('Reply', { role: 'reply', parent: post })
    await expect(peer.publish(member, reply)).rejects.toMatchObject({ kind: 'unsupported', mayHaveHappened: false })
  })

  test('a video that LinkedIn could not process is a matter of the media', async () => {
    const part = partOf('Broken', { media: [video(MB)] })
    let state = publishing.start(part, member)
    while (state.step !== 'process') {
      const result = await publishing.step(member, part, state)
      if (result.kind === 'next') ({ state } = result)
    }
    const assets = stateOf()['assets'] as Record<string, { status: string }>
    Object.values(assets).at(-1)!.status = 'PROCESSING_FAILED'
    await expect(peer.publish(member, part, state)).rejects.toMatchObject({ kind: 'media_processing' })
  })

  test('the limit of a day is a quota that ends at midnight UTC', async () => {
    const day = peer.clock.now() + DAY_MS
    peer.clock.advance(day - (day % DAY_MS) + 18 * 3_600_000 - peer.clock.now())
    const today = Array.from({ length: 150 }, (_, id) => ({ id: String(id), author: member.remoteId, commentary: '' }))
    const published = stateOf()['posts'] as object[]
    published.push(...today.map((post) => ({ ...post, media: [], link: null, at: peer.clock.now() })))
    await expect(peer.publish(member, partOf('Too many'))).rejects.toMatchObject({
      kind: 'quota_exhausted',
      retryAfter: 6 * 3_600,
    })
  })

  test('a throttle waits as long as LinkedIn says, or backs off', async () => {
    peer.running.faults.add({ path: '/rest/posts', kind: 'status', status: 429, retryAfter: 9, times: 1 })
    await expect(peer.publish(member, partOf('Wait'))).rejects.toMatchObject({ kind: 'rate_limited', retryAfter: 9 })
    peer.running.faults.add({ path: '/rest/posts', kind: 'status', status: 429, times: 1 })
    const error = await peer.publish(member, partOf('Wait')).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ kind: 'rate_limited', retryAfter: undefined, mayHaveHappened: false })
  })
})

test('Little Text is read back as it was written', () => {
  for (const text of ['a\\b', '#tag', 'C# and #1', 'x@y.z (a|b)', '{hashtag|#|x}', '#a_b*c']) {
    expect(plainText(littleText(text))).toBe(text)
  }
  expect(littleText('#a_b')).toBe(String.raw`{hashtag|\#|a\_b}`)
})

test.each([
  [401, { code: 'REVOKED_ACCESS_TOKEN', message: 'Revoked' }, 'auth_expired'],
  [401, { error: 'invalid_client', error_description: 'Client authentication failed' }, 'app_misconfigured'],
  [403, { code: 'MEMBER_RESTRICTED', message: 'Restricted' }, 'account_restricted'],
  [400, { errorDetails: { inputErrors: [{ code: 'FIELD_LENGTH_TOO_LONG' }] } }, 'validation'],
  [500, undefined, 'server_error'],
])('an error with status %i and %j is %s', (status, json, kind) => {
  expect(reader.errorOf({ status, headers: {}, bytes: Buffer.alloc(0), json })).toMatchObject({ kind })
})
