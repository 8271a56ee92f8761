import { MINUTE } from '../../../../core/clock.ts'
import { job, schedule } from '../../../../core/job.ts'
import { Id, Type } from '../../../../core/schema.ts'

/** Sends ahead what can be sent of a post at one account. */
export const prepareTarget = job({
  name: 'posts.prepare',
  summary: 'Upload the files of a post before its time',
  queue: 'preparation',
  // The job holds due targets and shows the reason.
  whileOff: 'runs',
  data: Type.Object({ targetId: Id }),
  // The next run of the schedule tries again.
  attempts: 1,
  timeoutMs: 15 * MINUTE,
  run: async ({ data, log, publication, signal, workspaceId }) => {
    if (workspaceId !== undefined) await publication.preparer.run({ ...data, workspaceId, signal, log })
  },
})

export const prepareDue = schedule({
  name: 'posts.prepareDue',
  summary: 'Find posts that are due soon and have files to upload',
  cron: '* * * * *',
  run: async ({ publication }) => {
    await publication.preparations.add()
  },
})
