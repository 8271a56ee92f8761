import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOUR, ManualClock, MINUTE, SECOND } from '../../src/core/clock.ts'
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
    const known = await Promise.all(Array.from({ length: 8 }, () => signIn(app)))
    const timeOf = async (address: string) => {
      const start = performance.now()
      expect((await login(app, address, 'not the password')).status).toBe(401)
      return performance.now() - start
    }
    const times: { known: number; unknown: number }[] = []
    for (let round = 0; round < 5; round += 1) {
      for (const { email } of known) {
        // In pairs with alternating order, so that other load affects both kinds equally.
        const first = times.length % 2 === 0 ? 'known' : 'unknown'
        const pair = { known: 0, unknown: 0 }
        for (const kind of first === 'known' ? (['known', 'unknown'] as const) : (['unknown', 'known'] as const)) {
          pair[kind] = await timeOf(kind === 'known' ? email : newAddress())
        }
        times.push(pair)
      }
    }
    // In about half of 40 pairs the known address is slower. 8 or fewer by chance has a probability of 1 in 10,000.
    const slower = times.filter((pair) => pair.known > pair.unknown).length
    expect(slower).toBeGreaterThan(8)
    expect(slower).toBeLessThan(32)
    const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
    const medians = [median(times.map((pair) => pair.known)), median(times.map((pair) => pair.unknown))]
    // A hash takes at least 20 ms. Without it the medians would differ by a factor of five.
    expect(Math.max(...medians) / Math.min(...medians)).toBeLessThan(2)
  })
})

describe('a flood of logins', () => {
  test('is refused in part and does not delay other requests', async () => {
    const timeOf = async () => {
      const start = performance.now()
      expect((await app.send('GET /api/health')).status).toBe(200)
      return performance.now() - start
    }
    const floodedAt = performance.now()
    const flood = Promise.all(Array.from({ length: 200 }, () => login(app, newAddress(), 'not the password')))
    const state = { over: false }
    const answered = flood.finally(() => {
      state.over = true
    })
    const times: number[] = []
    while (!state.over) times.push(await timeOf())
    const replies = await answered
    const took = performance.now() - floodedAt
    const refused = replies.filter(({ status }) => status === 503)
    expect(replies.filter(({ status }) => status === 401).length + refused.length).toBe(200)
    expect(refused.length).toBeGreaterThan(50)
    expect(refused[0]?.body.code).toBe('overloaded')
    expect(refused[0]?.headers.get('retry-after')).toBe('2')
    expect(times.length).toBeGreaterThan(20)
    // The flood takes well over a second. Without the limit each of these requests would wait for a part of it.
    expect(times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]).toBeLessThan(100)
    expect(Math.max(...times)).toBeLessThan(Math.max(1_000, took / 4))
  })
})
