import { schedule } from '../../../core/job.ts'

export const watchTargets = schedule({
  name: 'posts.watch',
  summary: 'Find posts that are due and do not progress',
  cron: '*/20 * * * * *',
  whileOff: 'runs',
  run: async ({ log, publication }) => {
    await publication.watchdog.run(log)
  },
})
