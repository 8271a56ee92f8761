import { seedUser, seedWorkspace } from '../../../../test/support/seed.ts'
import { newName, times, type Fixtures, type Lists } from '../../../../test/support/stage.ts'
import { group } from '../team/fixtures.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  deleteWorkspace: async ({ app, owner }) => {
    const name = newName('workspace')
    return {
      as: { apiKey: owner.apiKey },
      path: { workspaceId: await seedWorkspace(app, name, owner) },
      body: { name },
    }
  },
}

export const lists: Lists<typeof operations> = {
  listWorkspaces: async ({ app }, many) => {
    const user = await seedUser(app, newName('person'), { plan: 'business' })
    for (let made = 0; made < many; made += 1) await seedWorkspace(app, newName('workspace'), user)
    return { as: { apiKey: user.apiKey } }
  },
  listAuditLog: times(group),
}
