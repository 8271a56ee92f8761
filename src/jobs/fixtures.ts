import { uuidv7 } from '../tools/id.ts'
import { times, type Fixtures, type Lists, type Stage } from '../../test/support/stage.ts'
import type * as operations from './operations.ts'
import { outbox } from './tables.ts'

export const fixtures: Fixtures<typeof operations> = {
  retryQueueJob: async (stage) => ({ path: { id: await deadJob(stage) } }),
}

export const lists: Lists<typeof operations> = {
  getQueueJobs: times(deadJob, { query: { state: 'dead' } }),
}

/** Creates a dead job. */
async function deadJob({ app }: Stage): Promise<string> {
  const now = app.clock.now()
  const id = uuidv7(now)
  const at = new Date(now)
  await outbox.insert(app.database, {
    id,
    name: 'auth.housekeeping',
    queue: 'maintenance',
    data: {},
    state: 'dead',
    runAt: at,
    attempts: 5,
    added: 1,
    createdAt: at,
    updatedAt: at,
  })
  return id
}
