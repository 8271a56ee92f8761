import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock, SECOND } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { login, newAddress, PASSWORD, refresh, signIn, signUp, tryCredential } from '../support/people.ts'
import { waitFor } from '../support/wait.ts'

const ADMIN = { ADMIN_EMAIL: 'root@example.com', ADMIN_PASSWORD: 'the keys to the tower' }

let app: App
const clock = new ManualClock()

beforeAll(async () => {
  app = await startApp({ clock, env: ADMIN })
})
afterAll(() => app.stop())

const me = (apiKey: string) => app.send('GET /api/users/me', { apiKey })
const change = (apiKey: string, body: unknown, headers: Record<string, string> = {}) =>
  app.send('PATCH /api/users/me', { apiKey, body, headers })
const set = (apiKey: string, section: string, body: unknown, headers: Record<string, string> = {}) =>
  app.send(`PATCH /api/users/me/settings/${section}`, { apiKey, body, headers })
const settings = (apiKey: string) => app.send('GET /api/users/me/settings', { apiKey })

describe('the profile', () => {
  test('is updated in part and gets a new version', async () => {
    const { apiKey } = await signIn(app)
    clock.advance(SECOND)
    const changed = await change(apiKey, {
      name: '  Ada Lovelace ',
      timezone: 'Europe/London',
      locale: 'EN-gb',
      company: 'Engines',
    })
    expect(changed.status, changed.text).toBe(200)
    expect(changed.body.data).toMatchObject({
      name: 'Ada Lovelace',
      timezone: 'Europe/London',
      locale: 'en-GB',
      company: 'Engines',
      bio: '',
      version: 3,
    })
    expect(changed.headers.get('etag')).toBe('"3"')
    expect(changed.body.data.updatedAt > changed.body.data.createdAt).toBe(true)
    expect((await me(apiKey)).body.data).toEqual(changed.body.data)
  })

  test('accepts only time zones and languages that exist', async () => {
    const { apiKey } = await signIn(app)
    for (const timezone of ['Mars/Olympus', '+02:00', 'Europe/', '']) {
      expect((await change(apiKey, { timezone })).body.errors?.[0]?.path, timezone).toBe('/body/timezone')
    }
    for (const locale of ['english please', 'e', 'de_DE', '']) {
      expect((await change(apiKey, { locale })).body.errors?.[0]?.path, locale).toBe('/body/locale')
    }
    expect((await change(apiKey, { timezone: 'Asia/Kolkata', locale: 'pt-br' })).body.data.locale).toBe('pt-BR')
  })

  test('cannot change protected fields', async () => {
    const { apiKey } = await signIn(app)
    for (const body of [
      { isAdmin: true },
      { email: 'root@example.com' },
      { emailVerified: true },
      { version: 9 },
      {},
    ]) {
      expect((await change(apiKey, body)).status).toBe(400)
    }
    expect((await me(apiKey)).body.data).toMatchObject({ isAdmin: false, version: 2 })
  })

  test('is updated only from the version that the caller has read', async () => {
    const { apiKey } = await signIn(app)
    const tag = (await me(apiKey)).headers.get('etag') ?? ''
    expect((await change(apiKey, { bio: 'one' }, { 'If-Match': tag })).status).toBe(200)
    const late = await change(apiKey, { bio: 'two' }, { 'If-Match': tag })
    expect(late.status).toBe(412)
    expect((await me(apiKey)).body.data.bio).toBe('one')
    const again = await app.send('GET /api/users/me', { apiKey, headers: { 'If-None-Match': '"3"' } })
    expect(again.status).toBe(304)
  })

  test('is not updated from a version that a concurrent update replaces', async () => {
    const { apiKey, id } = await signIn(app)
    const late = await app.database.transaction(async (tx) => {
      await tx.run('update users set version = 3 where id = $1', [id])
      const reply = change(apiKey, { bio: 'late' }, { 'If-Match': '"2"' })
      const waiting =
        "select 1 as one from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
      await waitFor(() => app.database.row(waiting), { what: 'the change to wait for the row' })
      return { reply }
    })
    expect((await late.reply).status).toBe(412)
  })
})

describe('settings', () => {
  test('have defaults before any is set', async () => {
    const { apiKey } = await signIn(app)
    const { body, headers } = await settings(apiKey)
    expect(body.data.publishing).toMatchObject({ queueSlots: [], autoRetry: { enabled: true, maxAttempts: null } })
    expect(body.data.notifications.kinds.postFailed).toEqual({ inApp: true, email: true, push: true })
    expect(body.data.ui).toEqual({
      theme: 'system',
      density: 'comfortable',
      calendarStartDay: 'monday',
      language: null,
      views: [],
      layout: [],
      dismissedHints: [],
    })
    expect(headers.get('etag')).toBe('"1"')
  })

  test('are merged deeply; lists are replaced and other parts stay', async () => {
    const { apiKey } = await signIn(app)
    await set(apiKey, 'publishing', { utm: { campaign: 'launch' }, queueSlots: [{ weekday: 'monday', time: '09:30' }] })
    await set(apiKey, 'publishing', { utm: { enabled: true }, queueSlots: [{ weekday: 'friday', time: '18:00' }] })
    await set(apiKey, 'notifications', { kinds: { comment: { email: true } }, quietHours: { enabled: true } })
    const views = [{ name: 'Spring', screen: 'calendar', filters: 'label=spring' }]
    await set(apiKey, 'ui', { views: [...views, ...views], layout: [{ name: 'rail', setting: 'closed' }] })
    await set(apiKey, 'ui', { views, dismissedHints: ['queue'] })
    const last = await set(apiKey, 'ui', { theme: 'dark' })
    const { data } = (await settings(apiKey)).body
    expect(last.body.data).toEqual(data)
    expect(data.publishing.utm).toMatchObject({ enabled: true, campaign: 'launch', source: 'crier' })
    expect(data.publishing.queueSlots).toEqual([{ weekday: 'friday', time: '18:00' }])
    expect(data.notifications.kinds.comment).toEqual({ inApp: true, email: true, push: false })
    expect(data.notifications.kinds.mention).toEqual({ inApp: true, email: true, push: true })
    expect(data.notifications.quietHours).toEqual({ enabled: true, start: '22:00', end: '07:00', timezone: null })
    expect(data.ui).toMatchObject({ theme: 'dark', density: 'comfortable', views, dismissedHints: ['queue'] })
    expect(data.ui.layout).toEqual([{ name: 'rail', setting: 'closed' }])
    expect(data.version).toBe(7)
  })

  test('refuse unknown fields by name', async () => {
    const { apiKey } = await signIn(app)
    const faults: [string, unknown, string][] = [
      ['publishing', { utm: { colour: 'red' } }, '/body/utm/colour'],
      ['publishing', { queueSlots: [{ weekday: 'monday', time: '25:00' }] }, '/body/queueSlots/0/time'],
      ['publishing', { defaultTimezone: 'Nowhere' }, '/body/defaultTimezone'],
      ['notifications', { kinds: { doorbell: { email: true } } }, '/body/kinds/doorbell'],
      ['notifications', { kinds: { comment: { email: 'yes' } } }, '/body/kinds/comment/email'],
      ['ui', { theme: 'pink' }, '/body/theme'],
      ['ui', { views: Array.from({ length: 31 }, () => ({ name: 'a', screen: 'b', filters: '' })) }, '/body/views'],
      ['ui', { views: [{ name: 'a', screen: 'b', filters: 'c'.repeat(1_001) }] }, '/body/views/0/filters'],
      ['ui', { layout: [{ name: 'rail', setting: 'x'.repeat(201) }] }, '/body/layout/0/setting'],
      ['ui', { dismissedHints: Array.from({ length: 201 }, String) }, '/body/dismissedHints'],
    ]
    for (const [section, body, path] of faults) {
      const reply = await set(apiKey, section, body)
      expect(reply.status, path).toBe(400)
      expect(reply.body.errors[0].path).toBe(path)
    }
    expect((await settings(apiKey)).body.data.version).toBe(1)
  })

  test('honor If-Match', async () => {
    const { apiKey } = await signIn(app)
    expect((await set(apiKey, 'ui', { theme: 'dark' }, { 'If-Match': '"1"' })).status).toBe(200)
    expect((await set(apiKey, 'ui', { theme: 'light' }, { 'If-Match': '"1"' })).status).toBe(412)
  })
})

describe('the API key', () => {
  test('is replaced at once, with a mail to the owner, and shown once', async () => {
    const ada = await signIn(app)
    expect(await tryCredential(app, { apiKey: ada.apiKey })).toBe('200')
    const { status, body } = await app.send('POST /api/users/me/api-key', { token: ada.accessToken })
    expect(status).toBe(200)
    expect(await tryCredential(app, { apiKey: ada.apiKey })).toBe('401 invalid_credential')
    const profile = await me(body.data.apiKey)
    expect(profile.body.data.apiKeyPrefix).toBe(body.data.apiKeyPrefix)
    expect(profile.text).not.toContain(body.data.apiKey)
    expect(await tryCredential(app, { token: ada.accessToken })).toBe('200')
    expect((await app.outbox.newest(ada.email, /API key/)).text).not.toContain(body.data.apiKey)
    const row = await app.database.row<{ text: string }>('select users::text as text from users where id = $1', [
      ada.id,
    ])
    expect(row?.text).not.toContain(body.data.apiKey)
  })

  test('is refused when it is malformed or unknown', async () => {
    for (const apiKey of ['crier_', `crier_${'A'.repeat(43)}`, 'x', `CRIER_${'A'.repeat(43)}`]) {
      expect(await tryCredential(app, { apiKey })).toBe('401 invalid_credential')
    }
  })
})

describe('onboarding', () => {
  test('records step and completion, and can be resumed', async () => {
    const { apiKey } = await signIn(app)
    const note = (body: object) => app.send('PATCH /api/users/me/onboarding', { apiKey, body })
    expect((await note({ step: 'connect', completed: false })).body.data.onboarding).toEqual({
      step: 'connect',
      completed: false,
      completedAt: null,
    })
    const done = (await note({ completed: true })).body.data.onboarding
    expect(done).toEqual({ step: 'connect', completed: true, completedAt: new Date(clock.now()).toISOString() })
    clock.advance(SECOND)
    expect((await note({ completed: true })).body.data.onboarding).toEqual(done)
    expect((await note({ completed: false })).body.data.onboarding.completed).toBe(false)
  })
})

describe('the administrator from the configuration', () => {
  test('exists, is verified and has the rights of administrators', async () => {
    const { body } = await login(app, ADMIN.ADMIN_EMAIL, ADMIN.ADMIN_PASSWORD)
    const { accessToken: token, user } = body.data
    expect(user).toMatchObject({ isAdmin: true, emailVerified: true, subscription: { plan: 'business' } })
    const email = newAddress()
    const made = await app.send('POST /api/users', { token, body: { email: email.toUpperCase(), name: 'Grace' } })
    expect(made.status, made.text).toBe(201)
    expect(made.body.data).toMatchObject({ email, name: 'Grace', emailVerified: true, isAdmin: false })
    expect(await tryCredential(app, { apiKey: made.body.data.apiKey })).toBe('200')
    expect((await login(app, email, PASSWORD)).status).toBe(401)
    const again = await app.send('POST /api/users', { token, body: { email } })
    expect(again.body.code).toBe('email_in_use')
  })

  test('is the only administrator', async () => {
    const { apiKey } = await signIn(app)
    const reply = await app.send('POST /api/users', { apiKey, body: { email: newAddress() } })
    expect(reply.status).toBe(403)
  })

  test('gets a new password at the next start, which ends older sessions; otherwise nothing changes', async () => {
    const shared = { ...ADMIN, JWT_SECRET: 'a secret that all the nodes share' }
    const first = await startApp({ env: shared })
    const old = (await login(first, ADMIN.ADMIN_EMAIL, ADMIN.ADMIN_PASSWORD)).body.data
    const same = await startApp({ env: shared, databaseUrl: first.databaseUrl })
    expect(await tryCredential(same, { token: old.accessToken })).toBe('200')
    await same.stop()
    const env = { ...shared, ADMIN_PASSWORD: 'other keys to the tower' }
    const second = await startApp({ env, databaseUrl: first.databaseUrl })
    expect((await login(second, ADMIN.ADMIN_EMAIL, ADMIN.ADMIN_PASSWORD)).status).toBe(401)
    expect((await login(second, ADMIN.ADMIN_EMAIL, env.ADMIN_PASSWORD)).status).toBe(200)
    expect(await tryCredential(second, { token: old.accessToken })).toBe('401 invalid_credential')
    expect((await refresh(second, old.refreshToken)).status).toBe(401)
    await second.stop()
    await first.stop()
  })

  test('takes over an address that someone else signed up with', async () => {
    const first = await startApp()
    const squatter = await signUp(first, ADMIN.ADMIN_EMAIL)
    const second = await startApp({ env: ADMIN, databaseUrl: first.databaseUrl })
    expect((await login(second, ADMIN.ADMIN_EMAIL, squatter.password)).status).toBe(401)
    expect(await tryCredential(second, { apiKey: squatter.apiKey })).toBe('401 invalid_credential')
    const { body } = await login(second, ADMIN.ADMIN_EMAIL, ADMIN.ADMIN_PASSWORD)
    expect(body.data.user.isAdmin).toBe(true)
    await second.stop()
    await first.stop()
  })
})

test('no secret is logged', async () => {
  const ada = await signIn(app)
  await login(app, ada.email, `${ada.password} not`)
  await app.send('POST /api/auth/login', { body: { email: ada.email, password: ada.password, extra: 1 } })
  await app.send('GET /api/users/me', { apiKey: `${ada.apiKey}x` })
  const logged = JSON.stringify(app.logs)
  expect(logged).toContain('signUp')
  for (const secret of [ada.password, ada.apiKey, ada.accessToken, ada.refreshToken, ADMIN.ADMIN_PASSWORD]) {
    expect(logged).not.toContain(secret)
  }
  expect(logged).not.toMatch(/crier_[\w-]{43}|crr_[\w-]{70}|argon2/)
})
