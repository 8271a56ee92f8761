import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { HOUR, ManualClock, MINUTE, SECOND } from '../../src/core/clock.ts'
import { PasswordHasher } from '../../src/domains/identity/auth/passwords.ts'
import { startApp, type App } from '../support/app.ts'
import { login, newAddress, signIn, signUp, verify } from '../support/people.ts'
import type { Reply } from '../support/send.ts'

let app: App
const clock = new ManualClock()

beforeAll(async () => {
  app = await startApp({ clock })
})
afterAll(() => app.stop())

const wait = ({ headers }: Reply) => Number(headers.get('retry-after'))

describe('the lock on an address', () => {
  test('grows from one second to fifteen minutes, with and without an account', async () => {
    const { email } = await signIn(app)
    for (const address of [email, newAddress()]) {
      const waits: number[] = []
      for (let failures = 1; failures <= 16; failures += 1) {
        const failed = await login(app, address, 'not the password')
        expect(failed.body.code).toBe('wrong_login')
        const locked = failures < 5 ? undefined : await login(app, address, 'not the password')
        if (locked === undefined) continue
        expect(locked.status).toBe(429)
        expect(locked.body.code).toBe('too_many_attempts')
        waits.push(wait(locked))
        clock.advance(wait(locked) * SECOND)
      }
      expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900])
    }
  })

  test('applies to the correct password too, and ends with a login', async () => {
    const { email, password } = await signIn(app)
    for (let failures = 0; failures < 6; failures += 1) {
      await login(app, email, 'not the password')
      if (failures === 4) clock.advance(SECOND)
    }
    expect((await login(app, email, password)).status).toBe(429)
    clock.advance(2 * SECOND)
    expect((await login(app, email, password)).status).toBe(200)
    for (let failures = 0; failures < 4; failures += 1) {
      expect((await login(app, email, 'not the password')).status).toBe(401)
    }
    expect((await login(app, email, password)).status).toBe(200)
  })

  test('cannot be bypassed with concurrent attempts', async () => {
    const { email } = await signIn(app)
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, index) => login(app, email, `guess number ${index}`)),
    )
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(5)
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(25)
  })

  test('ends with a password reset', async () => {
    const { email } = await signIn(app)
    for (let failures = 0; failures < 5; failures += 1) await login(app, email, 'not the password')
    expect((await login(app, email, 'not the password')).status).toBe(429)
    await app.send('POST /api/auth/forgot-password', { body: { email } })
    const mail = await app.outbox.newest(email, /Reset/)
    const token = /token=([\w-]+)/.exec(mail.text ?? '')?.[1]
    await app.send('POST /api/auth/reset-password', { body: { token, password: 'wrong pony charger pin' } })
    expect((await login(app, email, 'wrong pony charger pin')).status).toBe(200)
  })

  test('expires after an hour and is then deleted', async () => {
    const address = newAddress()
    for (let failures = 0; failures < 5; failures += 1) await login(app, address, 'not the password')
    clock.advance(HOUR + MINUTE + SECOND)
    expect((await login(app, address, 'not the password')).status).toBe(401)
    expect((await login(app, address, 'not the password')).status).toBe(401)
  })

  test('applies to codes too, across several codes', async () => {
    const { email } = await signUp(app)
    const wrong = (await app.outbox.code(email)) === '000000' ? '000001' : '000000'
    for (let failures = 0; failures < 5; failures += 1) {
      expect((await verify(app, email, wrong)).body.code).toBe('wrong_code')
    }
    expect((await verify(app, email, wrong)).body.code).toBe('too_many_attempts')
    const unknown = newAddress()
    for (let failures = 0; failures < 5; failures += 1) {
      expect((await verify(app, unknown, wrong)).body.code).toBe('wrong_code')
    }
    expect((await verify(app, unknown, wrong)).body.code).toBe('too_many_attempts')
  })
})

describe('the duration of a login', () => {
  test('does not reveal whether the address has an account', async () => {
    const { email } = await signIn(app)
    // Nearly all of the time goes into the check of a password. That it takes as long without a hash is tested in
    // src/domains/identity/auth/passwords.test.ts.
    const verify = vi.spyOn(PasswordHasher.prototype, 'verify')
    onTestFinished(() => verify.mockRestore())
    for (const address of [email, newAddress()]) {
      expect((await login(app, address, 'not the password')).status).toBe(401)
    }
    const hashes = verify.mock.calls.map(([stored]) => typeof stored)
    expect(hashes).toEqual(['string', 'undefined'])
  })
})

describe('a flood of logins', () => {
  test('is refused in part and does not delay other requests', async () => {
    const flood = Promise.all(Array.from({ length: 200 }, () => login(app, newAddress(), 'not the password')))
    const state = { over: false }
    const answered = flood.finally(() => {
      state.over = true
    })
    let others = 0
    for (; !state.over; others += 1) expect((await app.send('GET /api/health')).status).toBe(200)
    const replies = await answered
    const refused = replies.filter(({ status }) => status === 503)
    expect(replies.filter(({ status }) => status === 401).length + refused.length).toBe(200)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused[0]?.body.code).toBe('overloaded')
    expect(refused[0]?.headers.get('retry-after')).toBe('2')
    // At least 66 hashes are made, two at a time. Each takes more than ten times as long as such a request.
    expect(others).toBeGreaterThan(20)
  })
})
