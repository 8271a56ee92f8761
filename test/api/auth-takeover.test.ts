import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { api } from '../../src/registry/api.ts'
import { HOUR, ManualClock, SECOND } from '../../src/core/clock.ts'
import { walk } from '../../src/core/operation.ts'
import { startApp, type App } from '../support/app.ts'
import { newAddress, PASSWORD, tryCredential } from '../support/people.ts'
import type { SendOptions } from '../support/send.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** Attackers who sign up with another person's address, or guess its credentials, from another network. */

let app: App
const clock = new ManualClock()
const sockets = new Sockets(() => app)
const OWNER = { 'X-Forwarded-For': '192.0.2.7', 'User-Agent': 'Firefox/140.0' }
const ATTACKER = { 'X-Forwarded-For': '198.51.100.9', 'User-Agent': 'curl/8.0' }
const ATTACKERS_PASSWORD = 'the attacker knows this one'

beforeAll(async () => {
  app = await startApp({ clock, rateLimits: true, env: { TRUST_PROXY: '1' } })
})
afterAll(async () => {
  sockets.end()
  await app.stop()
})

type Headers = Readonly<Record<string, string>>

async function signUp(headers: Headers, password = PASSWORD, email = newAddress()) {
  const { body, status, text } = await app.send('POST /api/auth/signup', {
    body: { email, password, name: 'Buy gold' },
    headers,
  })
  expect(status, text).toBe(201)
  return { email, password, id: body.user._id as string, apiKey: body.user.apiKey as string }
}

const confirm = async (email: string, headers: Headers, more: object = {}, credential: SendOptions = {}) =>
  app.send('POST /api/auth/verify-otp', {
    body: { email, otp: await app.outbox.code(email), ...more },
    headers,
    ...credential,
  })
const login = (email: string, password: string, headers: Headers, more: object = {}) =>
  app.send('POST /api/auth/login', { body: { email, password, ...more }, headers })

describe('an address that an attacker signed up with', () => {
  test('belongs to its owner once they confirm it with the code alone', async () => {
    const { apiKey, email } = await signUp(ATTACKER, ATTACKERS_PASSWORD)
    const confirmed = await confirm(email, OWNER)
    expect(confirmed.status, confirmed.text).toBe(200)
    expect(confirmed.body.data.user).toMatchObject({ emailVerified: true, name: '', apiKeyPrefix: null })
    expect(await tryCredential(app, { token: confirmed.body.data.accessToken })).toBe('200')
    expect(await tryCredential(app, { apiKey })).toBe('401 invalid_credential')
    expect((await login(email, ATTACKERS_PASSWORD, ATTACKER)).body.code).toBe('wrong_login')
    const mail = await app.outbox.newest(email, /Choose a password/)
    expect(mail.text).toContain(confirmed.body.data.passwordReset.token)
    expect(`${mail.subject} ${mail.text}`).not.toContain('gold')
    const { token } = confirmed.body.data.passwordReset
    const reset = await app.send('POST /api/auth/reset-password', { body: { token, password: 'my very own password' } })
    expect(reset.status, reset.text).toBe(200)
    expect((await login(email, 'my very own password', OWNER)).status).toBe(200)
  })

  test('gives no workspace access that could outlast its confirmation', async () => {
    const { apiKey, email } = await signUp(ATTACKER, ATTACKERS_PASSWORD)
    const { apiKey: inviter } = await new World(app).user('ada')
    const workspace = await app.send('POST /api/workspaces', {
      body: { name: 'Acme', timezone: 'Europe/Berlin' },
      apiKey: inviter,
    })
    const path = { workspaceId: workspace.body.data._id as string }
    const invited = await app.send('POST /api/team/{workspaceId}/invitations', {
      path,
      body: { email, role: 'admin' },
      apiKey: inviter,
    })
    expect(invited.status, invited.text).toBe(201)
    // The attacker cannot create a workspace, invite anyone, or accept the owner's invitation.
    const tries = [
      app.send('POST /api/workspaces', { body: { name: 'Mine', timezone: 'Europe/Berlin' }, apiKey }),
      app.send('POST /api/team/{workspaceId}/invitations', {
        path,
        body: { email: newAddress(), role: 'admin' },
        apiKey,
      }),
      app.send('POST /api/team/invitations/{token}/accept', { path: { token: 'not looked at' }, apiKey }),
    ]
    for (const { body, status } of await Promise.all(tries)) {
      expect([status, body.code]).toEqual([403, 'email_unverified'])
    }
    const { accessToken: token } = (await confirm(email, OWNER)).body.data
    expect((await app.send('GET /api/workspaces', { token })).body.data).toEqual([])
    const open = await app.send('GET /api/team/invitations/mine', { token })
    expect(open.body.data, open.text).toMatchObject([{ workspaceId: path.workspaceId }])
  })

  test('can call only the operations for unconfirmed accounts', () => {
    const open = walk(api).filter(({ unconfirmed }) => unconfirmed)
    expect(new Set(open.map(({ route }) => route))).toEqual(new Set(['GET /api/users/me', 'POST /api/auth/logout']))
  })

  test('gets the password that its owner sends with the code, and loses the API key', async () => {
    const { apiKey, email } = await signUp(ATTACKER, ATTACKERS_PASSWORD)
    const confirmed = await confirm(email, OWNER, { password: 'my very own password' })
    expect(confirmed.body.data.passwordReset).toBeUndefined()
    expect(await tryCredential(app, { apiKey })).toBe('401 invalid_credential')
    expect((await login(email, ATTACKERS_PASSWORD, ATTACKER)).body.code).toBe('wrong_login')
    expect((await login(email, 'my very own password', OWNER)).status).toBe(200)
  })

  test.each([
    ['from the same network with another program', { ...ATTACKER, 'User-Agent': 'Firefox/140.0' }, 0],
    ['with the same program from another network', { ...ATTACKER, 'X-Forwarded-For': '198.51.100.10' }, 0],
    ['by the same client an hour later', ATTACKER, HOUR + SECOND],
  ] as const)('belongs to its owner when it is confirmed %s', async (_how, headers, later) => {
    const { apiKey, email } = await signUp(ATTACKER, ATTACKERS_PASSWORD)
    clock.advance(later)
    if (later > 0) {
      await app.send('POST /api/auth/resend-otp', { body: { email }, headers })
      await waitFor(async () => (await app.outbox.mails(email)).length === 2, { what: 'another code' })
    }
    const reply = await confirm(email, headers)
    expect(reply.body.data.passwordReset.token).toMatch(/./)
    expect(await tryCredential(app, { apiKey })).toBe('401 invalid_credential')
  })
})

describe('an owner who signed up', () => {
  test.each([
    ['with the code alone from the same client', OWNER, 'nothing'],
    ['with the password from another client', ATTACKER, 'password'],
    ['with the API key from another client', ATTACKER, 'key'],
  ] as const)('keeps password and API key when confirming %s', async (_how, headers, proof) => {
    const { apiKey, email, password } = await signUp(OWNER)
    const confirmed = await confirm(
      email,
      headers,
      proof === 'password' ? { password } : {},
      proof === 'key' ? { apiKey } : {},
    )
    expect(confirmed.body.data.passwordReset).toBeUndefined()
    expect(confirmed.body.data.user.name).toBe('Buy gold')
    expect(await tryCredential(app, { apiKey })).toBe('200')
    expect((await login(email, password, headers)).status).toBe(200)
  })

  test('cannot use the API key of another user as proof', async () => {
    const other = await signUp(OWNER)
    await confirm(other.email, OWNER)
    const { apiKey, email } = await signUp(ATTACKER)
    const confirmed = await confirm(email, OWNER, {}, { apiKey: other.apiKey })
    expect(confirmed.body.data.passwordReset.token).toMatch(/./)
    expect(await tryCredential(app, { apiKey })).toBe('401 invalid_credential')
  })
})

describe('guessing', () => {
  const guess = async (email: string, times: number) => {
    for (let count = 0; count < times; count += 1) await login(email, `guess number ${count}`, ATTACKER)
  }

  test('passwords does not lock the owner out on known networks and devices', async () => {
    const { email, password } = await signUp(OWNER)
    const { deviceToken } = (await confirm(email, OWNER)).body.data
    await guess(email, 8)
    expect((await login(email, password, ATTACKER)).body.code).toBe('too_many_attempts')
    expect((await login(email, password, OWNER)).status).toBe(200)
    const elsewhere = { ...OWNER, 'X-Forwarded-For': '203.0.113.5' }
    expect((await login(email, password, elsewhere)).body.code).toBe('too_many_attempts')
    expect((await login(email, password, elsewhere, { deviceToken })).status).toBe(200)
    const forged = `crd_${'A'.repeat(43)}`
    expect((await login(email, password, ATTACKER, { deviceToken: forged })).body.code).toBe('too_many_attempts')
  })

  test('passwords locks all unknown networks, and counts each known network separately', async () => {
    const { email, password } = await signUp(OWNER)
    await confirm(email, OWNER)
    await guess(email, 5)
    const others = { ...ATTACKER, 'X-Forwarded-For': '198.51.100.77' }
    expect((await login(email, 'yet another guess', others)).body.code).toBe('too_many_attempts')
    for (let count = 0; count < 5; count += 1) await login(email, 'not the password', OWNER)
    expect((await login(email, password, OWNER)).body.code).toBe('too_many_attempts')
  })

  test('codes does not prevent the owner from confirming', async () => {
    const { email } = await signUp(OWNER)
    const wrong = (await app.outbox.code(email)) === '000000' ? '000001' : '000000'
    for (let count = 0; count < 8; count += 1) await confirm(email, ATTACKER, { otp: wrong })
    expect((await confirm(email, ATTACKER)).body.code).toBe('too_many_attempts')
    expect((await confirm(email, OWNER)).status).toBe(200)
  })

  test('API keys is counted per network, and a valid key still works', async () => {
    const { apiKey, email } = await signUp(OWNER)
    await confirm(email, OWNER)
    const from = (last: number) => ({ 'X-Forwarded-For': `2001:db8:1:2::${last}` })
    const tries = (count: number, prefix = '2001:db8:1:2::') =>
      Promise.all(
        Array.from({ length: count }, (_, index) =>
          app.send('GET /api/users/me', {
            apiKey: `crier_${String(index).padStart(43, 'x')}`,
            headers: { 'X-Forwarded-For': `${prefix}${index}` },
          }),
        ),
      )
    expect((await tries(60)).map(({ status }) => status)).toEqual(Array.from({ length: 60 }, () => 401))
    const refused = (await tries(1))[0]
    expect([refused?.status, refused?.body.code, refused?.headers.get('retry-after')]).toEqual([
      429,
      'rate_limited',
      '1',
    ])
    expect((await tries(1, '2001:db8:1:3::'))[0]?.status).toBe(401)
    const socket = { extraHeaders: from(2) }
    expect(await sockets.refused({ token: `crier_${'y'.repeat(43)}` }, socket)).toBe('rate_limited')
    expect((await sockets.connect(apiKey, socket)).socket.connected).toBe(true)
    const good = await app.send('GET /api/users/me', { apiKey, headers: from(1) })
    expect(good.status, good.text).toBe(200)
  })
})
