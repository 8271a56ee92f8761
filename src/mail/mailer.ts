/** A mail as the service composes it; sender, Date and Message-ID are added by the driver. */
export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** Where mails go. Two drivers: SMTP, and files in `DATA_DIR/outbox`. */
export interface Mailer {
  /** Where mails land, in words, for the banner. */
  readonly destination: string
  /** Resolves when the mail was taken. @throws when it was not; trying again is right unless `permanent` */
  send(mail: Mail): Promise<void>
  close(): Promise<void>
}

/** A mail that no repetition would deliver: the server refuses its recipient or its contents for good. */
export class MailRefusedError extends Error {
  override readonly name = 'MailRefusedError'
}
