import { schedule } from '../../../core/job.ts'

export const forgetTicketFiles = schedule({
  name: 'support.forget_files',
  summary: 'Delete files of tickets that were never sent',
  cron: '41 3 * * *',
  run: async ({ support }) => void (await support.attachments.forgetLoose()),
})
