import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import { OutboxMailer } from '../mail/outbox-mailer.ts'
import { SmtpMailer } from '../mail/smtp-mailer.ts'

/** Sends mail to `SMTP_URL`. Without it, mails are written to files in the data folder. */
export function mailerOf(config: Config, clock: Clock): OutboxMailer | SmtpMailer {
  return config.SMTP_URL === undefined
    ? new OutboxMailer(join(config.DATA_DIR, 'outbox'), config.MAIL_FROM, clock, config.OUTBOX_DAYS)
    : new SmtpMailer(config.SMTP_URL, config.MAIL_FROM)
}
