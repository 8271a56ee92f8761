import { schedule } from '../core/job.ts'
import type { QueueService } from './queue-service.ts'

declare module '../core/services.ts' {
  interface Services {
    readonly queues: QueueService
  }
}

export const forgetJobs = schedule({
  name: 'jobs.forget',
  summary: 'Delete records of done jobs after a day, and dead jobs after a month',
  cron: '*/10 * * * *',
  run: async ({ queues }) => queues.forget(),
})
