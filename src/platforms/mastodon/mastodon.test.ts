import { createOAuthAPIClient, createRestAPIClient, MastoHttpError } from 'masto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FakePlatform, partOf } from '../../../test/support/fake-platform.ts'
import { PlatformError } from '../error-kinds.ts'
import type { PublishContext, PublishState } from '../publishing.ts'
import type { Fault } from '../../../sandbox/faults.ts'
import { mastodon } from './index.ts'

let peer: FakePlatform
let account: PublishContext

beforeAll(async () => {
  peer = await FakePlatform.start(mastodon)
  account = await peer.connect()
})
afterAll(() => peer.stop())

const posts = () => peer.running.fake.posts()

test('a post with images and alt texts is published', async () => {
  const media = [
    peer.file({ kind: 'image', type: 'image/png', altText: 'A cat' }),
    peer.file({ kind: 'image', type: 'image/jpeg' }),
  ]
  const post = await peer.publish(account, partOf('Two images', { key: 'images', media }))
  expect(post.url).toMatch(/^http/)
  expect(posts().at(-1)).toMatchObject({ id: post.id, text: 'Two images', media: ['image/png', 'image/jpeg'] })
})

test('a video is attached after it was processed', async () => {
  const post = await peer.publish(
    account,
    partOf('Video', { key: 'video', media: [peer.file({ kind: 'video', type: 'video/mp4' })] }),
  )
  expect(posts().at(-1)).toMatchObject({ id: post.id, media: ['video/mp4'] })
})

test('a publishing call that is repeated after a lost reply makes one post', async () => {
  const part = partOf('Only once', { key: 'once' })
  const state = await peer.prepare(account, part)
  peer.running.faults.add({ path: '/api/v1/statuses', method: 'POST', kind: 'cut', times: 1 })
  await expect(peer.publish(account, part, state)).rejects.toMatchObject({ kind: 'network', mayHaveHappened: true })
  const post = await peer.publish(account, part, state)
  expect(posts().filter(({ text }) => text === 'Only once')).toMatchObject([{ id: post.id }])
})

const isRepeatable = (state: PublishState) => {
  const repeatable = mastodon.publishing?.repeatable
  return typeof repeatable === 'function' ? repeatable(state) : repeatable
}

test('a publishing call is repeatable only where the software is known to keep Idempotency-Keys', async () => {
  const software = (name: string) =>
    fetch(`${peer.running.url}/_software`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
    })
  const part = partOf('Keyless', { key: 'keyless' })
  const state = () => peer.prepare(account, part)
  try {
    expect(isRepeatable(await state())).toBe(true)
    await software('Hometown')
    expect(isRepeatable(await state())).toBe(true)
    await software('pixelfed')
    const keyless = await state()
    expect(isRepeatable(keyless)).toBe(false)
    // Such a server makes a second status of a repeated call, as the search would have shown.
    const first = await peer.publish(account, part, keyless)
    expect(await mastodon.publishing?.reconcile?.(account, part, keyless)).toEqual({ kind: 'published', post: first })
    expect((await peer.publish(account, part, keyless)).id).not.toBe(first.id)
  } finally {
    await software('mastodon')
  }
})

test.each<[string, Fault]>([
  ['has no NodeInfo', { path: '/nodeinfo', kind: 'status', status: 404, times: 1 }],
  ['does not answer', { path: '/nodeinfo', kind: 'refuse', times: 1 }],
])('a server that %s is not known to keep Idempotency-Keys', async (_, fault) => {
  peer.running.faults.add(fault)
  expect(isRepeatable(await peer.prepare(account, partOf('Unknown', { key: 'unknown' })))).toBe(false)
})

test('a lost post is found, and a post that was never made is absent', async () => {
  const part = partOf('Found: https://example.com/a?b=1 & <more>', { key: 'found' })
  const state = await peer.prepare(account, part)
  expect(await mastodon.publishing?.reconcile?.(account, part, state)).toEqual({ kind: 'absent' })
  const post = await peer.publish(account, part, state)
  expect(await mastodon.publishing?.reconcile?.(account, part, state)).toEqual({ kind: 'published', post })
})

test('a reply is attached to its parent', async () => {
  const parent = await peer.publish(account, partOf('First', { key: 'first' }))
  const reply = await peer.publish(account, partOf('Second', { key: 'second', role: 'reply', parent, root: parent }))
  expect(posts().at(-1)).toMatchObject({ id: reply.id, replyTo: parent.id })
})

test('a text is edited, figures are read, and a post is deleted twice without an error', async () => {
  const post = await peer.publish(account, partOf('Typo', { key: 'typo' }))
  expect(await mastodon.publishing?.edit?.(account, post, partOf('No typo'))).toEqual(post)
  expect(posts().at(-1)?.text).toBe('No typo')
  expect(await mastodon.publishing?.insights?.(account, post)).toEqual({ likes: 0, shares: 0, comments: 0 })
  await mastodon.publishing?.remove?.(account, post)
  await mastodon.publishing?.remove?.(account, post)
  expect(posts().some(({ id }) => id === post.id)).toBe(false)
})

test('an edit keeps the files, the warning and the language', async () => {
  const media = [peer.file({ kind: 'image', type: 'image/png', altText: 'A cat' })]
  const options = { spoiler_text: 'Cats', sensitive: true, language: 'de' }
  const post = await peer.publish(account, partOf('Tippfehler', { key: 'edit', media, options }))
  await mastodon.publishing?.edit?.(account, post, partOf('Kein Tippfehler'))
  expect(posts().at(-1)).toMatchObject({ text: 'Kein Tippfehler', media: ['image/png'] })
  const { statuses } = peer.running.fake.state as { statuses: object[] }
  expect(statuses.at(-1)).toMatchObject({ spoiler: 'Cats', isSensitive: true, language: 'de' })
})

test('a poll is published, found again, and kept by an edit', async () => {
  const options = { poll: { options: ['Cats', 'Dogs'], durationMinutes: 60, multiple: true } }
  const part = partOf('Which ones?', { key: 'poll', options, createdAt: peer.clock.now() })
  const state = await peer.prepare(account, part)
  const post = await peer.publish(account, part, state)
  expect(await mastodon.publishing?.reconcile?.(account, part, state)).toEqual({ kind: 'published', post })
  const pollsOf = () => Object.values((peer.running.fake.state as { polls: object }).polls) as { until: number }[]
  const until = peer.clock.now() + 60 * 60_000
  expect(pollsOf().at(-1)).toMatchObject({ options: ['Cats', 'Dogs'], multiple: true, until })
  peer.clock.advance(10 * 60_000)
  await mastodon.publishing?.edit?.(account, post, partOf('Which one?', { options }))
  expect(posts().at(-1)?.text).toBe('Which one?')
  expect(pollsOf().at(-1)).toMatchObject({ options: ['Cats', 'Dogs'], multiple: true, until })
  peer.clock.advance(51 * 60_000)
  const late = mastodon.publishing?.edit?.(account, post, partOf('Too late', { options }))
  await expect(late).rejects.toMatchObject({ kind: 'unsupported', code: 'poll_ended' })
})

test('only the first part of a thread has the poll', async () => {
  const options = { poll: { options: ['Cats', 'Dogs'] } }
  const parent = await peer.publish(account, partOf('Which ones? 1', { key: 'poll 1', options }))
  await peer.publish(account, partOf('And why?', { key: 'poll 2', options, role: 'reply', parent, root: parent }))
  const { statuses } = peer.running.fake.state as { statuses: { poll: string | null }[] }
  expect(statuses.slice(-2).map(({ poll }) => poll === null)).toEqual([false, true])
})

test('the limits of polls are those of the server', async () => {
  const { limits } = await mastodon.capabilities(account)
  expect(limits).toMatchObject({
    'poll.maxOptions': 4,
    'poll.optionMax': 50,
    'poll.minMinutes': 5,
    'poll.maxMinutes': 43_829,
  })
})

test('a missing scope is reported as such', async () => {
  const { credential } = await peer.signIn({ without: ['write:statuses'] })
  const error = await peer
    .publish(peer.as(credential, 'host/1'), partOf('Not allowed'))
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(PlatformError)
  expect(error).toMatchObject({ kind: 'scope_missing' })
})

test('the client of masto.js works with the fake', async () => {
  const url = peer.running.url
  const callback = 'https://example.com/callback'
  const scopes = 'profile read write:statuses write:media'
  const visitor = createRestAPIClient({ url })
  const app = await visitor.v1.apps.create({ clientName: 'Visitor', redirectUris: callback, scopes })
  const query = {
    response_type: 'code',
    client_id: app.clientId ?? '',
    redirect_uri: callback,
    scope: scopes,
    account: 'grace',
  }
  const form = new URLSearchParams({ ...query, decision: 'allow' })
  const consent = await fetch(`${url}/oauth/authorize`, { method: 'POST', body: form, redirect: 'manual' })
  const oauth = createOAuthAPIClient({ url })
  const token = await oauth.token.create({
    grantType: 'authorization_code',
    clientId: app.clientId ?? '',
    clientSecret: app.clientSecret ?? '',
    redirectUri: callback,
    code: new URL(consent.headers.get('location') ?? '').searchParams.get('code') ?? '',
    scope: scopes,
  })
  expect(token).toMatchObject({ tokenType: 'Bearer', scope: scopes })
  const masto = createRestAPIClient({ url, accessToken: token.accessToken })

  const self = await masto.v1.accounts.verifyCredentials()
  expect(self).toMatchObject({ username: 'grace', acct: 'grace', bot: false })
  const instance = await masto.v2.instance.fetch()
  expect(instance.configuration.statuses).toMatchObject({ maxCharacters: 500, charactersReservedPerUrl: 23 })
  expect(instance.configuration.mediaAttachments.supportedMimeTypes).toContain('video/mp4')

  const file = (type: string) => new File([Buffer.alloc(100, 7)], 'a file', { type })
  // Without `skipPolling`, the client waits a second before it asks whether a file is processed.
  const image = await masto.v2.media.create({ file: file('image/png'), description: 'A cat', skipPolling: true })
  expect(image).toMatchObject({ type: 'image', description: 'A cat' })
  let clip = await masto.v2.media.create({ file: file('video/mp4'), skipPolling: true })
  expect(clip).toMatchObject({ type: 'video', url: null })
  for (let polls = 0; clip.url === null && polls < 5; polls += 1) clip = await masto.v1.media.$select(clip.id).fetch()
  expect(clip.url).toMatch(/^http/)
  const mixed = masto.v1.statuses.create({ status: 'Mixed', mediaIds: [image.id, clip.id] })
  await expect(mixed).rejects.toMatchObject({ statusCode: 422, message: expect.stringContaining('video') as unknown })

  const post = {
    status: 'From masto.js',
    mediaIds: [image.id],
    visibility: 'unlisted',
    spoilerText: 'Cats',
    language: 'en',
  } as const
  const options = { requestInit: { headers: { 'Idempotency-Key': 'the same' } } }
  const status = await masto.v1.statuses.create(post, options)
  expect(await masto.v1.statuses.create(post, options)).toMatchObject({ id: status.id })
  expect(status).toMatchObject({
    content: '<p>From masto.js</p>',
    visibility: 'unlisted',
    spoilerText: 'Cats',
    sensitive: true,
    language: 'en',
    account: { username: 'grace' },
    mediaAttachments: [{ id: image.id, description: 'A cat' }],
  })
  const reply = await masto.v1.statuses.create({ status: 'A reply', inReplyToId: status.id })
  expect(reply).toMatchObject({ inReplyToId: status.id, inReplyToAccountId: self.id })
  expect(await masto.v1.statuses.$select(status.id).fetch()).toMatchObject({ repliesCount: 1 })
  const edited = await masto.v1.statuses.$select(reply.id).update({ status: 'A better reply' })
  expect(edited).toMatchObject({ content: '<p>A better reply</p>', editedAt: expect.any(String) as unknown })

  const pages: string[][] = []
  for await (const page of masto.v1.accounts.$select(self.id).statuses.list({ limit: 1 })) {
    pages.push(page.map(({ id }) => id))
  }
  expect(pages.filter((page) => page.length > 0)).toEqual([[reply.id], [status.id]])

  expect(instance.apiVersions).toEqual({ mastodon: 2 })
  expect(instance.configuration.polls).toMatchObject({ maxOptions: 4, maxCharactersPerOption: 50, minExpiration: 300 })
  const context = await masto.v1.statuses.$select(status.id).context.fetch()
  expect(context).toMatchObject({ ancestors: [], descendants: [{ id: reply.id }] })
  expect((await masto.v1.statuses.$select(reply.id).context.fetch()).ancestors).toMatchObject([{ id: status.id }])

  const poll = { options: ['Cats', 'Dogs'], expiresIn: 3_600, multiple: false }
  const asked = await masto.v1.statuses.create({ status: 'Which?', poll })
  expect(asked.poll).toMatchObject({
    expired: false,
    multiple: false,
    votesCount: 0,
    options: [{ title: 'Cats' }, { title: 'Dogs' }],
  })
  const pollId = asked.poll?.id ?? ''
  expect(await masto.v1.polls.$select(pollId).votes.create({ choices: [1] })).toMatchObject({
    voted: true,
    ownVotes: [1],
  })
  expect(await masto.v1.polls.$select(pollId).fetch()).toMatchObject({
    options: [{ votesCount: 0 }, { votesCount: 1 }],
  })
  await expect(masto.v1.polls.$select(pollId).votes.create({ choices: [0] })).rejects.toMatchObject({ statusCode: 422 })
  const withFile = { status: 'Which?', poll, mediaIds: [clip.id] } as unknown as { status: string }
  await expect(masto.v1.statuses.create(withFile)).rejects.toMatchObject({ statusCode: 422 })
  await masto.v1.statuses.$select(asked.id).remove()

  const scheduledAt = new Date(peer.clock.now() + 3_600_000).toISOString()
  const later = await masto.v1.statuses.create({ status: 'Later', mediaIds: [clip.id], scheduledAt })
  expect(later).toMatchObject({
    scheduledAt,
    params: { text: 'Later' },
    mediaAttachments: [{ id: clip.id, type: 'video' }],
  })
  expect(await masto.v1.scheduledStatuses.list()).toMatchObject([{ id: later.id }])
  const soon = { scheduledAt: new Date(peer.clock.now() + 60_000).toISOString() }
  await expect(masto.v1.scheduledStatuses.$select(later.id).update(soon)).rejects.toMatchObject({ statusCode: 422 })
  peer.clock.advance(3_600_000)
  expect(await masto.v1.scheduledStatuses.list()).toEqual([])
  expect(posts().at(-1)).toMatchObject({ text: 'Later', media: ['video/mp4'] })

  const removed = await masto.v1.statuses.$select(reply.id).remove()
  expect(removed).toMatchObject({ id: reply.id, text: 'A better reply' })
  const gone = await masto.v1.statuses
    .$select(reply.id)
    .fetch()
    .catch((error: unknown) => error)
  expect(gone).toBeInstanceOf(MastoHttpError)
  expect(gone).toMatchObject({ statusCode: 404, message: 'Record not found' })
  const clientSecret = app.clientSecret ?? ''
  await oauth.revoke({ clientId: app.clientId ?? '', clientSecret, token: token.accessToken })
  await expect(masto.v1.accounts.verifyCredentials()).rejects.toMatchObject({ statusCode: 401 })
})
