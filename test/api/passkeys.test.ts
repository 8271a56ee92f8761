import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock, MINUTE, systemClock } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { turnOnSecondFactor } from '../support/authenticator.ts'
import { registerPasskey, SoftwareAuthenticator, type SoftwareOptions } from '../support/passkey.ts'
import { PASSWORD, seedUser } from '../support/seed.ts'
import { newName } from '../support/stage.ts'
import type { Reply } from '../support/send.ts'

/** Registration of passkeys and sign-in with them, with an authenticator in software that also misbehaves. */
let app: App
const clock = new ManualClock(systemClock.now())

beforeAll(async () => {
  app = await startApp({ clock, env: { CORS_ORIGINS: 'http://app.localhost:5173' } })
})
afterAll(() => app?.stop())

const newUser = () => seedUser(app, newName('person'))
const codeIn = ({ body, status }: Reply) => (status < 300 ? String(status) : `${status} ${body.code}`)
const creationOptions = async (apiKey: string) =>
  (await app.send('POST /api/auth/passkeys/options', { apiKey, body: { password: PASSWORD } })).body.data.options
const requestOptions = async () => (await app.send('POST /api/auth/passkeys/sign-in/options')).body.data.options
const register = (apiKey: string, response: object) =>
  app.send('POST /api/auth/passkeys', { apiKey, body: { response } })
const signIn = (response: object) => app.send('POST /api/auth/passkeys/sign-in', { body: { response } })

const remove = (apiKey: string, id: string, body: object = { password: PASSWORD }) =>
  app.send('DELETE /api/auth/passkeys/{id}', { apiKey, path: { id }, body })

test('a passkey signs in without a password or a second factor', async () => {
  const user = await newUser()
  const { authenticator } = await registerPasskey(app, user)
  await turnOnSecondFactor(app, user)
  const reply = await signIn(authenticator.get(await requestOptions()))
  expect(reply.status).toBe(200)
  expect(reply.body.data.user.email).toBe(user.email)
  const sessions = await app.send('GET /api/auth/sessions', { token: reply.body.data.accessToken })
  expect(sessions.body.data).toEqual([expect.objectContaining({ method: 'passkey', current: true })])
  const listed = await app.send('GET /api/auth/passkeys', { apiKey: user.apiKey })
  expect(listed.body.data).toEqual([expect.objectContaining({ name: 'Laptop', lastUsedAt: expect.any(String) })])
})

test('the options exclude the passkeys that the account has, and say nothing about other accounts', async () => {
  const user = await newUser()
  const { authenticator } = await registerPasskey(app, user)
  const options = await creationOptions(user.apiKey)
  expect(options.excludeCredentials).toEqual([{ id: authenticator.id, type: 'public-key', transports: ['internal'] }])
  expect(options.authenticatorSelection).toMatchObject({ residentKey: 'required', userVerification: 'required' })
  expect(await requestOptions()).not.toHaveProperty('allowCredentials')
})

test('the owner gets a mail when a passkey is added or deleted', async () => {
  const user = await newUser()
  const { passkey } = await registerPasskey(app, user)
  expect((await app.outbox.newest(user.email, /passkey was added/)).text).toContain('Laptop')
  await remove(user.apiKey, passkey._id)
  expect((await app.outbox.newest(user.email, /passkey .* was deleted/)).text).toContain('Laptop')
})

test('deleting a passkey needs the password or a fresh login', async () => {
  const { apiKey, ...user } = await newUser()
  const { passkey } = await registerPasskey(app, { ...user, apiKey })
  expect(codeIn(await remove(apiKey, passkey._id, {}))).toBe('403 fresh_login_needed')
  expect(codeIn(await remove(apiKey, passkey._id))).toBe('200')
  expect(codeIn(await remove(apiKey, passkey._id))).toBe('404 not_found')
})

test('a registration needs the password or a fresh login', async () => {
  const user = await newUser()
  const send = (body: object) => app.send('POST /api/auth/passkeys/options', { apiKey: user.apiKey, body })
  expect(codeIn(await send({}))).toBe('403 fresh_login_needed')
  expect(codeIn(await send({ password: 'not the password at all' }))).toBe('403 wrong_password')
})

describe('a registration is refused', () => {
  test.each<[string, SoftwareOptions]>([
    ['from a page of another origin', { origin: 'https://crier.example.net' }],
    ['without verification of the user', { unverified: true }],
  ])('%s', async (_case, options) => {
    const { apiKey } = await newUser()
    const response = new SoftwareAuthenticator(app).create(await creationOptions(apiKey), options)
    expect(codeIn(await register(apiKey, response))).toBe('403 passkey_refused')
  })

  test('with the challenge of another user, or of a sign-in', async () => {
    const ada = await newUser()
    const bob = await newUser()
    const options = await creationOptions(ada.apiKey)
    expect(codeIn(await register(bob.apiKey, new SoftwareAuthenticator(app).create(options)))).toBe(
      '403 passkey_refused',
    )
    const { challenge } = await requestOptions()
    const response = new SoftwareAuthenticator(app).create({ ...options, challenge })
    expect(codeIn(await register(ada.apiKey, response))).toBe('403 passkey_refused')
  })

  test('for a credential that another account has', async () => {
    const { authenticator } = await registerPasskey(app, await newUser())
    const { apiKey } = await newUser()
    expect(codeIn(await register(apiKey, authenticator.create(await creationOptions(apiKey))))).toBe(
      '403 passkey_refused',
    )
  })

  test('for the second of two requests with one challenge', async () => {
    const { apiKey } = await newUser()
    const options = await creationOptions(apiKey)
    const responses = [1, 2].map(() => new SoftwareAuthenticator(app).create(options))
    const replies = await Promise.all(responses.map((response) => register(apiKey, response)))
    expect(replies.map(codeIn).sort()).toEqual(['201', '403 passkey_refused'])
  })

  test('beyond 20 passkeys', async () => {
    const user = await newUser()
    const options = await creationOptions(user.apiKey)
    for (let count = 0; count < 20; count += 1) await registerPasskey(app, user)
    const response = new SoftwareAuthenticator(app).create(options)
    expect(codeIn(await register(user.apiKey, response))).toBe('409 too_many_passkeys')
  })
})

describe('a sign-in is refused', () => {
  const refused = '403 passkey_refused'

  test.each<[string, SoftwareOptions]>([
    ['from a page of another origin', { origin: 'https://crier.example.net' }],
    ['without verification of the user', { unverified: true }],
  ])('%s', async (_case, options) => {
    const { authenticator } = await registerPasskey(app, await newUser())
    expect(codeIn(await signIn(authenticator.get(await requestOptions(), options)))).toBe(refused)
  })

  test('with a signature of another key', async () => {
    const { authenticator } = await registerPasskey(app, await newUser())
    const stranger = new SoftwareAuthenticator(app).get(await requestOptions())
    expect(codeIn(await signIn({ ...stranger, id: authenticator.id, rawId: authenticator.id }))).toBe(refused)
  })

  test('when the counter goes back, as that of a copied authenticator', async () => {
    const { authenticator } = await registerPasskey(app, await newUser())
    expect(codeIn(await signIn(authenticator.get(await requestOptions(), { counter: 9 })))).toBe('200')
    expect(codeIn(await signIn(authenticator.get(await requestOptions(), { counter: 9 })))).toBe(refused)
    expect(codeIn(await signIn(authenticator.get(await requestOptions(), { counter: 10 })))).toBe('200')
  })

  test('with a challenge that was used, has expired, or was never issued', async () => {
    const { authenticator } = await registerPasskey(app, await newUser())
    const options = await requestOptions()
    const response = authenticator.get(options)
    const replies = await Promise.all([signIn(response), signIn(response)])
    expect(replies.map(codeIn).sort()).toEqual(['200', refused])
    const late = await requestOptions()
    clock.advance(5 * MINUTE)
    expect(codeIn(await signIn(authenticator.get(late)))).toBe(refused)
    const forged = { ...options, challenge: Buffer.alloc(54).toString('base64url') }
    expect(codeIn(await signIn(authenticator.get(forged)))).toBe(refused)
  })

  test('after the passkey was deleted, which ends its sessions', async () => {
    const user = await newUser()
    const { authenticator, passkey } = await registerPasskey(app, user)
    const { body } = await signIn(authenticator.get(await requestOptions()))
    await remove(user.apiKey, passkey._id)
    expect(codeIn(await signIn(authenticator.get(await requestOptions())))).toBe(refused)
    expect((await app.send('GET /api/users/me', { token: body.data.accessToken })).status).toBe(401)
  })
})

test('pages of CORS_ORIGINS within the domain can use passkeys', async () => {
  const { apiKey } = await newUser()
  const authenticator = new SoftwareAuthenticator(app)
  const origin = 'http://app.localhost:5173'
  expect(codeIn(await register(apiKey, authenticator.create(await creationOptions(apiKey), { origin })))).toBe('201')
  expect(codeIn(await signIn(authenticator.get(await requestOptions(), { origin })))).toBe('200')
})
