import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock, SECOND } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { newAddress, PASSWORD, signIn, signUp, tryCredential, type SignedInPerson } from '../support/people.ts'
import { exchangeBytes } from '../support/raw-http.ts'
import type { Reply } from '../support/send.ts'

let app: App
const clock = new ManualClock()

beforeAll(async () => {
  // Any page may call the API, which must not give it a cookie.
  app = await startApp({ clock, env: { CORS_ORIGINS: '*' } })
})
afterAll(() => app.stop())

const IN_COOKIE = { session: 'cookie' }

/** The headers of a page of this server, as a browser sends them. */
const page = (cookie?: string, scheme = 'https'): Record<string, string> => ({
  Origin: `${scheme}://localhost:${app.port}`,
  'Sec-Fetch-Site': 'same-origin',
  ...(cookie === undefined ? {} : { Cookie: cookie }),
})

const cookieIn = (reply: Reply) => reply.headers.get('set-cookie')?.split(';')[0] ?? ''
const login = (email: string, headers = page()) =>
  app.send('POST /api/auth/login', { body: { email, password: PASSWORD, ...IN_COOKIE }, headers })
const refresh = (headers: Record<string, string>) => app.send('POST /api/auth/refresh', { body: IN_COOKIE, headers })

/** A person with a session in a cookie. */
async function signInToCookie(): Promise<SignedInPerson & { cookie: string; accessToken: string }> {
  const person = await signIn(app)
  const reply = await login(person.email)
  expect(reply.status).toBe(200)
  return { ...person, accessToken: reply.body.data.accessToken, cookie: cookieIn(reply) }
}

describe('a session in a cookie', () => {
  test('puts the refresh token into a cookie that scripts and sub-domains cannot touch, and not into the body', async () => {
    const { email } = await signIn(app)
    const reply = await login(email)
    expect(reply.headers.get('set-cookie')).toMatch(
      /^__Host-crier=crr_[\w-]{70}; Path=\/; HttpOnly; Secure; SameSite=Strict; Max-Age=2592000$/,
    )
    expect(reply.headers.get('cache-control')).toBe('no-store')
    expect(reply.text).not.toContain('crr_')
    expect(await tryCredential(app, { token: reply.body.data.accessToken })).toBe('200')
  })

  test('has a cookie for one path without HTTPS, which browsers trust only at localhost', async () => {
    const { email } = await signIn(app)
    const reply = await login(email, page(undefined, 'http'))
    expect(reply.headers.get('set-cookie')).toMatch(
      /^crier-refresh=crr_[\w-]{70}; Path=\/api\/auth; HttpOnly; SameSite=Strict; Max-Age=2592000$/,
    )
    const cookie = cookieIn(reply)
    expect((await refresh(page(cookie, 'http'))).status).toBe(200)
    // A page over HTTPS has its own cookie, which pages without HTTPS cannot set.
    expect((await refresh(page(cookie))).body.code).toBe('invalid_refresh_token')
  })

  test('is renewed with the cookie, which is replaced', async () => {
    const { cookie } = await signInToCookie()
    const first = await refresh(page(cookie))
    expect(first.status).toBe(200)
    expect(first.text).not.toContain('crr_')
    expect(cookieIn(first)).not.toBe(cookie)
    expect(await tryCredential(app, { token: first.body.data.accessToken })).toBe('200')
    expect((await refresh(page(`theme=dark; ${cookieIn(first)}; other=1`))).status).toBe(200)
  })

  test('starts with the confirmation of an address too', async () => {
    const { email } = await signUp(app)
    const body = { email, otp: await app.outbox.code(email), password: PASSWORD, ...IN_COOKIE }
    const reply = await app.send('POST /api/auth/verify-otp', { body, headers: page() })
    expect(reply.status).toBe(200)
    expect(reply.text).not.toContain('crr_')
    expect((await refresh(page(cookieIn(reply)))).status).toBe(200)
  })

  test('leaves the reply to other clients as it was', async () => {
    const { email } = await signIn(app)
    const reply = await app.send('POST /api/auth/login', { body: { email, password: PASSWORD } })
    expect(reply.body.data.refreshToken).toMatch(/^crr_/)
    expect(reply.headers.get('set-cookie')).toBeNull()
  })

  test('needs either the cookie or the token', async () => {
    const { cookie, refreshToken } = await signInToCookie()
    const send = (body: object) => app.send('POST /api/auth/refresh', { body, headers: page(cookie) })
    expect((await send({})).body.errors).toMatchObject([{ path: '/body', code: 'either' }])
    expect((await send({ ...IN_COOKIE, refreshToken })).status).toBe(400)
  })

  test('ends with a log-out, which deletes the cookie', async () => {
    const { accessToken, cookie } = await signInToCookie()
    const reply = await app.send('POST /api/auth/logout', {
      body: IN_COOKIE,
      token: accessToken,
      headers: page(cookie),
    })
    expect(reply.body.data).toEqual({ revokedCount: 1 })
    expect(reply.headers.get('set-cookie')).toMatch(/^__Host-crier=; Path=\/; .*Max-Age=0$/)
    expect((await refresh(page(cookie))).body.code).toBe('invalid_refresh_token')
  })

  test('is ended by a caller without a session, but never that of another person', async () => {
    const [ada, bob] = [await signInToCookie(), await signInToCookie()]
    const logout = (cookie: string) =>
      app.send('POST /api/auth/logout', { body: IN_COOKIE, apiKey: ada.apiKey, headers: page(cookie) })
    expect((await logout(bob.cookie)).body.data).toEqual({ revokedCount: 0 })
    expect((await logout(ada.cookie)).body.data).toEqual({ revokedCount: 1 })
    expect((await refresh(page(bob.cookie))).status).toBe(200)
  })

  test('ends everywhere', async () => {
    const { accessToken, cookie, email } = await signInToCookie()
    const other = cookieIn(await login(email))
    const body = { everywhere: true, ...IN_COOKIE }
    const reply = await app.send('POST /api/auth/logout', { body, token: accessToken, headers: page(cookie) })
    expect(reply.body.data.revokedCount).toBeGreaterThanOrEqual(2)
    for (const one of [cookie, other]) expect((await refresh(page(one))).body.code).toBe('invalid_refresh_token')
  })
})

describe('attacks on the session cookie', () => {
  /** What browsers send from other pages. The server is at `localhost`. */
  const others = (): Record<string, Record<string, string>> => ({
    'a fetch of another site': { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' },
    'a form of another site': {
      Origin: 'https://evil.example',
      'Sec-Fetch-Site': 'cross-site',
      'Sec-Fetch-Mode': 'navigate',
    },
    'a sandboxed frame': { Origin: 'null', 'Sec-Fetch-Site': 'cross-site' },
    'a sub-domain': { Origin: `https://blog.localhost.example:${app.port}`, 'Sec-Fetch-Site': 'same-site' },
    'another port': { Origin: `https://localhost:${app.port + 1}`, 'Sec-Fetch-Site': 'same-site' },
    'a link or an address bar': { 'Sec-Fetch-Site': 'none' },
    'a browser without Sec-Fetch-Site': { Origin: `https://localhost:${app.port}` },
    'an Origin that does not match': { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'same-origin' },
    'no Origin': { 'Sec-Fetch-Site': 'same-origin' },
    'a program': {},
  })

  test('no other page can renew, end or start one, with CORS_ORIGINS=*', async () => {
    const { accessToken, cookie, email } = await signInToCookie()
    for (const [name, headers] of Object.entries(others())) {
      const replies = [
        await refresh({ ...headers, Cookie: cookie }),
        await app.send('POST /api/auth/logout', {
          body: IN_COOKIE,
          token: accessToken,
          headers: { ...headers, Cookie: cookie },
        }),
        await login(email, { ...headers }),
      ]
      for (const reply of replies) {
        expect(`${name}: ${reply.status} ${reply.body.code}`).toBe(`${name}: 403 session_cookie_refused`)
        expect(reply.headers.get('set-cookie'), name).toBeNull()
        expect(reply.headers.get('access-control-allow-credentials'), name).toBeNull()
      }
    }
    expect((await refresh(page(cookie))).status).toBe(200)
  })

  test('a form, which cannot send JSON, is refused before anything is read', async () => {
    const { cookie } = await signInToCookie()
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      const headers = { ...page(cookie), 'Content-Type': type }
      const reply = await app.send('POST /api/auth/refresh', { body: JSON.stringify(IN_COOKIE), headers })
      expect(reply.status, type).toBe(415)
    }
  })

  test('the cookie is no credential for any other operation', async () => {
    const { cookie } = await signInToCookie()
    for (const route of ['GET /api/users/me', 'GET /api/auth/sessions', 'POST /api/auth/logout']) {
      const reply = await app.send(route, {
        headers: page(cookie),
        ...(route.startsWith('POST') && { body: IN_COOKIE }),
      })
      expect(reply.body.code, route).toBe('unauthorized')
    }
  })

  test('no reply and no preflight allows credentials', async () => {
    const { cookie } = await signInToCookie()
    for (const origin of ['https://evil.example', `https://localhost:${app.port}`]) {
      const headers = { Origin: origin, 'Access-Control-Request-Method': 'POST' }
      const preflight = await fetch(`${app.url}/api/auth/refresh`, { method: 'OPTIONS', headers })
      expect(preflight.headers.get('access-control-allow-origin')).toBe(origin)
      expect(preflight.headers.get('access-control-allow-credentials')).toBeNull()
    }
    expect((await refresh(page(cookie))).headers.get('access-control-allow-credentials')).toBeNull()
  })

  test('a host name that leads here by rebinding gets no cookie: browsers send it no Sec-Fetch-Site without HTTPS', async () => {
    const { cookie } = await signInToCookie()
    const body = JSON.stringify(IN_COOKIE)
    const ask = async (site: string) =>
      exchangeBytes(
        app.port,
        [
          'POST /api/auth/refresh HTTP/1.1',
          'Host: rebound.example',
          'Origin: http://rebound.example',
          `${site}Cookie: ${cookie}`,
          'Content-Type: application/json',
          `Content-Length: ${body.length}`,
          'Connection: close',
          '',
          body,
        ].join('\r\n'),
      )
    expect(await ask('')).toContain('session_cookie_refused')
    // Even with the header, the cookie of the server's own name over HTTPS is not read.
    expect(await ask('Sec-Fetch-Site: same-origin\r\n')).toContain('invalid_refresh_token')
  })

  test('fixation: a sign-in never continues the session of a cookie that was there before', async () => {
    const [attacker, victim] = [await signInToCookie(), await signIn(app)]
    const reply = await login(victim.email, page(attacker.cookie))
    expect(cookieIn(reply)).not.toBe(attacker.cookie)
    expect(reply.body.data.user.email).toBe(victim.email)
    const renewed = await refresh(page(cookieIn(reply)))
    const me = await app.send('GET /api/users/me', { token: renewed.body.data.accessToken })
    expect(me.body.data.email).toBe(victim.email)
  })

  test('fixation: two cookies of one name, one of them from another page, are both ignored', async () => {
    const [attacker, victim] = [await signInToCookie(), await signInToCookie()]
    for (const both of [`${attacker.cookie}; ${victim.cookie}`, `${victim.cookie}; ${attacker.cookie}`]) {
      expect((await refresh(page(both))).body.code).toBe('invalid_refresh_token')
    }
  })

  test('a stolen cookie that is used twice ends the session, with a mail', async () => {
    const { cookie, email } = await signInToCookie()
    const thief = await refresh(page(cookie))
    expect(thief.status).toBe(200)
    clock.advance(11 * SECOND)
    const owner = await refresh(page(cookie))
    expect([owner.status, owner.body.code]).toEqual([401, 'refresh_token_reused'])
    expect((await refresh(page(cookieIn(thief)))).body.code).toBe('invalid_refresh_token')
    expect(await tryCredential(app, { token: thief.body.data.accessToken })).toBe('401 invalid_credential')
    expect((await app.outbox.newest(email, /ended for security reasons/)).text).toContain('copied')
  })

  test('an idempotency key repeats a reply only for the same cookies', async () => {
    const [ada, bob] = [await signInToCookie(), await signInToCookie()]
    const key = { 'Idempotency-Key': `shared-${newAddress()}` }
    const first = await refresh({ ...page(ada.cookie), ...key })
    expect(cookieIn(await refresh({ ...page(ada.cookie), ...key }))).toBe(cookieIn(first))
    for (const headers of [page(bob.cookie), {}]) {
      const reply = await refresh({ ...headers, ...key })
      expect(reply.body.code).toBe('idempotency_key_reused')
      expect(reply.headers.get('set-cookie')).toBeNull()
    }
  })
})
