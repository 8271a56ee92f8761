import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import type { Mailer } from '../mail/mailer.ts'
import { OutboxMailer } from '../mail/outbox-mailer.ts'

/** Sends mail to `SMTP_URL`. Without it, mails are written to files in the data folder. */
export async function openMailer(config: Config, clock: Clock): Promise<Mailer> {
  if (config.SMTP_URL === undefined) {
    return new OutboxMailer(join(config.DATA_DIR, 'outbox'), config.MAIL_FROM, clock, config.OUTBOX_DAYS)
  }
  const { SmtpMailer } = await import('../mail/smtp-mailer.ts')
  return new SmtpMailer(config.SMTP_URL, config.MAIL_FROM)
}
