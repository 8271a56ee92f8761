import { schedule } from '../core/job.ts'

export const forgetLooseAttachments = schedule({
  name: 'chat.forget-attachments',
  summary: 'Forget files that were uploaded for a message a day ago and never sent',
  cron: '37 2 * * *',
  run: async ({ chatAttachments }) => void (await chatAttachments.forgetLoose()),
})
