import { registerPasskey, SoftwareAuthenticator } from '../../../../../test/support/passkey.ts'
import { PASSWORD, seedUser } from '../../../../../test/support/seed.ts'
import { newName, times, type Fixtures, type Lists, type Stage } from '../../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  startPasskeyRegistration: async ({ app }) => {
    const { apiKey, password } = await seedUser(app, newName('person'))
    return { as: { apiKey }, body: { password } }
  },
  registerPasskey: async ({ app }) => {
    const { apiKey, password } = await seedUser(app, newName('person'))
    const started = await app.send('POST /api/auth/passkeys/options', { apiKey, body: { password } })
    const response = new SoftwareAuthenticator(app).create(started.body.data.options)
    return { as: { apiKey }, body: { name: 'Laptop', response } }
  },
  getPasskey: async (stage) => ({ path: { id: await passkey(stage) } }),
  renamePasskey: async (stage) => ({ path: { id: await passkey(stage) } }),
  deletePasskey: async (stage) => ({ path: { id: await passkey(stage) }, body: { password: PASSWORD } }),
  signInWithPasskey: async ({ app }) => {
    const { authenticator } = await registerPasskey(app, await seedUser(app, newName('person')))
    const started = await app.send('POST /api/auth/passkeys/sign-in/options')
    return { body: { response: authenticator.get(started.body.data.options) } }
  },
}

export const lists: Lists<typeof operations> = { listPasskeys: times(passkey) }

async function passkey({ app, caller: { apiKey } }: Stage): Promise<string> {
  return (await registerPasskey(app, { apiKey, password: PASSWORD })).passkey._id
}
