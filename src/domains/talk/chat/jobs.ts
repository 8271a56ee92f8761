import { schedule } from '../../../core/job.ts'

export const forgetLooseAttachments = schedule({
  name: 'chat.forget-attachments',
  summary: 'Delete files that were uploaded for a message over a day ago and never sent',
  cron: '37 2 * * *',
  run: async ({ chat }) => void (await chat.attachments.forgetLoose()),
})

export const pruneChatLog = schedule({
  name: 'chat.prune-log',
  summary: 'Remove changes of channels that are older than 90 days or not among the newest 1,000 of their channel',
  cron: '52 3 * * *',
  timeoutMs: 30 * 60_000,
  run: async ({ signal, chat }) => void (await chat.logRetention.prune(signal)),
})
