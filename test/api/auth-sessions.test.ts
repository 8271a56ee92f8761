import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, ManualClock, MINUTE, SECOND } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { login, refresh, signIn, tryCredential } from '../support/people.ts'
import { waitFor } from '../support/wait.ts'

let app: App
const clock = new ManualClock()

beforeAll(async () => {
  app = await startApp({ clock })
})
afterAll(() => app.stop())

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

describe('access tokens', () => {
  test('expire after fifteen minutes with a specific error', async () => {
    const { accessToken } = await signIn(app)
    clock.advance(15 * MINUTE - SECOND)
    expect(await tryCredential(app, { token: accessToken })).toBe('200')
    clock.advance(SECOND)
    expect(await tryCredential(app, { token: accessToken })).toBe('401 credential_expired')
  })

  test('contain issuer and audience, and no personal data', async () => {
    const { accessToken, id } = await signIn(app)
    const claims = claimsOf(accessToken)
    expect(Object.keys(claims).sort()).toEqual(['aud', 'exp', 'iat', 'iss', 'sid', 'sub'])
    expect(claims).toMatchObject({ sub: id, iss: 'crier', aud: 'crier-api', exp: claims.iat + 900 })
  })

  test('are refused when forged', async () => {
    const { accessToken } = await signIn(app)
    const [header = '', payload = '', signature = ''] = accessToken.split('.')
    const claims = claimsOf(accessToken)
    const admin = part({ ...claims, sub: '0199a2b4-7c1d-7e3f-8a5b-6c7d8e9f0a1b' })
    const unsigned = `${part({ alg: 'none', typ: 'JWT' })}.${payload}.`
    const elsewhere = `${header}.${payload}`
    const forged = {
      'another payload': `${header}.${admin}.${signature}`,
      'alg none': unsigned,
      'alg none, signature kept': `${part({ alg: 'none' })}.${payload}.${signature}`,
      'another key': `${elsewhere}.${createHmac('sha256', 'guess').update(elsewhere).digest('base64url')}`,
      'no signature': `${elsewhere}.`,
      garbage: 'not-a-token',
    }
    for (const [name, token] of Object.entries(forged)) {
      expect(await tryCredential(app, { token }), name).toBe('401 invalid_credential')
    }
    expect(await tryCredential(app, { token: accessToken })).toBe('200')
  })

  test('are not accepted as API keys, and API keys are accepted as bearer tokens', async () => {
    const { accessToken, apiKey } = await signIn(app)
    expect(await tryCredential(app, { apiKey })).toBe('200')
    expect(await tryCredential(app, { token: accessToken })).toBe('200')
    expect(await tryCredential(app, { token: apiKey })).toBe('200')
    expect(await tryCredential(app, { token: `${apiKey}x` })).toBe('401 invalid_credential')
    expect(await tryCredential(app, { apiKey: accessToken })).toBe('401 invalid_credential')
  })

  test('and API keys in the cache are resolved synchronously', async () => {
    const { accessToken, apiKey } = await signIn(app)
    const { authenticator } = app.composition
    for (const credential of [
      { kind: 'token', token: accessToken },
      { kind: 'api_key', key: apiKey },
    ] as const) {
      const first = authenticator.authenticate(credential)
      expect(first).toBeInstanceOf(Promise)
      const caller = await first
      expect(authenticator.authenticate(credential)).toBe(caller)
    }
  })
})

describe('refresh tokens', () => {
  test('work once and return the next pair', async () => {
    const { refreshToken } = await signIn(app)
    const first = await refresh(app, refreshToken)
    expect(first.status).toBe(200)
    expect(first.body.data.refreshToken).not.toBe(refreshToken)
    expect(await tryCredential(app, { token: first.body.data.accessToken })).toBe('200')
    expect((await refresh(app, first.body.data.refreshToken)).status).toBe(200)
  })

  test('return the same pair again within ten seconds, for a second tab', async () => {
    const { refreshToken } = await signIn(app)
    const first = await refresh(app, refreshToken)
    clock.advance(10 * SECOND)
    const second = await refresh(app, refreshToken)
    expect(second.status).toBe(200)
    expect(second.body.data.refreshToken).toBe(first.body.data.refreshToken)
    expect(await tryCredential(app, { token: second.body.data.accessToken })).toBe('200')
  })

  test('end the session with all its tokens when they are used again later', async () => {
    const { refreshToken, email } = await signIn(app)
    const { body } = await refresh(app, refreshToken)
    const stolen = body.data
    expect(await tryCredential(app, { token: stolen.accessToken })).toBe('200')
    clock.advance(11 * SECOND)
    const replayed = await refresh(app, refreshToken)
    expect(replayed.status).toBe(401)
    expect(replayed.body.code).toBe('refresh_token_reused')
    expect(await tryCredential(app, { token: stolen.accessToken })).toBe('401 invalid_credential')
    expect((await refresh(app, stolen.refreshToken)).body.code).toBe('invalid_refresh_token')
    expect((await app.outbox.newest(email, /ended for security reasons/)).text).toContain('copied')
  })

  test('two generations old end the session even within the grace period', async () => {
    const { refreshToken } = await signIn(app)
    const second = (await refresh(app, refreshToken)).body.data.refreshToken
    const third = (await refresh(app, second)).body.data.refreshToken
    expect((await refresh(app, refreshToken)).body.code).toBe('refresh_token_reused')
    expect((await refresh(app, third)).body.code).toBe('invalid_refresh_token')
  })

  test('used by many tabs at once return the same next token to all', async () => {
    const { refreshToken } = await signIn(app)
    const replies = await Promise.all(Array.from({ length: 12 }, () => refresh(app, refreshToken)))
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
    const next = new Set(replies.map(({ body }) => body.data.refreshToken as string))
    expect(next.size).toBe(1)
    expect((await refresh(app, [...next][0] ?? '')).status).toBe(200)
  })

  test('are checked against the state after an earlier concurrent refresh', async () => {
    const { refreshToken, id } = await signIn(app)
    const late = await app.database.transaction(async (tx) => {
      await tx.run('update sessions set generation = 3 where user_id = $1', [id])
      const reply = refresh(app, refreshToken)
      await waitFor(
        async () =>
          app.database.row(
            "select 1 as one from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
          ),
        { what: 'the refresh to wait for the row' },
      )
      return { reply }
    })
    expect((await late.reply).body.code).toBe('refresh_token_reused')
  })

  test('expire when they are not used for thirty days', async () => {
    const { refreshToken } = await signIn(app)
    clock.advance(29 * DAY)
    const used = await refresh(app, refreshToken)
    clock.advance(29 * DAY)
    const again = await refresh(app, used.body.data.refreshToken)
    expect(again.status).toBe(200)
    clock.advance(30 * DAY)
    expect((await refresh(app, again.body.data.refreshToken)).body.code).toBe('invalid_refresh_token')
  })

  test('are refused when forged, without ending a session', async () => {
    const { refreshToken } = await signIn(app)
    const bytes = Buffer.from(refreshToken.slice(4), 'base64url')
    const changed = (at: number) => {
      const copy = Buffer.from(bytes)
      copy[at] = (copy[at] ?? 0) ^ 1
      return `crr_${copy.toString('base64url')}`
    }
    // The session's id, the generation, the MAC.
    for (const forged of [
      changed(0),
      changed(19),
      changed(16),
      changed(20),
      changed(51),
      'crr_',
      'x',
      `${refreshToken}A`,
    ]) {
      expect((await refresh(app, forged)).body.code, forged).toBe('invalid_refresh_token')
    }
    expect((await refresh(app, refreshToken)).status).toBe(200)
  })

  test('are not stored in the database', async () => {
    const { refreshToken, id } = await signIn(app)
    const row = await app.database.row<{ text: string }>(
      'select sessions::text as text from sessions where user_id = $1',
      [id],
    )
    expect(row?.text).not.toContain(refreshToken)
    expect(row?.text).not.toContain(Buffer.from(refreshToken.slice(4), 'base64url').subarray(20).toString('hex'))
  })
})

describe('sessions', () => {
  test('are listed with device and address; the current one is marked', async () => {
    const { email, password } = await signIn(app)
    const agent = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:130.0) Gecko/20100101 Firefox/130.0'
    clock.advance(SECOND)
    const { body } = await login(app, email, password, { 'User-Agent': agent })
    const listed = await app.send('GET /api/auth/sessions', { token: body.data.accessToken })
    expect(listed.status).toBe(200)
    expect(listed.body.data).toHaveLength(2)
    expect(listed.body.data[0]).toMatchObject({
      device: 'Firefox on Windows',
      ip: '127.0.0.1',
      current: true,
      method: 'password',
    })
    expect(listed.body.data[1]).toMatchObject({ current: false, method: 'code' })
    const [first] = (await app.send('GET /api/auth/sessions', { token: body.data.accessToken, query: { limit: 1 } }))
      .body.data
    expect(first._id).toBe(listed.body.data[0]._id)
  })

  test('are listed in pages', async () => {
    const { email, password, apiKey } = await signIn(app)
    for (let count = 0; count < 4; count += 1) await login(app, email, password)
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const { body } = await app.send('GET /api/auth/sessions', { apiKey, query: { limit: 2, cursor } })
      seen.push(...body.data.map((row: { _id: string }) => row._id))
      cursor = body.pagination.nextCursor ?? undefined
    } while (cursor)
    expect(seen).toHaveLength(5)
    expect(new Set(seen).size).toBe(5)
  })

  test('can be ended one by one, by their owner only, with immediate effect', async () => {
    const ada = await signIn(app)
    const eve = await signIn(app)
    const { body } = await app.send('GET /api/auth/sessions', { token: ada.accessToken })
    const path = { id: body.data[0]._id as string }
    expect(await tryCredential(app, { token: ada.accessToken })).toBe('200')
    expect((await app.send('DELETE /api/auth/sessions/{id}', { path, token: eve.accessToken })).status).toBe(404)
    expect(await tryCredential(app, { token: ada.accessToken })).toBe('200')
    expect((await app.send('DELETE /api/auth/sessions/{id}', { path, apiKey: ada.apiKey })).status).toBe(200)
    expect(await tryCredential(app, { token: ada.accessToken })).toBe('401 invalid_credential')
    expect((await refresh(app, ada.refreshToken)).status).toBe(401)
    expect((await app.send('DELETE /api/auth/sessions/{id}', { path, apiKey: ada.apiKey })).status).toBe(404)
  })
})

describe('logout', () => {
  test('ends the session of the access token at once, and no other', async () => {
    const ada = await signIn(app)
    const other = (await login(app, ada.email, ada.password)).body.data
    expect(await tryCredential(app, { token: ada.accessToken })).toBe('200')
    const out = await app.send('POST /api/auth/logout', { token: ada.accessToken })
    expect(out.body.data).toEqual({ revokedCount: 1 })
    expect(await tryCredential(app, { token: ada.accessToken })).toBe('401 invalid_credential')
    expect((await refresh(app, ada.refreshToken)).status).toBe(401)
    expect(await tryCredential(app, { token: other.accessToken })).toBe('200')
  })

  test('with a refresh token ends its session if it is the caller’s', async () => {
    const ada = await signIn(app)
    const eve = await signIn(app)
    const end = (apiKey: string, refreshToken: string) =>
      app.send('POST /api/auth/logout', { apiKey, body: { refreshToken } })
    expect((await end(eve.apiKey, ada.refreshToken)).body.data).toEqual({ revokedCount: 0 })
    expect((await end(ada.apiKey, ada.refreshToken)).body.data).toEqual({ revokedCount: 1 })
    expect(await tryCredential(app, { token: ada.accessToken })).toBe('401 invalid_credential')
    expect(await tryCredential(app, { token: eve.accessToken })).toBe('200')
  })

  test('everywhere ends all sessions; the API key stays', async () => {
    const ada = await signIn(app)
    const others = await Promise.all([1, 2].map(async () => (await login(app, ada.email, ada.password)).body.data))
    for (const { accessToken } of others) expect(await tryCredential(app, { token: accessToken })).toBe('200')
    const out = await app.send('POST /api/auth/logout', { token: ada.accessToken, body: { everywhere: true } })
    expect(out.body.data).toEqual({ revokedCount: 3 })
    for (const { accessToken, refreshToken } of [ada, ...others]) {
      expect(await tryCredential(app, { token: accessToken })).toBe('401 invalid_credential')
      expect((await refresh(app, refreshToken)).status).toBe(401)
    }
    expect(await tryCredential(app, { apiKey: ada.apiKey })).toBe('200')
  })
})
