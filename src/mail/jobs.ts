import { UnrecoverableError, job, schedule } from '../core/job.ts'
import { Type } from '../core/schema.ts'
import { MailRefusedError, type Mailer } from './mailer.ts'

declare module '../core/services.ts' {
  interface Services {
    readonly mailer: Mailer
  }
}

/** Mails contain codes and links that sign people in, so their data is sealed. */
export const sendMail = job({
  name: 'mail.send',
  summary: 'Send a mail through the mail server',
  queue: 'mail',
  data: Type.Object({
    to: Type.String(),
    subject: Type.String({ 'x-verbatim': true }),
    text: Type.String({ 'x-verbatim': true }),
    html: Type.String({ 'x-verbatim': true }),
    replyTo: Type.Optional(Type.String()),
    inReplyTo: Type.Optional(Type.String()),
    references: Type.Optional(Type.String()),
    headers: Type.Optional(Type.Record(Type.String(), Type.String({ 'x-verbatim': true }))),
  }),
  sealed: true,
  // About twenty minutes: codes and links are not valid much longer.
  attempts: 10,
  backoff: { firstMs: 1_000, maxMs: 5 * 60_000 },
  timeoutMs: 60_000,
  run: async ({ data, attempt, mailer }) => {
    try {
      await mailer.send(data, attempt.jobId)
    } catch (error) {
      if (error instanceof MailRefusedError) throw new UnrecoverableError(error.message, { cause: error })
      throw error
    }
  },
})

export const mailHousekeeping = schedule({
  name: 'mail.housekeeping',
  summary: 'Delete mail counts that are older than all limits',
  cron: '*/10 * * * *',
  run: async ({ mailLimits }) => mailLimits.sweep(),
})
