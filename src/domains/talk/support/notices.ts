import type { Sql, Transaction } from '../../../core/sql.ts'
import { sendMail } from '../../../mail/jobs.ts'
import { messageIdOf } from '../../../mail/mailer.ts'
import { plainText } from '../../../mail/user-text.ts'
import type { Foundation } from '../../../foundation.ts'
import { textsFor } from '../../../language/texts.ts'
import { findAdministrators, findReaders, findUser } from '../../identity/users/index.ts'
import { notifyIn } from '../notifications/index.ts'
import type { ReplyAddresses } from './mail/reply-address.ts'
import { ticketReplied } from './notifications.ts'
import { ticketMail, type TicketMailText } from './ticket-mail.ts'
import { supportMails, type MessageRow, type TicketRow } from './tables.ts'

interface Recipient {
  readonly id: string
  readonly email: string
  readonly locale?: string
}

/**
 * Mails to the participants of a ticket. All mails of a ticket are one thread in mail programs, and a reply to one of
 * them is a reply to the ticket.
 */
export class TicketNotices {
  readonly #foundation: Pick<Foundation, 'clock' | 'config' | 'jobs'>
  readonly #addresses: ReplyAddresses | undefined

  /** @param addresses absent if mails are not received */
  constructor(foundation: Pick<Foundation, 'clock' | 'config' | 'jobs'>, addresses: ReplyAddresses | undefined) {
    this.#foundation = foundation
    this.#addresses = addresses
  }

  /** Tells the support team of a new ticket. */
  async created(tx: Transaction, ticket: TicketRow, message: MessageRow): Promise<void> {
    const team = (await findAdministrators(tx)).filter(({ id }) => id !== message.authorId)
    await this.#send(tx, ticket, team, 'mail.support.created', plainText(message.content))
  }

  /**
   * Tells the other side of a reply. A reply of the team notifies the user by the channels of their settings. A reply of the
   * user is mailed to the assignee of the ticket, or to the whole team.
   */
  async replied(tx: Transaction, ticket: TicketRow, message: MessageRow): Promise<void> {
    if (message.role === 'agent') {
      const data = { ticketId: ticket.id, ticket: ticket.subject, reply: plainText(message.content) }
      await notifyIn(this.#foundation.jobs, tx, ticketReplied, { to: [ticket.userId], actorId: message.authorId, data })
      const user = await findUser(tx, ticket.userId, { columns: ['emailVerified'] })
      const [reader] = user?.emailVerified === true ? await findReaders(tx, [ticket.userId]) : []
      if (reader?.notifications.kinds.supportReply.email === true) {
        const recipient = { ...reader, locale: reader.language }
        await this.#send(tx, ticket, [recipient], 'mail.support.repliedByTeam', message.content)
      }
      return
    }
    const team = await findAdministrators(tx)
    const assigned = team.filter(({ id }) => id === ticket.assigneeId)
    const told = (assigned.length > 0 ? assigned : team).filter(({ id }) => id !== message.authorId)
    await this.#send(tx, ticket, told, 'mail.support.repliedByUser', plainText(message.content))
  }

  /** Tells an administrator of a ticket to take care of. */
  async assigned(tx: Transaction, ticket: TicketRow, assigneeId: string): Promise<void> {
    const told = (await findAdministrators(tx)).filter(({ id }) => id === assigneeId)
    await this.#send(tx, ticket, told, 'mail.support.assigned')
  }

  /** Tells the sender of a mail that the ticket takes no replies any more. The mail says that a program has sent it. */
  async refused(tx: Transaction, ticket: TicketRow, recipient: Recipient): Promise<void> {
    await this.#send(tx, ticket, [recipient], 'mail.support.closed', undefined, { 'Auto-Submitted': 'auto-replied' })
  }

  async #send(
    tx: Transaction,
    ticket: TicketRow,
    recipients: readonly Recipient[],
    text: TicketMailText,
    content?: string,
    headers: Readonly<Record<string, string>> = { 'Auto-Submitted': 'auto-generated' },
  ): Promise<void> {
    if (recipients.length === 0) return
    const { clock, config, jobs } = this.#foundation
    const thread = await this.#thread(tx, ticket)
    for (const { email, id: userId, locale = 'en' } of recipients) {
      const replyTo = this.#addresses?.addressFor({ ticketId: ticket.id, userId })
      const mail = ticketMail({ to: email, texts: textsFor(locale), text, ticket: ticket.subject, content, replyTo })
      const jobId = await jobs.add(tx, sendMail, { ...mail, ...thread, headers })
      const messageId = messageIdOf(jobId, config.MAIL_FROM)
      const createdAt = new Date(clock.now()).toISOString()
      await supportMails.insert(tx, { messageId, ticketId: ticket.id, isInbound: false, createdAt })
    }
  }

  /** The header fields that put a mail into the thread of its ticket. */
  async #thread(sql: Sql, { id: ticketId }: TicketRow): Promise<{ inReplyTo: string; references: string }> {
    const root = messageIdOf(`ticket-${ticketId}`, this.#foundation.config.MAIL_FROM)
    const [last] = await supportMails.find(
      sql,
      { ticketId, isInbound: true },
      { columns: ['messageId'], orderBy: ['createdAt desc'], limit: 1 },
    )
    return { inReplyTo: last?.messageId ?? root, references: [root, ...(last ? [last.messageId] : [])].join(' ') }
  }
}
