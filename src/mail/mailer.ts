/** A mail as the service composes it. The driver adds sender, Date and Message-ID. */
export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** Where replies go, if not to the sender. */
  readonly replyTo?: string
  /** The Message-ID that the mail replies to, and those of its thread (RFC 5322, section 3.6.4). */
  readonly inReplyTo?: string
  readonly references?: string
  /** Further header fields. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends mails. There are two drivers: SMTP, and files in `DATA_DIR/outbox`. */
export interface Mailer {
  /** The destination of mails in words, for the startup banner. */
  readonly destination: string
  /**
   * Resolves when the mail was accepted. `id` is the same for every attempt to send one mail, so that mail servers and
   * programs recognize duplicates.
   * @throws when it was not accepted; retry unless it is a `MailRefusedError`
   */
  send(mail: Mail, id: string): Promise<void>
  /**
   * Checks whether mails would be accepted now, without sending one.
   * @throws Error with the reason why not
   */
  check(): Promise<void>
  close(): Promise<void>
}

/** The server refuses the recipient or the contents of a mail permanently. A retry would not help. */
export class MailRefusedError extends Error {
  override readonly name = 'MailRefusedError'
}

/** The Message-ID (RFC 5322, section 3.6.4) of a mail, with the domain of its sender, `Name <local@domain>`. */
export function messageIdOf(id: string, sender: string): string {
  return `<${id}@${/@([^>\s]+)>?\s*$/.exec(sender)?.[1] ?? 'localhost'}>`
}
