import { schedule } from '../core/job.ts'
import type { QueueService } from './queue-service.ts'

declare module '../core/services.ts' {
  interface Services {
    readonly queues: QueueService
  }
}

export const forgetJobs = schedule({
  name: 'jobs.forget',
  summary: 'Count done jobs, delete their records after a day, and delete dead jobs after a month',
  cron: '*/10 * * * *',
  run: async ({ queues, signal }) => queues.forget(signal),
})
