import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock, MINUTE } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { login, newAddress, PASSWORD, signIn, signUp, verify } from '../support/people.ts'

let app: App
const clock = new ManualClock()

beforeAll(async () => {
  app = await startApp({ clock })
})
afterAll(() => app.stop())

describe('sign-up', () => {
  test('creates a user and an API key that works at once, and mails a code', async () => {
    const email = newAddress()
    const reply = await app.send('POST /api/auth/signup', { body: { email, password: PASSWORD, name: 'Ada' } })
    expect(reply.status).toBe(201)
    expect(Object.keys(reply.body)).toEqual(['message', 'user'])
    const { user } = reply.body
    const { apiKey } = user
    expect(user).toMatchObject({ email, name: 'Ada', emailVerified: false, isAdmin: false })
    expect(user.subscription).toMatchObject({ plan: 'free', status: 'active' })
    expect(apiKey).toMatch(/^crier_[\w-]{43}$/)
    expect(user.apiKeyPrefix).toBe(apiKey.slice(0, 12))
    const me = await app.send('GET /api/users/me', { apiKey })
    expect(me.body.data).toMatchObject({ _id: user._id, email })
    expect(me.headers.get('etag')).toBe('"1"')
    expect(me.text).not.toContain(apiKey)
    const mail = await app.outbox.newest(email)
    expect(mail.subject).toMatch(/\b\d{6}\b/)
    expect(mail.text).toContain(/\d{6}/.exec(mail.subject ?? '')?.[0])
    expect(mail.html).toContain(/\d{6}/.exec(mail.subject ?? '')?.[0])
    expect(mail.messageId).toBeTruthy()
    expect(mail.date).toBeTruthy()
  })

  test('refuses an address that is in use, in any spelling', async () => {
    const { email } = await signUp(app)
    const again = await app.send('POST /api/auth/signup', {
      body: { email: ` ${email.toUpperCase()} `, password: PASSWORD },
    })
    expect(again.status).toBe(400)
    expect(again.body.code).toBe('email_in_use')
    expect(again.body.errors[0].path).toBe('/body/email')
  })

  test('succeeds once for concurrent requests with one address', async () => {
    const email = newAddress()
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => app.send('POST /api/auth/signup', { body: { email, password: PASSWORD } })),
    )
    expect(replies.map((reply) => reply.status).sort((a, b) => a - b)).toEqual([201, 400, 400, 400, 400])
  })

  test('refuses weak passwords with the reason', async () => {
    for (const password of ['short', 'password123', 'qwertyuiop', 'aaaaaaaaaaaa', 'weak.person@example.com']) {
      const reply = await app.send('POST /api/auth/signup', { body: { email: 'weak.person@example.com', password } })
      expect(reply.status, password).toBe(400)
      expect(reply.body.errors[0].path, password).toBe('/body/password')
    }
  })

  test('accepts passwords with spaces unchanged', async () => {
    const { email } = await signUp(app, newAddress(), '  two blanks before ')
    await verify(app, email, await app.outbox.code(email))
    expect((await login(app, email, 'two blanks before')).status).toBe(401)
    expect((await login(app, email, '  two blanks before ')).status).toBe(200)
  })
})

describe('one-time codes', () => {
  test('confirm the address once and sign in', async () => {
    const { email } = await signUp(app)
    const code = await app.outbox.code(email)
    const first = await verify(app, email, code)
    expect(first.body.data.user.emailVerified).toBe(true)
    expect(first.body.data.expiresIn).toBe(900)
    const me = await app.send('GET /api/users/me', { token: first.body.data.accessToken })
    expect(me.status).toBe(200)
    const second = await verify(app, email, code)
    expect(second.body.code).toBe('wrong_code')
  })

  test('are invalid after five wrong attempts, including concurrent ones', async () => {
    const { email } = await signUp(app)
    const code = await app.outbox.code(email)
    const wrong = code === '000000' ? '000001' : '000000'
    const replies = await Promise.all(Array.from({ length: 5 }, () => verify(app, email, wrong)))
    expect(new Set(replies.map((reply) => reply.body.code))).toEqual(new Set(['wrong_code']))
    clock.advance(2_000)
    expect((await verify(app, email, code)).body.code).toBe('wrong_code')
  })

  test('expire after ten minutes', async () => {
    const { email } = await signUp(app)
    const code = await app.outbox.code(email)
    clock.advance(10 * MINUTE)
    expect((await verify(app, email, code)).body.code).toBe('wrong_code')
  })

  test('are stored neither in plain text nor as a plain digest', async () => {
    const { email, id } = await signUp(app)
    const code = await app.outbox.code(email)
    const row = await app.database.row<{ code_hash: string }>(
      'select code_hash from one_time_codes where user_id = $1',
      [id],
    )
    for (const text of [code, `${id}${code}`, `${id} ${code}`]) {
      expect(row?.code_hash).not.toBe(createHash('sha256').update(text).digest('hex'))
    }
    expect(row?.code_hash).not.toContain(code)
  })
})

describe('login', () => {
  test('gives the same reply for an unknown address and a wrong password', async () => {
    const { email } = await signIn(app)
    const wrong = await login(app, email, 'not the password')
    const unknown = await login(app, newAddress(), 'not the password')
    expect(wrong.status).toBe(401)
    const bare = ({ body }: typeof wrong) => ({ ...body, requestId: '' })
    expect(bare(unknown)).toEqual(bare(wrong))
  })

  test('reports an unconfirmed address only for the correct password', async () => {
    const { email, password } = await signUp(app)
    expect((await login(app, email, 'not the password')).body.code).toBe('wrong_login')
    const right = await login(app, email, password)
    expect(right.status).toBe(403)
    expect(right.body.code).toBe('email_unverified')
  })

  test('returns tokens and the user', async () => {
    const { email, password } = await signIn(app)
    const reply = await login(app, email.toUpperCase(), password)
    expect(reply.status).toBe(200)
    expect(reply.body.data.user.email).toBe(email)
    expect((await app.send('GET /api/users/me', { token: reply.body.data.accessToken })).status).toBe(200)
  })
})
