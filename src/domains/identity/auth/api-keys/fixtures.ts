import { seedUser } from '../../../../../test/support/seed.ts'
import { newName, times, type Fixtures, type Lists, type Stage } from '../../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  getApiKey: async (stage) => ({ path: { id: await apiKey(stage) } }),
  updateApiKey: async (stage) => ({ path: { id: await apiKey(stage) } }),
  revokeApiKey: async (stage) => ({ path: { id: await apiKey(stage) } }),
  regenerateApiKey: async ({ app }) => {
    const { apiKey } = await seedUser(app, newName('person'))
    return { as: { apiKey }, once: true }
  },
}

export const lists: Lists<typeof operations> = {
  listApiKeys: times(({ app, caller: { apiKey } }) => {
    return app.send('POST /api/users/me/api-keys', { apiKey, body: { name: newName('key') } })
  }),
}

async function apiKey({ app, caller }: Stage): Promise<string> {
  const reply = await app.send('POST /api/users/me/api-keys', { apiKey: caller.apiKey, body: { name: newName('key') } })
  if (reply.status !== 201) throw new Error(`an API key for a fixture: ${reply.text}`)
  return reply.body.data._id
}
