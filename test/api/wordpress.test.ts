import { afterAll, beforeAll } from 'vitest'
import { ManualClock } from '../../src/core/clock.ts'
import { wordpress } from '../../src/platforms/wordpress/index.ts'
import { cutProxy } from '../support/cut-proxy.ts'
import { FakePlatform } from '../support/fake-platform.ts'
import { startWordPress, type WordPress } from '../support/wordpress.ts'
import { wordpressSuite, type WordPressSide } from '../support/wordpress-suite.ts'

let site: WordPress

beforeAll(async () => {
  site = await startWordPress()
})
afterAll(() => site?.stop())

wordpressSuite('a real site', startReal)

/** The site behind a proxy that can lose replies. */
async function startReal(): Promise<WordPressSide> {
  const proxy = await cutProxy(site.url)
  const peer = FakePlatform.at(wordpress, proxy.url.replace(/\/$/, ''), new ManualClock(Date.now()))
  return {
    peer,
    account: async (login) => {
      const [role = ''] = login.split('_')
      await site.addUser(login, role)
      const applicationPassword = await site.applicationPassword(login, 'Crier')
      const fields = { site: peer.running.url, username: login, applicationPassword }
      const { credential, profile } = await wordpress.credentials.connect(peer.context, fields)
      return peer.as(credential, profile.remoteId)
    },
    cut: (route) => proxy.cutAt(`POST /wp-json${route}`, 'after'),
    posts: () => site.posts(),
    media: () => site.media(),
    comments: () => site.comments(),
    revoke: (login) => site.revokePasswords(login),
    stop: async () => {
      await peer.stop()
      await proxy.close()
    },
  }
}
