import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, ManualClock, MINUTE, SECOND } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { codeOf, turnOnSecondFactor, type SecondFactor } from '../support/authenticator.ts'
import { CLIENT, startOpenIdIssuer, type OpenIdIssuer } from '../support/openid-issuer.ts'
import { login, newAddress, PASSWORD, refresh, signIn, tryCredential, type SignedInPerson } from '../support/people.ts'
import { seedUser, seedWorkspace } from '../support/seed.ts'
import type { Reply } from '../support/send.ts'

/** Second factor: enrolment, sign-in, recovery codes, locks, fresh proof, and the reset by an administrator. */
let app: App
let issuer: OpenIdIssuer
// The issuer uses the system clock.
const clock = new ManualClock(new Date().getTime())

beforeAll(async () => {
  issuer = await startOpenIdIssuer()
  const configured = [{ name: 'acme', issuer: issuer.url, clientId: CLIENT.id, clientSecret: CLIENT.secret }]
  app = await startApp({ clock, env: { OIDC_ISSUERS: JSON.stringify(configured), TRUST_PROXY: '1' } })
})
afterAll(async () => {
  await app?.stop()
  await issuer?.close()
})

type Person = SignedInPerson & SecondFactor

/** A person with a second factor. The next code differs from the one of the enrolment. */
async function person(): Promise<Person> {
  const signedIn = await signIn(app)
  const factor = await turnOnSecondFactor(app, signedIn)
  clock.advance(30 * SECOND)
  return { ...signedIn, ...factor }
}

const now = (secret: string) => codeOf(secret, clock.now())
/** Six digits that are not a code of the secret around now. */
function wrongCode(secret: string): string {
  const right = [-30, 0, 30, 60].map((seconds) => codeOf(secret, clock.now() + seconds * SECOND))
  return ['000000', '111111', '222222', '333333', '444444'].find((code) => !right.includes(code)) ?? ''
}

async function challengeOf({ email }: { email: string }, headers: Record<string, string> = {}): Promise<string> {
  const reply = await login(app, email, PASSWORD, headers)
  expect(codeIn(reply)).toBe('403 second_factor_required')
  return reply.body['details'].challenge
}

const complete = (challenge: string, code: string, headers: Record<string, string> = {}) =>
  app.send('POST /api/auth/second-factor', { body: { challenge, code }, headers })
const codeIn = ({ body, status }: Reply) => (status < 300 ? String(status) : `${status} ${body.code}`)
const state = (credential: object) => app.send('GET /api/auth/totp', credential)

// First, because the tokens of the issuer follow the system clock.
test('a sign-in with a provider needs the second factor too', async () => {
  const account = { sub: 'grace', email: newAddress(), email_verified: true, name: 'Grace' }
  const send = async (nonce: string) =>
    app.send('POST /api/auth/oauth/{provider}', {
      path: { provider: 'acme' },
      body: { idToken: await issuer.idToken(account, { nonce }), nonce },
    })
  const first = await send('n-0001')
  const token = first.body.data.accessToken as string
  const enrolled = await app.send('POST /api/auth/totp', { token })
  const { secret } = enrolled.body.data
  await app.send('POST /api/auth/totp/confirm', { token, body: { code: now(secret) } })
  clock.advance(30 * SECOND)
  const reply = await send('n-0002')
  expect(codeIn(reply)).toBe('403 second_factor_required')
  const completed = await complete(reply.body['details'].challenge, now(secret))
  expect(completed.status, completed.text).toBe(200)
  const sessions = await app.send('GET /api/auth/sessions', { token: completed.body.data.accessToken })
  expect(sessions.body.data[0]).toMatchObject({ method: 'acme', secondFactor: 'totp' })
})

describe('enrolment', () => {
  test('gives a secret, an otpauth URI and a QR code, and changes sign-ins only after a right code', async () => {
    const { accessToken, email } = await signIn(app)
    const enrolled = await app.send('POST /api/auth/totp', { token: accessToken })
    expect(enrolled.status, enrolled.text).toBe(200)
    const { qrCode, secret, uri } = enrolled.body.data
    expect(new URL(uri).searchParams.get('secret')).toBe(secret)
    expect(Buffer.from(qrCode.split(',')[1], 'base64').toString()).toMatch(/^<svg [\s\S]*<\/svg>$/)
    expect((await login(app, email, PASSWORD)).status).toBe(200)
    const confirm = (code: string) => app.send('POST /api/auth/totp/confirm', { token: accessToken, body: { code } })
    expect(codeIn(await confirm(wrongCode(secret)))).toBe('403 wrong_second_factor')
    const confirmed = await confirm(now(secret))
    expect(confirmed.status, confirmed.text).toBe(200)
    const codes: string[] = confirmed.body.data.recoveryCodes
    expect([codes.length, new Set(codes).size]).toEqual([10, 10])
    expect(codes[0]).toMatch(/^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){3}$/)
    await challengeOf({ email })
    expect((await state({ token: accessToken })).body.data).toMatchObject({ enabled: true, recoveryCodesLeft: 10 })
    await app.outbox.newest(email, /second factor of your Crier account is on/)
  })

  test('stores neither the secret nor a recovery code in the clear, and does not export them', async () => {
    const { apiKey, recoveryCodes, secret } = await person()
    const stored = JSON.stringify([
      await app.database.rows('select * from totps'),
      await app.database.rows('select * from recovery_codes'),
    ])
    for (const text of [secret, ...recoveryCodes]) expect(stored).not.toContain(text)
    const exported = await app.send('GET /api/users/me/export', { apiKey })
    expect(exported.status, exported.text).toBe(200)
    expect(exported.text).not.toContain(secret)
  })

  test('must be confirmed within ten minutes, and starts again with another secret', async () => {
    const { apiKey, password } = await signIn(app)
    const enrol = async () => (await app.send('POST /api/auth/totp', { apiKey, body: { password } })).body.data.secret
    const confirm = (code: string) => app.send('POST /api/auth/totp/confirm', { apiKey, body: { code } })
    expect(codeIn(await confirm('123456'))).toBe('409 conflict')
    const first = await enrol()
    const second = await enrol()
    expect(codeIn(await confirm(now(first)))).toBe('403 wrong_second_factor')
    clock.advance(10 * MINUTE + SECOND)
    expect(codeIn(await confirm(now(second)))).toBe('409 conflict')
    const third = await enrol()
    expect(codeIn(await confirm(now(third)))).toBe('200')
    expect(codeIn(await app.send('POST /api/auth/totp', { apiKey, body: { password } }))).toBe(
      '403 wrong_second_factor',
    )
  })

  test('needs a fresh proof, and ends the other sessions but no API key', async () => {
    const { accessToken, apiKey, email, password, refreshToken } = await signIn(app)
    clock.advance(11 * MINUTE)
    expect(codeIn(await app.send('POST /api/auth/totp', { token: accessToken }))).toBe('403 fresh_login_needed')
    expect(codeIn(await app.send('POST /api/auth/totp', { apiKey }))).toBe('403 fresh_login_needed')
    const body = { password: 'not the password of this account' }
    expect(codeIn(await app.send('POST /api/auth/totp', { apiKey, body }))).toBe('403 wrong_password')
    const mine = (await login(app, email, password)).body.data
    const enrolled = await app.send('POST /api/auth/totp', { token: mine.accessToken })
    const code = now(enrolled.body.data.secret)
    await app.send('POST /api/auth/totp/confirm', { token: mine.accessToken, body: { code } })
    expect(await tryCredential(app, { token: accessToken })).toBe('401 invalid_credential')
    expect(codeIn(await refresh(app, refreshToken))).toBe('401 invalid_refresh_token')
    expect(await tryCredential(app, { token: mine.accessToken })).toBe('200')
    expect(await tryCredential(app, { apiKey })).toBe('200')
  })
})

describe('a sign-in with a password', () => {
  test('is completed by a code, and its session refreshes without one', async () => {
    const ada = await person()
    const reply = await complete(await challengeOf(ada), now(ada.secret))
    expect(reply.status, reply.text).toBe(200)
    const { accessToken, refreshToken, user } = reply.body.data
    expect(user).toMatchObject({ _id: ada.id, email: ada.email })
    const sessions = await app.send('GET /api/auth/sessions', { token: accessToken })
    const current = sessions.body.data.find((session: { current: boolean }) => session.current)
    expect(current).toMatchObject({ method: 'password', secondFactor: 'totp' })
    clock.advance(DAY)
    expect(codeIn(await refresh(app, refreshToken))).toBe('200')
  })

  test('never accepts the same code twice, not even at the same time', async () => {
    const ada = await person()
    const challenges = await Promise.all([1, 2, 3].map(() => challengeOf(ada)))
    const code = now(ada.secret)
    const replies = await Promise.all(challenges.map((challenge) => complete(challenge, code)))
    expect(replies.map(codeIn).toSorted()).toEqual(['200', '403 wrong_second_factor', '403 wrong_second_factor'])
    expect(codeIn(await complete(await challengeOf(ada), code))).toBe('403 wrong_second_factor')
    // An earlier code is not accepted after a later one either.
    expect(codeIn(await complete(await challengeOf(ada), codeOf(ada.secret, clock.now() - 30 * SECOND)))).toBe(
      '403 wrong_second_factor',
    )
    clock.advance(30 * SECOND)
    expect(codeIn(await complete(await challengeOf(ada), now(ada.secret)))).toBe('200')
  })

  test('can be completed once, within five minutes, and not after a change of the password', async () => {
    const ada = await person()
    const challenge = await challengeOf(ada)
    expect(codeIn(await complete(challenge, now(ada.secret)))).toBe('200')
    clock.advance(30 * SECOND)
    expect(codeIn(await complete(challenge, now(ada.secret)))).toBe('401 sign_in_expired')
    expect(codeIn(await complete(`${challenge}x`, now(ada.secret)))).toBe('401 sign_in_expired')
    const late = await challengeOf(ada)
    clock.advance(5 * MINUTE)
    expect(codeIn(await complete(late, now(ada.secret)))).toBe('401 sign_in_expired')
    const stale = await challengeOf(ada)
    clock.advance(SECOND)
    await resetPassword(ada.email, 'another fine long password')
    expect(codeIn(await complete(stale, now(ada.secret)))).toBe('401 sign_in_expired')
  })

  test('a password reset does not replace the second factor', async () => {
    const ada = await person()
    await resetPassword(ada.email, 'another fine long password')
    expect(codeIn(await login(app, ada.email, 'another fine long password'))).toBe('403 second_factor_required')
  })

  test('a challenge is no access token', async () => {
    const challenge = await challengeOf(await person())
    expect(await tryCredential(app, { token: challenge })).toBe('401 invalid_credential')
  })
})

test('a recovery code works once, in any spelling, and the owner gets a mail', async () => {
  const ada = await person()
  const [first = '', second = ''] = ada.recoveryCodes
  const reply = await complete(await challengeOf(ada), first.toUpperCase().replaceAll('-', ' '))
  expect(reply.status, reply.text).toBe(200)
  const mail = await app.outbox.newest(ada.email, /recovery code of your Crier account was used/)
  expect(mail.text).toContain('9 codes are left')
  expect(codeIn(await complete(await challengeOf(ada), first))).toBe('403 wrong_second_factor')
  expect((await state(ada)).body.data).toMatchObject({ recoveryCodesLeft: 9 })
  const token = reply.body.data.accessToken as string
  const renewed = await app.send('POST /api/auth/totp/recovery-codes', { token })
  expect(renewed.status, renewed.text).toBe(200)
  expect(codeIn(await complete(await challengeOf(ada), second))).toBe('403 wrong_second_factor')
  expect(codeIn(await complete(await challengeOf(ada), renewed.body.data.recoveryCodes[0]))).toBe('200')
})

test('a recovery code of another account does not work', async () => {
  const [ada, eve] = [await person(), await person()]
  expect(codeIn(await complete(await challengeOf(ada), eve.recoveryCodes[0] ?? ''))).toBe('403 wrong_second_factor')
  expect(codeIn(await complete(await challengeOf(eve), eve.recoveryCodes[0] ?? ''))).toBe('200')
})

test('wrong codes lock the network that sends them, and not the owner', async () => {
  const ada = await person()
  const from = (ip: string) => ({ 'X-Forwarded-For': ip })
  const attacker = from('203.0.113.9')
  const challenge = await challengeOf(ada, attacker)
  const wrong = wrongCode(ada.secret)
  for (let tries = 0; tries < 5; tries += 1) {
    expect(codeIn(await complete(challenge, wrong, attacker))).toBe('403 wrong_second_factor')
  }
  const locked = await complete(challenge, now(ada.secret), attacker)
  expect(codeIn(locked)).toBe('429 too_many_attempts')
  expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(0)
  // The owner signs in from a network that is known, while the lock of the others lasts.
  expect(codeIn(await complete(await challengeOf(ada), now(ada.secret)))).toBe('200')
  clock.advance(MINUTE)
  expect(codeIn(await complete(challenge, now(ada.secret), attacker))).toBe('200')
})

describe('turning it off', () => {
  test('needs the password and a code, or a fresh login', async () => {
    const ada = await person()
    const session = await complete(await challengeOf(ada), now(ada.secret))
    clock.advance(11 * MINUTE)
    const off = (credential: object, body?: object) => app.send('DELETE /api/auth/totp', { ...credential, body })
    const { apiKey, password } = ada
    expect(codeIn(await off({ token: session.body.data.accessToken }))).toBe('403 fresh_login_needed')
    expect(codeIn(await off({ apiKey }, { password }))).toBe('403 wrong_second_factor')
    expect(codeIn(await off({ apiKey }, { password, code: wrongCode(ada.secret) }))).toBe('403 wrong_second_factor')
    expect(codeIn(await off({ apiKey }, { password: 'not the password', code: now(ada.secret) }))).toBe(
      '403 wrong_password',
    )
    expect(codeIn(await off({ apiKey }, { password, code: now(ada.secret) }))).toBe('200')
    expect(codeIn(await login(app, ada.email, PASSWORD))).toBe('200')
    expect(codeIn(await off({ apiKey }, { password }))).toBe('409 conflict')
    expect(codeIn(await app.send('POST /api/auth/totp/recovery-codes', { apiKey }))).toBe('409 conflict')
    await app.outbox.newest(ada.email, /second factor of your Crier account is off/)
    const bob = await person()
    const reply = await complete(await challengeOf(bob), bob.recoveryCodes[0] ?? '')
    expect(codeIn(await off({ token: reply.body.data.accessToken }))).toBe('200')
    expect(await app.database.rows('select 1 from recovery_codes where user_id = $1', [bob.id])).toEqual([])
  })

  test('deleting the account by password needs a code too', async () => {
    const { apiKey, password, recoveryCodes } = await person()
    const remove = (body: object) => app.send('DELETE /api/users/me', { apiKey, body })
    expect(codeIn(await remove({ password }))).toBe('403 wrong_second_factor')
    expect(codeIn(await remove({ password, code: recoveryCodes[0] }))).toBe('200')
  })

  test('is possible for an administrator, with a mail and audit entries', async () => {
    const admin = await seedUser(app, 'admin', { admin: true })
    const ada = await person()
    const workspaceId = await seedWorkspace(app, 'acme', { ...ada, name: 'Ada' })
    const reset = (id: string, apiKey = admin.apiKey) =>
      app.send('POST /api/users/{id}/second-factor/reset', { apiKey, path: { id }, body: { reason: 'Lost phone' } })
    expect(codeIn(await reset(ada.id, ada.apiKey))).toBe('403 forbidden')
    expect(codeIn(await reset(workspaceId))).toBe('404 not_found')
    expect(codeIn(await reset(ada.id))).toBe('200')
    expect(codeIn(await reset(ada.id))).toBe('409 conflict')
    expect(codeIn(await login(app, ada.email, PASSWORD))).toBe('200')
    await app.outbox.newest(ada.email, /second factor of your Crier account was turned off/)
    const log = await app.send('GET /api/workspaces/{workspaceId}/audit-log', {
      apiKey: ada.apiKey,
      path: { workspaceId },
    })
    expect(log.body.data[0]).toMatchObject({
      action: 'resetSecondFactor',
      actor: { _id: admin.id },
      target: { kind: 'user', _id: ada.id },
      details: { reason: 'Lost phone' },
    })
  })
})

async function resetPassword(email: string, password: string): Promise<void> {
  await app.send('POST /api/auth/forgot-password', { body: { email } })
  const mail = await app.outbox.newest(email, /reset/i)
  const token = /token=([\w-]+)/.exec(mail.text ?? '')?.[1]
  expect((await app.send('POST /api/auth/reset-password', { body: { token, password } })).status).toBe(200)
}
