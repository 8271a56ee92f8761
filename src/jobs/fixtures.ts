import { times, type Fixtures, type Lists, type Stage } from '../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  retryQueueJob: async (stage) => ({ path: { id: await deadJob(stage) } }),
}

export const lists: Lists<typeof operations> = {
  getQueueJobs: times(deadJob, { query: { state: 'dead' } }),
}

/** Creates a dead job. */
async function deadJob({ app }: Stage): Promise<string> {
  const row = await app.database.row<{ id: string }>(
    `insert into outbox (id, name, queue, data, state, run_at, attempts, added, created_at, updated_at)
     values (gen_random_uuid(), 'auth.housekeeping', 'maintenance', '{}', 'dead', $1, 5, 1, $1, $1) returning id`,
    [new Date(app.clock.now())],
  )
  return row?.id ?? ''
}
