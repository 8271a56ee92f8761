import type { Sql, Transaction } from '../../../core/sql.ts'
import { sendMail } from '../../../mail/jobs.ts'
import { messageIdOf } from '../../../mail/mailer.ts'
import { plainName, plainText } from '../../../mail/user-text.ts'
import type { Foundation } from '../../../foundation.ts'
import { textsFor, type TextValues } from '../../../language/texts.ts'
import { findAdministrators, findReaders, findUser } from '../../identity/users/index.ts'
import { notifyIn } from '../notifications/index.ts'
import type { ReplyAddresses } from './mail/reply-address.ts'
import { ticketReplied } from './notifications.ts'
import { ticketMail, type TicketMailText } from './ticket-mail.ts'
import { supportMails, type MessageRow, type TicketRow } from './tables.ts'

interface Recipient {
  /** Their mails are replies to the ticket. Undefined: they have no ticket that they could reply to. */
  readonly id: string | undefined
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
    const content = plainText(message.content)
    if (message.unverifiedFrom === null) await this.#send(tx, ticket, team, { text: 'mail.support.created', content })
    else await this.#send(tx, ticket, team, { text: 'mail.support.createdUnverified', ...claimed(message), content })
  }

  /**
   * Tells the other side of a reply. A reply of the team notifies the user by the channels of their settings. A reply of the
   * user, or a mail that claims to be one, is mailed to the assignee of the ticket, or to the whole team.
   */
  async replied(tx: Transaction, ticket: TicketRow, message: MessageRow): Promise<void> {
    if (message.role === 'agent') {
      if (ticket.userId === null) return this.#answerUnverified(tx, ticket, message)
      const data = { ticketId: ticket.id, ticket: ticket.subject, reply: plainText(message.content) }
      await notifyIn(this.#foundation.jobs, tx, ticketReplied, { to: [ticket.userId], actorId: message.authorId, data })
      const user = await findUser(tx, ticket.userId, { columns: ['emailVerified'] })
      const [reader] = user?.emailVerified === true ? await findReaders(tx, [ticket.userId]) : []
      if (reader?.notifications.kinds.supportReply.email === true) {
        const recipient = { ...reader, locale: reader.language }
        await this.#send(tx, ticket, [recipient], { text: 'mail.support.repliedByTeam', content: message.content })
      }
      return
    }
    const team = await findAdministrators(tx)
    const assigned = team.filter(({ id }) => id === ticket.assigneeId)
    const recipients = (assigned.length > 0 ? assigned : team).filter(({ id }) => id !== message.authorId)
    const content = plainText(message.content)
    if (message.unverifiedFrom === null)
      await this.#send(tx, ticket, recipients, { text: 'mail.support.repliedByUser', content })
    else
      await this.#send(tx, ticket, recipients, { text: 'mail.support.addedUnverified', ...claimed(message), content })
  }

  /**
   * Mails a reply of the team to the confirmed address that a mail claims to be from. Its owner may know nothing of that
   * mail, so nothing of it is quoted. They have no ticket, so their reply goes to the address of the support team.
   */
  async #answerUnverified(tx: Transaction, ticket: TicketRow, { content }: MessageRow): Promise<void> {
    const userId = ticket.claimedUserId ?? ''
    const user = await findUser(tx, userId, { columns: ['email', 'emailVerified'] })
    if (user?.emailVerified !== true) return
    const [reader] = await findReaders(tx, [userId])
    const recipient = { id: undefined, email: user.email, ...(reader && { locale: reader.language }) }
    await this.#send(tx, ticket, [recipient], { text: 'mail.support.repliedToUnverified', content })
  }

  /** Tells an administrator of a ticket to take care of. */
  async assigned(tx: Transaction, ticket: TicketRow, assigneeId: string): Promise<void> {
    const recipients = (await findAdministrators(tx)).filter(({ id }) => id === assigneeId)
    await this.#send(tx, ticket, recipients, { text: 'mail.support.assigned' })
  }

  /** Tells the sender of a mail that the ticket takes no replies any more. The mail says that a program has sent it. */
  async refused(tx: Transaction, ticket: TicketRow, recipient: Recipient): Promise<void> {
    await this.#send(tx, ticket, [recipient], { text: 'mail.support.closed' }, { 'Auto-Submitted': 'auto-replied' })
  }

  async #send(
    tx: Transaction,
    ticket: TicketRow,
    recipients: readonly Recipient[],
    says: { readonly text: TicketMailText; readonly values?: TextValues; readonly content?: string },
    headers: Readonly<Record<string, string>> = { 'Auto-Submitted': 'auto-generated' },
  ): Promise<void> {
    if (recipients.length === 0) return
    const { clock, config, jobs } = this.#foundation
    const thread = await this.#thread(tx, ticket)
    for (const { email, id: userId, locale = 'en' } of recipients) {
      const replyTo =
        userId === undefined ? this.#addresses?.address : this.#addresses?.addressFor({ ticketId: ticket.id, userId })
      const mail = ticketMail({ to: email, texts: textsFor(locale), ticket: ticket.subject, replyTo, ...says })
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

/** The address that a mail claims to be from, for a text. */
function claimed({ unverifiedFrom }: MessageRow): { readonly values: TextValues } {
  return { values: { address: plainName(unverifiedFrom ?? '') } }
}
