import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock, MINUTE } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'

const PASSWORD = 'correct horse battery staple'

let app: App
const clock = new ManualClock()

beforeAll(async () => {
  app = await startApp({ clock })
})
afterAll(() => app.stop())

let people = 0
const newAddress = () => `person${(people += 1)}@example.com`

async function signUp(email = newAddress(), password = PASSWORD) {
  const answer = await app.send('POST /api/auth/signup', { body: { email, password, name: 'Ada' } })
  expect(answer.status, answer.text).toBe(201)
  return { email, password, apiKey: answer.body.user.apiKey as string, user: answer.body.user }
}

const verify = (email: string, otp: string) => app.send('POST /api/auth/verify-otp', { body: { email, otp } })
const login = (email: string, password: string) => app.send('POST /api/auth/login', { body: { email, password } })

async function verifiedUser() {
  const person = await signUp()
  const answer = await verify(person.email, await app.outbox.code(person.email))
  expect(answer.status, answer.text).toBe(200)
  return { ...person, ...(answer.body.data as { accessToken: string; refreshToken: string }) }
}

describe('signing up', () => {
  test('gives a user, an API key that works at once, and a mail with a code', async () => {
    const { email, user, apiKey } = await signUp()
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

  test('refuses an address that is taken, however it is spelt', async () => {
    const { email } = await signUp()
    const again = await app.send('POST /api/auth/signup', {
      body: { email: ` ${email.toUpperCase()} `, password: PASSWORD },
    })
    expect(again.status).toBe(400)
    expect(again.body.code).toBe('email_in_use')
    expect(again.body.errors[0].path).toBe('/body/email')
  })

  test('of one address at once succeeds once', async () => {
    const email = newAddress()
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => app.send('POST /api/auth/signup', { body: { email, password: PASSWORD } })),
    )
    expect(answers.map((answer) => answer.status).sort((a, b) => a - b)).toEqual([201, 400, 400, 400, 400])
  })

  test('refuses weak passwords and says why', async () => {
    for (const password of ['short', 'password123', 'qwertyuiop', 'aaaaaaaaaaaa', 'weak.person@example.com']) {
      const answer = await app.send('POST /api/auth/signup', { body: { email: 'weak.person@example.com', password } })
      expect(answer.status, password).toBe(400)
      expect(answer.body.errors[0].path, password).toBe('/body/password')
    }
  })

  test('takes blanks in passwords as they are', async () => {
    const { email } = await signUp(newAddress(), '  two blanks before ')
    await verify(email, await app.outbox.code(email))
    expect((await login(email, 'two blanks before')).status).toBe(401)
    expect((await login(email, '  two blanks before ')).status).toBe(200)
  })
})

describe('one-time codes', () => {
  test('confirm the address once and sign in', async () => {
    const { email } = await signUp()
    const code = await app.outbox.code(email)
    const first = await verify(email, code)
    expect(first.body.data.user.emailVerified).toBe(true)
    expect(first.body.data.expiresIn).toBe(900)
    const me = await app.send('GET /api/users/me', { token: first.body.data.accessToken })
    expect(me.status).toBe(200)
    const second = await verify(email, code)
    expect(second.body.code).toBe('wrong_code')
  })

  test('are used up by five wrong tries, also when they come at once', async () => {
    const { email } = await signUp()
    const code = await app.outbox.code(email)
    const wrong = code === '000000' ? '000001' : '000000'
    const answers = await Promise.all(Array.from({ length: 5 }, () => verify(email, wrong)))
    expect(new Set(answers.map((answer) => answer.body.code))).toEqual(new Set(['wrong_code']))
    clock.advance(2_000)
    expect((await verify(email, code)).body.code).toBe('wrong_code')
  })

  test('expire after ten minutes', async () => {
    const { email } = await signUp()
    const code = await app.outbox.code(email)
    clock.advance(10 * MINUTE)
    expect((await verify(email, code)).body.code).toBe('wrong_code')
  })

  test('are not stored in the clear, nor as a plain digest', async () => {
    const { email, user } = await signUp()
    const code = await app.outbox.code(email)
    const row = await app.database.row<{ code_hash: string }>(
      'select code_hash from one_time_codes where user_id = $1',
      [user._id],
    )
    const { createHash } = await import('node:crypto')
    for (const text of [code, `${user._id}${code}`, `${user._id} ${code}`]) {
      expect(row?.code_hash).not.toBe(createHash('sha256').update(text).digest('hex'))
    }
    expect(row?.code_hash).not.toContain(code)
  })
})

describe('login', () => {
  test('answers an unknown address and a wrong password alike', async () => {
    const { email } = await verifiedUser()
    const wrong = await login(email, 'not the password')
    const unknown = await login(newAddress(), 'not the password')
    expect(wrong.status).toBe(401)
    const bare = ({ body }: typeof wrong) => ({ ...body, requestId: '' })
    expect(bare(unknown)).toEqual(bare(wrong))
  })

  test('of an unconfirmed address says so only after the right password', async () => {
    const { email, password } = await signUp()
    expect((await login(email, 'not the password')).body.code).toBe('wrong_login')
    const right = await login(email, password)
    expect(right.status).toBe(403)
    expect(right.body.code).toBe('email_unverified')
  })

  test('gives tokens and the user', async () => {
    const { email, password } = await verifiedUser()
    const answer = await login(email.toUpperCase(), password)
    expect(answer.status).toBe(200)
    expect(answer.body.data.user.email).toBe(email)
    expect((await app.send('GET /api/users/me', { token: answer.body.data.accessToken })).status).toBe(200)
  })
})
