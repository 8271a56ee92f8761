import type { AddressObject } from 'mailparser'
import { AppError } from '../../../../core/error.ts'
import { Conflict, ValidationFailed } from '../../../../core/errors.ts'
import type { Sql } from '../../../../core/sql.ts'
import { anyOf } from '../../../../db/condition.ts'
import type { Foundation } from '../../../../foundation.ts'
import { findUser, findUserByEmail, normalizeEmail } from '../../../identity/users/index.ts'
import type { TicketAttachments } from '../attachments.ts'
import { TicketClosed } from '../errors.ts'
import type { TicketNotices } from '../notices.ts'
import type { Party } from '../reader.ts'
import { MOST_TEXT } from '../schemas.ts'
import { supportMails, supportTickets } from '../tables.ts'
import type { Tickets } from '../tickets.ts'
import { automaticReason } from './automatic.ts'
import { isForwarded, withoutQuotedText } from './quoted-text.ts'
import { readMail, type ReceivedMail } from './read-mail.ts'
import type { ReplyAddresses } from './reply-address.ts'

/** What became of a mail, and why it was ignored. */
export interface MailOutcome {
  readonly outcome: 'reply' | 'ticket' | 'duplicate' | 'ignored'
  readonly reason: string | null
  readonly ticketId: string | null
}

type Sender = Party & { readonly email: string }

const MOST_FILES = 10
/** The beginning of the Message-ID that is the root of the thread of a ticket. */
const ROOT = /^<ticket-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})@/

interface Needs {
  readonly addresses: ReplyAddresses
  readonly attachments: TicketAttachments
  readonly notices: TicketNotices
  readonly tickets: Tickets
}

/** Makes replies and tickets of mails. */
export class InboundMails {
  readonly #foundation: Pick<Foundation, 'clock' | 'database' | 'log'>
  readonly #needs: Needs

  constructor(foundation: Pick<Foundation, 'clock' | 'database' | 'log'>, needs: Needs) {
    this.#foundation = foundation
    this.#needs = needs
  }

  /**
   * Takes a mail as it was received (RFC 5322). The same mail again changes nothing.
   * @throws AppError validation_failed if it cannot be read
   */
  async take(raw: Buffer): Promise<MailOutcome> {
    const mail = await readMail(raw).catch((error: unknown) => {
      this.#foundation.log.warn({ error }, 'a mail to the support team cannot be read')
      throw ValidationFailed({ errors: [{ path: '/body', code: 'unreadable', message: 'must be a mail (RFC 5322)' }] })
    })
    const outcome = await this.#take(mail).catch((error: unknown) => {
      if (error instanceof AppError && error.status < 500) return ignored(error.code)
      throw error
    })
    this.#foundation.log.info({ ...outcome, messageId: mail.messageId }, 'a mail to the support team')
    return outcome
  }

  async #take(mail: ReceivedMail): Promise<MailOutcome> {
    const automatic = automaticReason(mail)
    if (automatic !== undefined) return ignored(automatic)
    const { database } = this.#foundation
    const addressed = await this.#byAddress(database, mail)
    if (addressed === 'invalid') return ignored('wrong_signature')
    const found = addressed ?? (await this.#byThread(database, mail))
    if (found !== undefined) return this.#reply(mail, found)
    if (!recipientsOf(mail).some((address) => this.#needs.addresses.isOurs(address))) return ignored('other_recipient')
    const sender = await this.#sender(database, mail)
    return sender === undefined ? ignored('unknown_sender') : this.#create(mail, sender)
  }

  async #reply(mail: ReceivedMail, { sender, ticketId }: { sender: Sender; ticketId: string }): Promise<MailOutcome> {
    const { tickets } = this.#needs
    // Only a reply quotes what the ticket has already.
    const text = isForwarded(mail) ? mail.text : withoutQuotedText(mail.text)
    const { attachments, message } = await this.#content(mail, text, sender)
    try {
      return await this.#foundation.database.transaction(async (tx) => {
        if (!(await this.#isNew(tx, mail, ticketId))) return { outcome: 'duplicate', reason: null, ticketId }
        await tickets.replyIn(tx, sender, ticketId, { message, attachments }, true)
        return { outcome: 'reply', reason: null, ticketId }
      })
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== TicketClosed.code) throw error
      await this.#foundation.database.transaction(async (tx) => {
        if (!(await this.#isNew(tx, mail, ticketId))) return
        const ticket = await supportTickets.first(tx, { id: ticketId })
        if (ticket) await this.#needs.notices.refused(tx, ticket, { id: sender.userId, email: sender.email })
      })
      return { outcome: 'ignored', reason: error.code, ticketId }
    }
  }

  async #create(mail: ReceivedMail, sender: Sender): Promise<MailOutcome> {
    const { attachments, message } = await this.#content(mail, mail.text, sender)
    const subject = (mail.subject ?? '').replaceAll(/\s+/g, ' ').trim().slice(0, 200) || 'No subject'
    return this.#foundation.database.transaction(async (tx) => {
      const known = await this.#known(tx, mail)
      if (known !== undefined) return { outcome: 'duplicate', reason: null, ticketId: known }
      const input = { subject, category: 'mail', message, attachments }
      const { _id: ticketId } = await this.#needs.tickets.createIn(tx, sender, input, true)
      // A copy that arrived at the same moment has made a ticket, so this one must not.
      if (!(await this.#isNew(tx, mail, ticketId)))
        throw Conflict({ message: 'The mail was already accepted. Do not send it again.' })
      return { outcome: 'ticket', reason: null, ticketId }
    })
  }

  /** Remembers a mail. @returns false if it has been taken before */
  async #isNew(sql: Sql, { messageId }: ReceivedMail, ticketId: string): Promise<boolean> {
    if (messageId === undefined) return true
    const createdAt = new Date(this.#foundation.clock.now()).toISOString()
    const row = { messageId: messageId.slice(0, 500), ticketId, isInbound: true, createdAt }
    return (await supportMails.insert(sql, row, { ignoreConflict: true })) > 0
  }

  async #known(sql: Sql, { messageId }: ReceivedMail): Promise<string | undefined> {
    if (messageId === undefined) return undefined
    return (await supportMails.first(sql, { messageId: messageId.slice(0, 500) }, { columns: ['ticketId'] }))?.ticketId
  }

  /** The ticket and the writer by a signed address. Undefined if no address has a signature. */
  async #byAddress(sql: Sql, mail: ReceivedMail) {
    const { addresses } = this.#needs
    const signed = recipientsOf(mail).flatMap((address) => addresses.read(address) ?? [])
    if (signed.length === 0) return undefined
    for (const { signature, ticketId } of signed) {
      const ticket = await supportTickets.first(sql, { id: ticketId }, { columns: ['userId'] })
      if (ticket === undefined) continue
      // The address belongs to the user of the ticket, or to an administrator who writes from their own address.
      const writer = await this.#sender(sql, mail)
      for (const userId of [ticket.userId, ...(writer ? [writer.userId] : [])]) {
        if (!addresses.isValid({ ticketId, userId }, signature)) continue
        const user = await findUser(sql, userId, { columns: ['email', 'isAdmin'] })
        const isAllowed = user !== undefined && (userId === ticket.userId || user.isAdmin)
        if (isAllowed) return { ticketId, sender: { userId, isAdmin: user.isAdmin, email: user.email } }
      }
    }
    return 'invalid' as const
  }

  /** The ticket by the thread of a mail that its user has sent. Without a signature, the sender must be the user. */
  async #byThread(sql: Sql, mail: ReceivedMail): Promise<{ sender: Sender; ticketId: string } | undefined> {
    const references = typeof mail.references === 'string' ? [mail.references] : (mail.references ?? [])
    const ids = [...(mail.inReplyTo === undefined ? [] : [mail.inReplyTo]), ...references].slice(-50)
    if (ids.length === 0) return undefined
    const known = await supportMails.find(sql, { messageId: anyOf(ids) }, { columns: ['ticketId'] })
    const roots = ids.flatMap((id) => ROOT.exec(id)?.[1] ?? [])
    const sender = await this.#sender(sql, mail)
    for (const ticketId of new Set([...known.map((one) => one.ticketId), ...roots])) {
      const ticket = await supportTickets.first(sql, { id: ticketId }, { columns: ['userId'] })
      if (ticket !== undefined && ticket.userId === sender?.userId) return { sender, ticketId }
    }
    return undefined
  }

  /** The user with a confirmed address whom a mail names as its writer. */
  async #sender(sql: Sql, mail: ReceivedMail): Promise<Sender | undefined> {
    const address = mail.from?.value[0]?.address
    if (address === undefined || address === '') return undefined
    const user = await findUserByEmail(sql, normalizeEmail(address))
    if (user === undefined || !user.emailVerified) return undefined
    return { userId: user.id, isAdmin: user.isAdmin, email: user.email }
  }

  /**
   * The text, and the files that pass the checks, also pictures in the text. The text names the others. HTML that became
   * text, or that is the only text, is kept as a file.
   */
  async #content(
    { attachments: files, html }: ReceivedMail,
    written: string,
    { userId }: Sender,
  ): Promise<{ message: string; attachments: string[] }> {
    const attachments: string[] = []
    const refused: string[] = []
    for (const { content, contentType, filename } of files) {
      const name = (filename ?? (contentType.startsWith('image/') ? 'picture' : 'file')).slice(0, 200)
      if (attachments.length >= MOST_FILES) refused.push(`${name}: a message can have ${MOST_FILES} files.`)
      else {
        try {
          attachments.push((await this.#needs.attachments.store(userId, name, content)).id)
        } catch (error) {
          if (!(error instanceof AppError) || error.status >= 500) throw error
          refused.push(`${name}: ${error.message}`)
        }
      }
    }
    if (html !== undefined) attachments.push((await this.#needs.attachments.keepHtml(userId, 'mail.html', html)).id)
    const text = written || 'The mail has no text.'
    const note = refused.length === 0 ? '' : `\n\n[Files that were not accepted: ${refused.join(' ')}]`.slice(0, 2_000)
    return { message: text.slice(0, MOST_TEXT - note.length).toWellFormed() + note, attachments }
  }
}

/** All addresses that a mail was sent to, also those that mail servers have noted. */
function recipientsOf({ cc, headers, to }: ReceivedMail): string[] {
  const fields = [to, cc].flat().filter((field): field is AddressObject => field !== undefined)
  const named = fields.flatMap(({ value }) =>
    value.flatMap(({ address, group }) => [address, ...(group ?? []).map((one) => one.address)]),
  )
  const noted = ['delivered-to', 'x-original-to', 'envelope-to'].flatMap((name) => {
    const value: unknown = headers.get(name)
    return typeof value === 'string' ? [value] : []
  })
  return [...named, ...noted].filter((address) => address !== undefined && address !== '') as string[]
}

function ignored(reason: string): MailOutcome {
  return { outcome: 'ignored', reason, ticketId: null }
}
