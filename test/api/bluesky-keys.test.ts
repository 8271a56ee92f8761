import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HOUR, ManualClock, MINUTE } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { testAuthority } from '../support/certificates.ts'
import { consentAt, startPds, type Pds, type PdsAccount } from '../support/pds.ts'
import { send } from '../support/send.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'

/** The name of the server, which only the PDS of the test can look up. Servers refuse reserved names. */
const NAME = 'crier-under-test.social'

let folder: string
let front: Server
let pds: Pds
let app: App
let owner: SeededUser
let workspaceId: string
const clock = new ManualClock(Date.now())

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-test-keys-'))
  const authority = testAuthority('Crier tests')
  const file = join(folder, 'ca.pem')
  await writeFile(file, authority.ca)
  front = createServer(authority.issue(NAME), (incoming, outgoing) => {
    const { headers, method, url } = incoming
    const passed = request({ port: app.port, host: '127.0.0.1', method, path: url, headers }, (reply) => {
      reply.pipe(outgoing.writeHead(reply.statusCode ?? 502, reply.headers))
    })
    incoming.pipe(passed.on('error', () => outgoing.destroy()))
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  pds = await startPds({ hosts: { [NAME]: (front.address() as AddressInfo).port }, authority: file })
  const env = {
    SANDBOX: '0',
    PUBLIC_URL: `https://${NAME}`,
    BLUESKY_API_URL: pds.url,
    BLUESKY_AUTH_URL: pds.url,
    ATPROTO_PLC_URL: pds.plcUrl,
    ATPROTO_VIDEO_URL: pds.plcUrl,
  }
  const started = await startApp({ clock, env })
  // Its public address leads to it for the PDS only.
  const url = `http://127.0.0.1:${started.port}`
  app = { ...started, url, send: (route, options) => send(url, route, options) }
  owner = await seedUser(app, 'owner')
  workspaceId = await seedWorkspace(app, 'Keys', owner)
})
afterAll(async () => {
  await app?.stop()
  await pds?.stop()
  front?.closeAllConnections()
  await new Promise((resolve) => front?.close(resolve))
  await rm(folder, { recursive: true, force: true })
})

async function signIn(account: PdsAccount) {
  const { body, headers, text } = await app.send('GET /api/social-accounts/oauth/{platform}/url', {
    apiKey: owner.apiKey,
    path: { platform: 'bluesky' },
    query: { workspaceId, handle: account.handle },
  })
  expect(body.status, text).toBe(true)
  const [cookie = ''] = (headers.get('set-cookie') ?? '').split(';')
  const callback = await consentAt(new URL((body.data as { url: string }).url), { account })
  expect(callback.origin).toBe(`https://${NAME}`)
  const page = await fetch(`${app.url}${callback.pathname}${callback.search}`, { headers: { cookie } })
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Bluesky is connected')])
}

async function refreshed(account: PdsAccount): Promise<number> {
  const { body } = await app.send('GET /api/social-accounts', { apiKey: owner.apiKey, query: { workspaceId } })
  const found = (body.data as { _id: string; remoteId: string }[]).find(({ remoteId }) => remoteId === account.did)
  const path = { id: found?._id ?? '' }
  return (await app.send('POST /api/social-accounts/{id}/refresh', { apiKey: owner.apiKey, path })).status
}

async function publishedKeys(): Promise<readonly Record<string, string>[]> {
  const { body } = await app.send('GET /api/oauth/atproto/jwks.json')
  return (body as unknown as { keys: Record<string, string>[] }).keys
}

test('the document of the client is at its id, and its keys have no private part', async () => {
  const { body } = await app.send('GET /api/oauth/atproto/client-metadata.json')
  expect(body).toMatchObject({
    client_id: `https://${NAME}/api/oauth/atproto/client-metadata.json`,
    redirect_uris: [`https://${NAME}/api/oauth/atproto/callback`],
    jwks_uri: `https://${NAME}/api/oauth/atproto/jwks.json`,
    token_endpoint_auth_method: 'private_key_jwt',
    dpop_bound_access_tokens: true,
  })
  const keys = await publishedKeys()
  expect(keys).toHaveLength(1)
  expect(Object.keys(keys[0] ?? {}).toSorted()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
})

test('a new key ends no session: the old one stays as long as an account is bound to it', async () => {
  const { keys } = app.composition.services.socialAccounts
  const kids = async () => (await publishedKeys()).map(({ kid }) => kid)
  const [old] = await kids()
  const ada = await pds.createAccount('ada')
  await signIn(ada)
  await keys.rotate('bluesky')
  const [first, fresh, ...others] = await kids()
  expect([first, others]).toEqual([old, []])
  const carl = await pds.createAccount('carl')
  // The PDS has not read the new key yet.
  await signIn(carl)
  clock.advance(2 * HOUR)
  await pds.expireCaches(15 * MINUTE)
  const bert = await pds.createAccount('bert')
  await signIn(bert)
  clock.advance(3 * HOUR)
  expect([await refreshed(ada), await refreshed(bert)]).toEqual([200, 200])
  expect(await kids()).toEqual([fresh, old])
  for (const account of [ada, carl]) await signIn(account)
  expect(await kids()).toEqual([fresh])
  clock.advance(3 * HOUR)
  expect([await refreshed(ada), await refreshed(bert)]).toEqual([200, 200])
})
