import { seedUser } from '../../../../test/support/seed.ts'
import { newName, type Fixtures } from '../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  exportMyData: async ({ app }) => ({ as: { apiKey: (await seedUser(app, newName('person'))).apiKey } }),
  deleteMyAccount: async ({ app }) => {
    const user = await seedUser(app, newName('person'))
    return { as: { apiKey: user.apiKey }, body: { password: user.password } }
  },
}
