import { expect, test } from 'vitest'
import { FakePlatform, partOf } from '../../../test/support/fake-platform.ts'
import { wordpressSuite, type WordPressSide } from '../../../test/support/wordpress-suite.ts'
import type { SiteState } from '../../../sandbox/wordpress/state.ts'
import { wordpress } from './index.ts'

wordpressSuite('the fake', startFake)

async function startFake(): Promise<WordPressSide> {
  const peer = await FakePlatform.start(wordpress)
  const state = peer.running.fake.state as SiteState
  return {
    peer,
    account: async (login) => {
      const { credential, profile } = await peer.signIn({ account: login })
      return peer.as(credential, profile.remoteId)
    },
    cut: (route) => peer.running.faults.add({ path: route, method: 'POST', kind: 'cut', times: 1 }),
    posts: () =>
      Promise.resolve(
        state.posts.map(({ tags, ...post }) => ({
          ...post,
          author: state.users.find(({ id }) => id === post.author)?.login ?? '',
          slug: decodeURIComponent(post.slug),
          tags: tags.map((id) => state.terms.find((term) => term.id === id)?.name ?? ''),
        })),
      ),
    media: () => Promise.resolve(state.attachments),
    comments: () => Promise.resolve(state.comments.filter(({ status }) => status === 'approved')),
    revoke: (login) => {
      const user = state.users.find((one) => one.login === login)
      const left = state.passwords.filter((one) => one.user !== user?.id)
      state.passwords.splice(0, state.passwords.length, ...left)
      return Promise.resolve()
    },
    stop: () => peer.stop(),
  }
}

test('comments in quick succession are a limit that ends with time', async () => {
  const side = await startFake()
  const { peer } = side
  const author = await side.account('author_ada')
  const root = await peer.publish(author, partOf('Root', { key: 'root' }))
  const comment = (key: string) => partOf(`Comment ${key}`, { key, role: 'comment', root, parent: root })
  await peer.publish(author, comment('one'))
  await expect(peer.publish(author, comment('two'))).rejects.toMatchObject({ kind: 'rate_limited', retryAfter: 15 })
  peer.clock.advance(15_000)
  await peer.publish(author, comment('two'))
  await peer.stop()
})

test('an account of the sandbox needs no discovery', async () => {
  const { peer } = await startFake()
  const context = await peer.connect()
  expect(context.credential).not.toHaveProperty('root')
  const post = await peer.publish(context, partOf('From the sandbox'))
  expect(peer.running.fake.posts()).toMatchObject([{ id: post.id, text: 'From the sandbox', replyTo: null, media: [] }])
  await peer.stop()
})
