import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { CredentialAuthenticator } from '../../src/domains/identity/auth/authenticator.ts'
import { startApp, type App } from '../support/app.ts'
import { cutProxy, type CutProxy } from '../support/cut-proxy.ts'
import { login, signIn, tryCredential, type SignedInPerson } from '../support/people.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { waitFor } from '../support/wait.ts'

/** Two nodes with one database and one Redis. The link of each node to Redis can be cut. */
let redis: TestRedis
let links: [CutProxy, CutProxy]
let here: App
let there: App

const env = { JWT_SECRET: 'a secret that both of the nodes share' }

beforeAll(async () => {
  redis = await startRedis()
  links = [await cutProxy(redis.url), await cutProxy(redis.url)]
  here = await startApp({ redisUrl: links[0].url, env })
  there = await startApp({ redisUrl: links[1].url, env, databaseUrl: here.databaseUrl })
})
afterAll(async () => {
  await there?.stop()
  await here?.stop()
  for (const link of links ?? []) await link.close()
  await redis?.stop()
})

const linked = (app: App) => app.node.resources.coordination.linked

afterEach(async () => {
  for (const link of links) link.away(false)
  await waitFor(() => linked(here) && linked(there), { what: 'both links' })
})

/** A user whose credentials are in the cache of both nodes. */
async function known(): Promise<SignedInPerson> {
  const person = await signIn(here)
  for (const app of [here, there]) {
    const { authenticator } = app.composition
    const knows = () =>
      [
        authenticator.authenticate({ kind: 'token', token: person.accessToken }),
        authenticator.authenticate({ kind: 'api_key', key: person.apiKey }),
      ].every((reply) => !(reply instanceof Promise))
    // The notice of the sign-in's own changes may arrive a moment later and clear the cache.
    const learn = async () => {
      for (const credential of [{ token: person.accessToken }, { apiKey: person.apiKey }]) {
        expect(await tryCredential(app, credential)).toBe('200')
      }
      return knows()
    }
    await waitFor(learn, { what: 'both credentials to be cached' })
  }
  return person
}

/** Waits until the other node refuses a credential. */
async function untilRefused(credential: { token?: string; apiKey?: string }): Promise<void> {
  await waitFor(async () => (await tryCredential(there, credential)) === '401 invalid_credential', {
    what: 'a refusal',
  })
}

const logOut = (person: SignedInPerson) => here.send('POST /api/auth/logout', { token: person.accessToken })
const newKey = (person: SignedInPerson) => here.send('POST /api/users/me/api-key', { apiKey: person.apiKey })

describe('a credential that is revoked on one node', () => {
  test('is refused on the other at once', async () => {
    // Disable the poll, which would also find the change within a second.
    const poll = vi.spyOn(there.composition.authenticator as CredentialAuthenticator, 'poll').mockResolvedValue()
    try {
      const ada = await known()
      await newKey(ada)
      await untilRefused({ apiKey: ada.apiKey })
      expect(await tryCredential(there, { token: ada.accessToken })).toBe('200')
      await logOut(ada)
      await untilRefused({ token: ada.accessToken })
    } finally {
      poll.mockRestore()
    }
  })

  test('is refused on the other by the next poll when the revoking node has lost Redis', async () => {
    const ada = await known()
    links[0].away(true)
    await waitFor(() => !linked(here))
    expect(linked(there)).toBe(true)
    await Promise.all([newKey(ada), logOut(ada)])
    expect(await tryCredential(here, { token: ada.accessToken })).toBe('401 invalid_credential')
    await untilRefused({ token: ada.accessToken })
    await untilRefused({ apiKey: ada.apiKey })
  })

  test('is refused on the other by the next poll when the other has lost Redis', async () => {
    const ada = await known()
    links[1].away(true)
    await waitFor(() => !linked(there))
    await Promise.all([newKey(ada), logOut(ada)])
    await untilRefused({ token: ada.accessToken })
    await untilRefused({ apiKey: ada.apiKey })
  })
})

test('a node that reconnects to Redis clears its cache', async () => {
  const ada = await known()
  links[1].away(true)
  await waitFor(() => !linked(there))
  links[1].away(false)
  await waitFor(() => linked(there))
  const pending = there.composition.authenticator.authenticate({ kind: 'token', token: ada.accessToken })
  expect(pending).toBeInstanceOf(Promise)
  await pending
})

test('a session from one node can be used and refreshed on the other', async () => {
  const ada = await signIn(here)
  const { body } = await login(there, ada.email, ada.password)
  expect(await tryCredential(here, { token: body.data.accessToken })).toBe('200')
  const next = await here.send('POST /api/auth/refresh', { body: { refreshToken: body.data.refreshToken } })
  expect(next.status).toBe(200)
})
