import { schedule } from '../../../core/job.ts'

export const internalHousekeeping = schedule({
  name: 'internal.housekeeping',
  summary: 'Delete expired uploads of workers and the records of used signatures',
  cron: '*/15 * * * *',
  run: async ({ internal }) => internal.uploads.sweep(),
})
