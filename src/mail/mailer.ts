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
  /**
   * Resolves when the mail was taken. `id` is the same for every try at one mail, so that of two that both got through
   * mail servers and programs keep one.
   * @throws when it was not taken; trying again is right but for a `MailRefusedError`
   */
  send(mail: Mail, id: string): Promise<void>
  /** Tries whether mails would be taken now, without sending one. @throws Error that says why not */
  check(): Promise<void>
  close(): Promise<void>
}

/** A mail that no repetition would deliver: the server refuses its recipient or its contents for good. */
export class MailRefusedError extends Error {
  override readonly name = 'MailRefusedError'
}

/** The Message-ID (RFC 5322, section 3.6.4) of a mail, with the domain of its sender, `Name <local@domain>`. */
export function messageIdOf(id: string, sender: string): string {
  return `<${id}@${/@([^>\s]+)>?\s*$/.exec(sender)?.[1] ?? 'localhost'}>`
}
