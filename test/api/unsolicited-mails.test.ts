import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOUR, ManualClock, MINUTE } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { newAddress, signIn, signUp } from '../support/people.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'

/** Limits on unsolicited mail: content, sender and rate. */

let app: App
const clock = new ManualClock()
const sockets = new Sockets(() => app)

beforeAll(async () => {
  app = await startApp({ clock, rateLimits: true })
})
afterAll(async () => {
  sockets.end()
  await app.stop()
})

const createWorkspace = (apiKey: string, name: string) =>
  app.send('POST /api/workspaces', { apiKey, body: { name, timezone: 'UTC' } })

async function workspaceOf(apiKey: string, name = 'Acme'): Promise<string> {
  const reply = await createWorkspace(apiKey, name)
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data._id
}

const invite = (apiKey: string, workspaceId: string, email: string, message?: string) =>
  app.send('POST /api/team/{workspaceId}/invitations', {
    apiKey,
    path: { workspaceId },
    body: { email, role: 'client', ...(message === undefined ? {} : { message }) },
  })
const revoke = (apiKey: string, workspaceId: string, id: string) =>
  app.send('DELETE /api/team/{workspaceId}/invitations/{id}', { apiKey, path: { workspaceId, id } })
const resend = (apiKey: string, workspaceId: string, id: string) =>
  app.send('POST /api/team/{workspaceId}/invitations/{id}/resend', { apiKey, path: { workspaceId, id } })

/** Waits for a later mail, by which time all earlier mails have been written. */
async function settle(): Promise<void> {
  const { email } = await signUp(app)
  await app.outbox.newest(email)
}

describe('an account with an unconfirmed address', () => {
  test('cannot send invitations or create anything, and gets an error with the fix', async () => {
    const { apiKey, email } = await signUp(app)
    const refused = await createWorkspace(apiKey, 'Buy gold at evil.example')
    expect([refused.status, refused.body.code]).toEqual([403, 'email_unverified'])
    expect(refused.body.docUrl).toContain('email_unverified')
    expect((await app.send('PATCH /api/users/me', { apiKey, body: { name: 'x' } })).body.code).toBe('email_unverified')
    expect((await app.send('POST /api/users/me/api-key', { apiKey })).body.code).toBe('email_unverified')
    expect(await sockets.refused({ token: apiKey })).toBe('email_unverified')
    expect((await app.send('GET /api/users/me', { apiKey })).body.data).toMatchObject({ email, emailVerified: false })
    await settle()
    expect(await app.outbox.mails(email)).toHaveLength(1)
  })

  test('has full access with the same API key once the address is confirmed', async () => {
    const { apiKey } = await signIn(app)
    expect((await createWorkspace(apiKey, 'Acme')).status).toBe(201)
  })

  test('cannot put its own text into a mail to the address', async () => {
    const email = newAddress()
    const name = 'Buy gold at https://evil.example now'
    const password = 'correct horse battery staple'
    expect((await app.send('POST /api/auth/signup', { body: { email, password, name } })).status).toBe(201)
    await app.send('POST /api/auth/forgot-password', { body: { email } })
    await app.outbox.newest(email, /Reset/)
    for (const mail of await app.outbox.mails(email)) {
      expect(`${mail.subject} ${mail.text} ${mail.html}`).not.toMatch(/gold|evil/)
    }
  })
})

describe('invitations', () => {
  test('are mailed to an address at most three times an hour, by any operation', async () => {
    const { apiKey } = await signIn(app)
    const workspaceId = await workspaceOf(apiKey)
    const recipient = newAddress()
    const codes: string[] = []
    for (let round = 0; round < 5; round += 1) {
      const invited = await invite(apiKey, workspaceId, recipient)
      codes.push(invited.body.code ?? 'sent')
      if (invited.status !== 201) continue
      const again = await resend(apiKey, workspaceId, invited.body.data._id)
      codes.push(again.body.code ?? 'sent')
      await revoke(apiKey, workspaceId, invited.body.data._id)
    }
    expect(codes.filter((code) => code === 'sent')).toHaveLength(3)
    expect(new Set(codes.slice(3))).toEqual(new Set(['too_many_mails']))
    const refused = await invite(apiKey, workspaceId, recipient)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '3600'])
    await settle()
    expect(await app.outbox.mails(recipient)).toHaveLength(3)
    clock.advance(HOUR)
    expect((await invite(apiKey, workspaceId, recipient)).status).toBe(201)
  })

  test('are counted per address across workspaces', async () => {
    const recipient = newAddress()
    const statuses: number[] = []
    for (let count = 0; count < 4; count += 1) {
      const { apiKey } = await signIn(app)
      const workspaceId = await workspaceOf(apiKey)
      for (let round = 0; round < 3; round += 1) {
        const invited = await invite(apiKey, workspaceId, recipient)
        statuses.push(invited.status)
        if (invited.status === 201) await revoke(apiKey, workspaceId, invited.body.data._id)
        clock.advance(MINUTE)
      }
    }
    expect(statuses.filter((status) => status === 201)).toHaveLength(10)
    expect(statuses.slice(10)).toEqual([429, 429])
  })

  test('show names in quotation marks, shortened, on one line and without links', async () => {
    const { apiKey } = await signIn(app)
    const name = `Gold” visit https://evil.example/now \u202Eexe ${'and more '.repeat(6)}`
    await app.send('PATCH /api/users/me', { apiKey, body: { name: 'Eve\u2028www.evil.example' } })
    const workspaceId = await workspaceOf(apiKey, name)
    const recipient = newAddress()
    expect((await invite(apiKey, workspaceId, recipient, 'Look at https://evil.example/x')).status).toBe(201)
    const { subject, text } = await app.outbox.newest(recipient, /invites you/)
    expect(subject).toMatch(
      /^“Eve www\. evil\. example” invites you to “Gold’ visit evil\. example\/now exe [^“”]*…” on Crier$/,
    )
    expect(subject?.length).toBeLessThan(160)
    expect(text).not.toContain('evil.example')
    expect(text).not.toContain('\u202E')
  })
})

describe('codes and reset links', () => {
  test.each([
    ['code', 'POST /api/auth/resend-otp', signUp, /your Crier code/, 1],
    ['reset link', 'POST /api/auth/forgot-password', signIn, /Reset/, 0],
  ] as const)('%s: an address receives at most five an hour', async (_kind, route, person, subject, before) => {
    const { email } = await person(app)
    const sent = async () => (await app.outbox.mails(email)).filter((mail) => subject.test(mail.subject ?? '')).length
    await waitFor(async () => (await sent()) === before, { what: 'the mail of the sign-up' })
    for (let round = 0; round < 8; round += 1) {
      clock.advance(MINUTE)
      expect((await app.send(route, { body: { email } })).status).toBe(200)
      await waitFor(async () => !(await app.database.row('select 1 from outbox')), { what: 'all jobs to be done' })
    }
    expect(await sent()).toBe(5)
    clock.advance(HOUR)
    await app.send(route, { body: { email } })
    await waitFor(async () => (await sent()) === 6, { what: 'another mail' })
  })
})
