import type { App } from '../../../../test/support/app.ts'
import { PASSWORD, seedUser, type SeededUser } from '../../../../test/support/seed.ts'
import { newAddress, newName, times, type Fixtures, type Lists } from '../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  signUp: async () => ({ body: { email: newAddress(), password: PASSWORD } }),
  verifyEmail: async ({ app }) => {
    const email = newAddress()
    await app.send('POST /api/auth/signup', { body: { email, password: PASSWORD } })
    return { body: { email, otp: await app.outbox.code(email) } }
  },
  login: async ({ caller }) => ({ body: { email: caller.email, password: PASSWORD } }),
  signInWithProvider: async () => ({ error: 'provider_not_configured' }),
  resetPassword: async ({ app }) => {
    const { email } = await seedUser(app, newName('person'))
    await app.send('POST /api/auth/forgot-password', { body: { email } })
    const mail = await app.outbox.newest(email, /password/i)
    return { body: { token: /token=([\w-]+)/.exec(mail.text ?? '')?.[1], password: 'another fine long password' } }
  },
  refreshToken: async ({ app, caller }) => ({ body: { refreshToken: (await logIn(app, caller)).refreshToken } }),
  revokeSession: async ({ app, caller }) => {
    const { accessToken } = await logIn(app, caller)
    const listed = await app.send('GET /api/auth/sessions', { token: accessToken })
    return { path: { id: (listed.body.data as { _id: string }[])[0]?._id ?? '' } }
  },
}

export const lists: Lists<typeof operations> = {
  listSessions: times(({ app, caller }) => logIn(app, caller)),
}

async function logIn(app: App, { email }: SeededUser): Promise<{ accessToken: string; refreshToken: string }> {
  const reply = await app.send('POST /api/auth/login', { body: { email, password: PASSWORD } })
  if (reply.status !== 200) throw new Error(`${email} could not log in: ${reply.text}`)
  return reply.body.data
}
