import { afterAll, beforeAll, expect, test } from 'vitest'
import { FakePlatform, partOf } from '../../../test/support/fake-platform.ts'
import { PlatformError } from '../error-kinds.ts'
import type { PublishContext } from '../publishing.ts'
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

test('a missing scope is reported as such', async () => {
  const { credential } = await peer.signIn({ without: ['write:statuses'] })
  const error = await peer
    .publish(peer.as(credential, 'host/1'), partOf('Not allowed'))
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(PlatformError)
  expect(error).toMatchObject({ kind: 'scope_missing' })
})
