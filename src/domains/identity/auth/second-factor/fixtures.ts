import { codeOf, turnOnSecondFactor } from '../../../../../test/support/authenticator.ts'
import { seedUser } from '../../../../../test/support/seed.ts'
import { newName, type Fixtures, type Stage } from '../../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  completeSignIn: async (stage) => {
    const { email, password, recoveryCodes } = await userWithSecondFactor(stage)
    const reply = await stage.app.send('POST /api/auth/login', { body: { email, password } })
    return { body: { challenge: reply.body['details'].challenge, code: recoveryCodes[0] } }
  },
  enrolSecondFactor: async ({ app }) => {
    const { apiKey, password } = await seedUser(app, newName('person'))
    return { as: { apiKey }, body: { password } }
  },
  confirmSecondFactor: async ({ app }) => {
    const { apiKey, password } = await seedUser(app, newName('person'))
    const reply = await app.send('POST /api/auth/totp', { apiKey, body: { password } })
    return { as: { apiKey }, body: { code: codeOf(reply.body.data.secret, app.clock.now()) } }
  },
  disableSecondFactor: async (stage) => {
    const { apiKey, password, recoveryCodes } = await userWithSecondFactor(stage)
    return { as: { apiKey }, body: { password, code: recoveryCodes[0] } }
  },
  renewRecoveryCodes: async (stage) => {
    const { apiKey, password, recoveryCodes } = await userWithSecondFactor(stage)
    return { as: { apiKey }, body: { password, code: recoveryCodes[0] } }
  },
  resetSecondFactor: async (stage) => ({ path: { id: (await userWithSecondFactor(stage)).id } }),
}

async function userWithSecondFactor({ app }: Stage) {
  const user = await seedUser(app, newName('person'))
  return { ...user, ...(await turnOnSecondFactor(app, user)) }
}
