import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/core/clock.ts'
import type { PublishContext } from '../../src/platforms/publishing.ts'
import { wordpress } from '../../src/platforms/wordpress/index.ts'
import { startApp, type App } from '../support/app.ts'
import { cutProxy } from '../support/cut-proxy.ts'
import { FakePlatform, partOf } from '../support/fake-platform.ts'
import { PIXEL } from '../support/pixel.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'
import { startWordPress, type WordPress } from '../support/wordpress.ts'
import { wordpressSuite, type WordPressSide } from '../support/wordpress-suite.ts'

let site: WordPress

beforeAll(async () => {
  site = await startWordPress()
})
afterAll(() => site?.stop())

wordpressSuite('a real site', startReal)

test('files that are too large for the site are refused with the reason', async () => {
  const side = await startReal()
  const { peer } = side
  const author = await side.account('author_large')
  const publish = (bytes: number) => {
    const media = [peer.file({ kind: 'document', type: 'application/pdf' }, Buffer.alloc(bytes, '%PDF-1.4\n'))]
    return peer.publish(author, partOf('Large', { key: `large ${bytes}`, createdAt: Date.now(), media }))
  }
  // Larger than upload_max_filesize of the site, then larger than post_max_size.
  const limit = 2 * 1_048_576
  await publish(limit)
  await expect(publish(limit + 1)).rejects.toMatchObject({
    kind: 'media_processing',
    detail: expect.stringContaining('upload_max_filesize') as string,
    mayHaveHappened: false,
    mostBytes: limit,
  })
  await expect(publish(2 * limit)).rejects.toMatchObject({
    kind: 'validation',
    detail: expect.stringContaining('post_max_size') as string,
    mostBytes: 2 * limit - 1,
  })
  expect((await side.posts()).filter(({ title }) => title === 'Large')).toHaveLength(1)
  await side.stop()
})

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

/** The service, and what its owner can do with a site. */
describe('accounts at a real site', () => {
  let app: App
  let owner: SeededUser
  let workspaceId: string

  beforeAll(async () => {
    // Sites are addresses that users name, so private ones must be allowed.
    app = await startApp({ env: { SANDBOX: '0', ALLOW_PRIVATE_ADDRESSES: '1', LOG_LEVEL: 'debug' } })
    owner = await seedUser(app, 'owner')
    workspaceId = await seedWorkspace(app, 'WordPress', owner)
  })
  afterAll(() => app?.stop())

  const as = () => ({ apiKey: owner.apiKey })

  const connect = (credentials: Record<string, string>) =>
    app.send('POST /api/social-accounts', { ...as(), body: { workspaceId, platform: 'wordpress', credentials } })

  const refresh = (id: string) => app.send('POST /api/social-accounts/{id}/refresh', { ...as(), path: { id } })

  async function account(id: string) {
    const { body } = await app.send('GET /api/social-accounts/{id}', { ...as(), path: { id } })
    return body.data as { remoteId: string; status: string; statusMessage: string; name: string; handle: string }
  }

  /** Asks for a sign-in link. */
  async function link(instance: string) {
    const reply = await app.send('GET /api/social-accounts/oauth/{platform}/url', {
      ...as(),
      path: { platform: 'wordpress' },
      query: { workspaceId, instance, redirectUri: `${app.config.PUBLIC_URL}/done` },
    })
    expect(reply.status, reply.text).toBe(200)
    const [cookie = ''] = (reply.headers.get('set-cookie') ?? '').split(';')
    return { url: new URL((reply.body.data as { url: string }).url), cookie }
  }

  /** Opens the callback as a browser. @returns where it is sent on */
  async function open(callback: URL, cookie: string): Promise<URL> {
    const reply = await fetch(callback, { headers: { cookie }, redirect: 'manual' })
    return new URL(reply.headers.get('location') ?? (await reply.text()))
  }

  /** The context in which Crier calls the site for an account, and a harness that publishes with it. */
  async function contextOf(id: string): Promise<{ peer: FakePlatform; context: PublishContext }> {
    const { refresher } = app.composition.services.socialAccounts
    const row = await app.composition.services.socialAccounts.accounts.find(app.database, id)
    const peer = FakePlatform.at(wordpress, site.url, new ManualClock(Date.now()))
    return { peer, context: peer.as(await refresher.credentialOf(row), row.remoteId) }
  }

  test('connects with a password, and asks to be connected again when it was revoked', async () => {
    await site.addUser('editor_paula', 'editor')
    const applicationPassword = await site.applicationPassword('editor_paula', 'Crier')
    const fields = { site: site.url, username: 'editor_paula', applicationPassword }
    const connected = await connect(fields)
    const { host } = new URL(site.url)
    expect([connected.status, connected.body.data], connected.text).toMatchObject([
      201,
      {
        platform: 'wordpress',
        name: 'A real site',
        handle: `editor_paula@${host}`,
        status: 'connected',
        url: site.url,
      },
    ])
    const id = (connected.body.data as { _id: string })._id
    expect((await refresh(id)).status).toBe(200)
    await site.revokePasswords('editor_paula')
    const refused = await refresh(id)
    expect([refused.status, refused.body], refused.text).toMatchObject([409, { code: 'platform_refused' }])
    expect(await account(id)).toMatchObject({ status: 'reconnect_needed' })
    const again = await connect({
      ...fields,
      applicationPassword: await site.applicationPassword('editor_paula', 'New'),
    })
    expect(again.body.data).toMatchObject({ _id: id, status: 'connected' })
    expect(await account(id)).toMatchObject({ status: 'connected' })
  })

  test('refuses a wrong password, and what is no site', async () => {
    const fields = { site: site.url, username: 'owner', applicationPassword: 'wron gone wron gone' }
    const refused = await connect(fields)
    expect([refused.status, refused.body], refused.text).toMatchObject([
      409,
      { code: 'platform_refused', details: { kind: 'validation' } },
    ])
    const noSite = await connect({ ...fields, site: app.url })
    expect([noSite.status, noSite.body.details], noSite.text).toMatchObject([409, { platformCode: 'no_rest_api' }])
    const open = await connect({ ...fields, site: 'http://example.com' })
    expect([open.status, open.body.details], open.text).toMatchObject([409, { platformCode: 'insecure' }])
  })

  test('connects by approval at the site, disconnects, and deletes the password there', async () => {
    await site.addUser('author_sam', 'author')
    const { cookie, url } = await link(site.url)
    expect(`${url.origin}${url.pathname}`).toBe(`${site.url}/wp-admin/authorize-application.php`)
    const callback = await site.decide(url, 'author_sam')
    expect(callback.searchParams.get('user_login')).toBe('author_sam')
    const done = await open(callback, cookie)
    expect([done.pathname, done.searchParams.get('status')], done.href).toEqual(['/done', 'connected'])
    const id = done.searchParams.get('account') ?? ''
    expect(await account(id)).toMatchObject({ handle: `author_sam@${new URL(site.url).host}`, status: 'connected' })
    // The link works once.
    expect((await open(callback, cookie)).searchParams.get('error')).toBe('used_link')
    const [password, ...others] = await site.applicationPasswords('author_sam')
    expect(others).toEqual([])
    expect(password?.name).toMatch(/^Crier at localhost:\d+, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    const { context, peer } = await contextOf(id)
    const post = await peer.publish(context, partOf('Published by approval', { createdAt: Date.now() }))
    expect((await site.posts()).find((one) => one.id === Number(post.id))).toMatchObject({ author: 'author_sam' })
    await peer.stop()
    const secret = callback.searchParams.get('password') ?? ''
    expect(secret).toHaveLength(24)
    expect(JSON.stringify(app.logs)).not.toContain(secret)
    expect(app.logs.some(({ msg }) => msg === 'a platform was called')).toBe(true)
    const removed = await app.send('DELETE /api/social-accounts/{id}', { ...as(), path: { id } })
    expect(removed.status).toBe(200)
    await waitFor(async () => (await site.applicationPasswords('author_sam')).length === 0, {
      what: 'the password to go',
    })
  })

  test('says when the user rejects', async () => {
    const { cookie, url } = await link(site.url)
    const callback = await site.decide(url, 'owner', 'reject')
    expect(callback.searchParams.get('success')).toBe('false')
    const done = await open(callback, cookie)
    expect(Object.fromEntries(done.searchParams)).toEqual({
      error: 'denied',
      message:
        'You did not allow Crier to use your WordPress account. Nothing was connected. To connect it, start again and allow the access.',
    })
    expect(await site.applicationPasswords('owner')).toEqual([])
  })

  test.each([
    ['in a folder', '/blog', '/%postname%/'],
    ['without pretty permalinks', '', ''],
    ['in a folder without pretty permalinks', '/blog', ''],
  ])('connects a site %s, and publishes there', async (name, folder, permalinks) => {
    await site.setOption('permalink_structure', permalinks)
    const login = `author_${name.replaceAll(' ', '_')}`
    await site.addUser(login, 'author')
    const { cookie, url } = await link(`${site.url}${folder}/wp-admin/index.php`)
    expect(url.pathname).toBe(`${folder}/wp-admin/authorize-application.php`)
    const done = await open(await site.decide(url, login), cookie)
    const id = done.searchParams.get('account') ?? ''
    const { host } = new URL(site.url)
    expect(await account(id), done.href).toMatchObject({ handle: `${login}@${host}${folder}`, status: 'connected' })
    const { context, peer } = await contextOf(id)
    expect(String(context.credential['root'])).toContain(permalinks === '' ? 'rest_route=/' : '/wp-json/')
    const part = partOf('Found below a folder', {
      key: login,
      createdAt: Date.now(),
      title: `Title ${name}`,
      tags: ['folder'],
      media: [peer.file({ kind: 'image', type: 'image/png' }, Buffer.from(PIXEL))],
    })
    const post = await peer.publish(context, part)
    expect(await peer.publish(context, part)).toEqual(post)
    expect(post.url?.startsWith(`${site.url}${folder}/`)).toBe(true)
    expect((await site.posts()).filter(({ title }) => title === `Title ${name}`)).toHaveLength(1)
    const source = /<img src="([^"]+)"/.exec(
      (await site.posts()).find((one) => one.id === Number(post.id))?.content ?? '',
    )
    expect((await fetch(source?.[1] ?? '')).headers.get('content-type')).toBe('image/png')
    await wordpress.publishing.remove?.(context, post)
    await wordpress.revoke(context)
    expect(await site.applicationPasswords(login)).toEqual([])
    await peer.stop()
    await site.setOption('permalink_structure', '/%postname%/')
  })
})
