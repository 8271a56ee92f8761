import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock, MINUTE, SECOND } from '../../src/core/clock.ts'
import { sha256 } from '../../src/tools/id.ts'
import { startApp, type App } from '../support/app.ts'
import { login, newAddress, refresh, signIn, signUp, tryCredential, verify } from '../support/people.ts'
import { waitFor } from '../support/wait.ts'

const NEW_PASSWORD = 'wrong pony charger pin'

let app: App
const clock = new ManualClock()

beforeAll(async () => {
  app = await startApp({ clock })
})
afterAll(() => app.stop())

const forgot = (email: string) => app.send('POST /api/auth/forgot-password', { body: { email } })
const resend = (email: string) => app.send('POST /api/auth/resend-otp', { body: { email } })
const reset = (token: string, password = NEW_PASSWORD) =>
  app.send('POST /api/auth/reset-password', { body: { token, password } })

const resetMails = async (email: string) =>
  (await app.outbox.mails(email)).filter(({ subject }) => /reset/i.test(subject ?? ''))

async function resetToken(email: string): Promise<string> {
  const before = (await resetMails(email)).length
  await forgot(email)
  const mails = await waitFor(async () => {
    const all = await resetMails(email)
    return all.length > before ? all : undefined
  })
  return /token=([\w-]+)/.exec(mails.at(-1)?.text ?? '')?.[1] ?? ''
}

/** Mails are sent after the reply. Once a mail that was requested later arrives, an earlier one would have arrived too. */
async function settle(): Promise<void> {
  const { email } = await signUp(app)
  await app.outbox.newest(email)
}

describe('a password reset', () => {
  test('sets the password, ends every session, keeps the API key and mails the owner', async () => {
    const ada = await signIn(app)
    expect(await tryCredential(app, { token: ada.accessToken })).toBe('200')
    const token = await resetToken(ada.email)
    expect((await reset(token)).status).toBe(200)
    expect(await tryCredential(app, { token: ada.accessToken })).toBe('401 invalid_credential')
    expect((await refresh(app, ada.refreshToken)).status).toBe(401)
    expect(await tryCredential(app, { apiKey: ada.apiKey })).toBe('200')
    expect((await login(app, ada.email, ada.password)).status).toBe(401)
    expect((await login(app, ada.email, NEW_PASSWORD)).status).toBe(200)
    expect((await app.outbox.newest(ada.email, /password was changed/)).html).toContain('sessions were ended')
  })

  test('names the API keys that still work, in the reply and in the mail', async () => {
    const ada = await signIn(app)
    const { body } = await reset(await resetToken(ada.email))
    const [key] = body.data.apiKeys
    expect(body.data).toEqual({
      apiKeys: [{ name: 'Default key', prefix: ada.apiKey.slice(0, key.prefix.length), lastUsedAt: null }],
      revokedApiKeysCount: 0,
    })
    expect(body.message).toContain(`API keys that still work: Default key (${key.prefix}…)`)
    const mail = await app.outbox.newest(ada.email, /password was changed/)
    expect(mail.text).toContain('These API keys still work')
    expect(mail.text).toContain(key.prefix)
    expect(mail.text).not.toContain(ada.apiKey)
  })

  test('revokes the API keys in the same step when asked to', async () => {
    const ada = await signIn(app)
    const body = { token: await resetToken(ada.email), password: NEW_PASSWORD, revokeApiKeys: true }
    const done = await app.send('POST /api/auth/reset-password', { body })
    expect(done.body.data).toEqual({ apiKeys: [], revokedApiKeysCount: 1 })
    expect(await tryCredential(app, { apiKey: ada.apiKey })).toBe('401 invalid_credential')
    expect((await app.outbox.newest(ada.email, /password was changed/)).text).toContain('no API keys that still work')
  })

  test('leaves the API keys alone when the token is wrong', async () => {
    const ada = await signIn(app)
    const body = { token: 'x'.repeat(43), password: NEW_PASSWORD, revokeApiKeys: true }
    const refused = await app.send('POST /api/auth/reset-password', { body })
    expect(refused.body.code).toBe('invalid_reset_token')
    expect(refused.text).not.toContain('Default key')
    expect(await tryCredential(app, { apiKey: ada.apiKey })).toBe('200')
  })

  test('works once, also with concurrent requests', async () => {
    const ada = await signIn(app)
    const token = await resetToken(ada.email)
    const replies = await Promise.all([reset(token), reset(token), reset(token)])
    expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 400, 400])
    expect((await reset(token)).body.code).toBe('invalid_reset_token')
  })

  test('works for thirty minutes', async () => {
    const ada = await signIn(app)
    const token = await resetToken(ada.email)
    clock.advance(30 * MINUTE)
    expect((await reset(token)).body.code).toBe('invalid_reset_token')
  })

  test('invalidates the other tokens of the user', async () => {
    const ada = await signIn(app)
    const first = await resetToken(ada.email)
    clock.advance(MINUTE)
    const second = await resetToken(ada.email)
    expect((await reset(first)).status).toBe(200)
    expect((await reset(second)).body.code).toBe('invalid_reset_token')
  })

  test('refuses a weak password and keeps the token valid', async () => {
    const ada = await signIn(app)
    const token = await resetToken(ada.email)
    expect((await reset(token, 'password123')).body.code).toBe('validation_failed')
    expect((await reset(token)).status).toBe(200)
  })

  test('stores only a digest of the token', async () => {
    const ada = await signIn(app)
    const token = await resetToken(ada.email)
    const rows = await app.database.rows<{ token_hash: string }>(
      'select token_hash from password_resets where user_id = $1',
      [ada.id],
    )
    expect(rows).toEqual([{ token_hash: sha256(token) }])
  })

  test('of an unconfirmed account ends all access of the person who signed up', async () => {
    const squatter = await signUp(app)
    expect(await tryCredential(app, { apiKey: squatter.apiKey })).toBe('200')
    const code = await app.outbox.code(squatter.email)
    expect((await reset(await resetToken(squatter.email))).status).toBe(200)
    expect(await tryCredential(app, { apiKey: squatter.apiKey })).toBe('401 invalid_credential')
    expect((await login(app, squatter.email, squatter.password)).body.code).toBe('wrong_login')
    expect((await verify(app, squatter.email, code)).body.code).toBe('wrong_code')
    const owner = await login(app, squatter.email, NEW_PASSWORD)
    expect(owner.body.data.user).toMatchObject({ emailVerified: true, apiKeyPrefix: null })
  })
})

describe('requesting a mail', () => {
  test('has the same reply for known, unknown and confirmed addresses', async () => {
    const waiting = await signUp(app)
    const confirmed = await signIn(app)
    const unknown = newAddress()
    for (const ask of [forgot, resend]) {
      const replies = await Promise.all([waiting.email, confirmed.email, unknown].map((email) => ask(email)))
      expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
      expect(replies[0]?.status).toBe(200)
    }
    await settle()
    expect(await app.outbox.mails(unknown)).toEqual([])
  })

  test('sends at most one code a minute, and only the newest works', async () => {
    const { email } = await signUp(app)
    const first = await app.outbox.code(email)
    for (let count = 0; count < 3; count += 1) await resend(email)
    await settle()
    expect(await app.outbox.mails(email)).toHaveLength(1)
    clock.advance(MINUTE)
    await resend(email)
    const mails = await waitFor(async () => {
      const all = await app.outbox.mails(email)
      return all.length === 2 ? all : undefined
    })
    const second = /\d{6}/.exec(mails[1]?.subject ?? '')?.[0] ?? ''
    if (second !== first) expect((await verify(app, email, first)).body.code).toBe('wrong_code')
    expect((await verify(app, email, second)).status).toBe(200)
  })

  test('sends no code to a confirmed address', async () => {
    const { email } = await signIn(app)
    clock.advance(2 * MINUTE)
    await resend(email)
    await settle()
    const codes = (await app.outbox.mails(email)).filter(({ subject }) => /code/.test(subject ?? ''))
    expect(codes).toHaveLength(1)
  })

  test('sends at most one reset link a minute', async () => {
    const { email } = await signIn(app)
    await resetToken(email)
    clock.advance(MINUTE - SECOND)
    await forgot(email)
    await settle()
    expect(await resetMails(email)).toHaveLength(1)
  })
})
