import { MINUTE } from '../../../../core/clock.ts'
import { job, schedule } from '../../../../core/job.ts'
import { Id, Type } from '../../../../core/schema.ts'
import { checkAuthorsTurn, makeOccurrencesTurn } from './turns.ts'

/** Makes the posts of a series that are due to be made. */
export const makeOccurrences = job({
  name: 'posts.make-occurrences',
  summary: 'Make the next posts of a recurring post',
  queue: 'default',
  data: Type.Object({ seriesId: Id }),
  run: async ({ data, turns, workspaceId }) => {
    if (workspaceId !== undefined) await turns.system(workspaceId, makeOccurrencesTurn, data)
  },
})

/** Members or roles of a workspace have changed. */
export const checkAuthors = job({
  name: 'posts.check-authors',
  summary: 'Pause the recurring posts whose author has lost access',
  queue: 'default',
  data: Type.Object({}),
  run: async ({ turns, workspaceId }) => {
    if (workspaceId !== undefined) await turns.system(workspaceId, checkAuthorsTurn, {})
  },
})

export const makeAllOccurrences = schedule({
  name: 'posts.series',
  summary: 'Make the posts of recurring posts 30 days ahead',
  cron: '*/10 * * * *',
  timeoutMs: 10 * MINUTE,
  run: async ({ log, signal, writing }) => {
    await writing.seriesWatch.run(signal, log)
  },
})
