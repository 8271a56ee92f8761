import type { AddressObject } from 'mailparser'
import { AppError } from '../../../../core/error.ts'
import { Conflict, ValidationFailed } from '../../../../core/errors.ts'
import type { Sql } from '../../../../core/sql.ts'
import { anyOf } from '../../../../db/condition.ts'
import type { Foundation } from '../../../../foundation.ts'
import { findUserByEmail, normalizeEmail } from '../../../identity/users/index.ts'
import type { TicketAttachments } from '../attachments.ts'
import { TicketClosed } from '../errors.ts'
import type { TicketNotices } from '../notices.ts'
import type { Party } from '../reader.ts'
import { MAX_TEXT } from '../schemas.ts'
import { supportMails, supportTickets } from '../tables.ts'
import type { Claim, Tickets } from '../tickets.ts'
import { isFromGenuine } from './authentication-results.ts'
import { automaticReason } from './automatic.ts'
import { isForwarded, withoutQuotedText } from './quoted-text.ts'
import { readMail, type ReceivedMail } from './read-mail.ts'
import type { ReplyAddresses } from './reply-address.ts'

/** What became of a mail, and why it was ignored. */
export interface MailOutcome {
  readonly outcome: 'reply' | 'ticket' | 'note' | 'duplicate' | 'ignored'
  readonly reason: string | null
  /** Whether From could not be verified, so that only the support team sees the mail. */
  readonly isUnverified: boolean
  readonly ticketId: string | null
}

type Sender = Party & { readonly email: string }

const MAX_FILES = 10
/** The beginning of the Message-ID that is the root of the thread of a ticket. */
const ROOT = /^<ticket-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})@/

interface Needs {
  readonly addresses: ReplyAddresses
  /** The mail server whose DMARC results are trusted. Without it, no From is verified. */
  readonly authservId: string | undefined
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
    const from = mail.from?.value[0]?.address?.slice(0, 320) ?? ''
    if (from === '') return ignored('unknown_sender')
    const claimed = await this.#userOf(this.#foundation.database, from)
    // Only a genuine From speaks for its user. A signature or a thread says which ticket a mail belongs to.
    const sender = isFromGenuine(mail, this.#needs.authservId) ? claimed : undefined
    const addressed = await this.#byAddress(this.#foundation.database, mail, claimed)
    if (addressed === 'invalid') return ignored('wrong_signature')
    if (addressed !== undefined) {
      const { ticketId, userId } = addressed
      return sender?.userId === userId
        ? this.#reply(mail, { sender, ticketId })
        : this.#addUnverified(mail, { from, ticketId, outcome: 'note' })
    }
    const threaded = claimed && (await this.#byThread(this.#foundation.database, mail, claimed, sender !== undefined))
    if (threaded !== undefined) {
      return sender === undefined
        ? this.#addUnverified(mail, { from, ticketId: threaded, outcome: 'reply' })
        : this.#reply(mail, { sender, ticketId: threaded })
    }
    if (!recipientsOf(mail).some((address) => this.#needs.addresses.isOurs(address))) return ignored('other_recipient')
    if (claimed === undefined) return ignored('unknown_sender')
    return this.#create(mail, sender ?? { userId: claimed.userId, from })
  }

  async #reply(mail: ReceivedMail, { sender, ticketId }: { sender: Sender; ticketId: string }): Promise<MailOutcome> {
    const { tickets } = this.#needs
    const { attachments, message } = await this.#content(mail, textOfReply(mail), sender)
    try {
      return await this.#foundation.database.transaction(async (tx) => {
        if (!(await this.#isNew(tx, mail, ticketId))) return taken('duplicate', ticketId)
        await tickets.replyIn(tx, sender, ticketId, { message, attachments }, true)
        return taken('reply', ticketId)
      })
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== TicketClosed.code) throw error
      await this.#foundation.database.transaction(async (tx) => {
        if (!(await this.#isNew(tx, mail, ticketId))) return
        const ticket = await supportTickets.first(tx, { id: ticketId })
        if (ticket) await this.#needs.notices.refused(tx, ticket, { id: sender.userId, email: sender.email })
      })
      return { ...ignored(error.code), ticketId }
    }
  }

  /** Adds a mail whose From could not be verified to a ticket. Only the support team sees it. */
  async #addUnverified(
    mail: ReceivedMail,
    {
      from,
      outcome,
      ticketId,
    }: { readonly from: string; readonly outcome: 'note' | 'reply'; readonly ticketId: string },
  ): Promise<MailOutcome> {
    const { message } = await this.#content(mail, textOfReply(mail))
    return this.#foundation.database.transaction(async (tx) => {
      if (!(await this.#isNew(tx, mail, ticketId, outcome === 'reply'))) return taken('duplicate', ticketId)
      await this.#needs.tickets.addUnverifiedIn(tx, ticketId, from, message)
      return { ...taken(outcome, ticketId), isUnverified: true }
    })
  }

  /** @param from the user, or only a claim to be one */
  async #create(mail: ReceivedMail, from: Sender | Claim): Promise<MailOutcome> {
    const isUnverified = 'from' in from
    const { attachments, message } = await this.#content(mail, mail.text, isUnverified ? undefined : from)
    const subject = (mail.subject ?? '').replaceAll(/\s+/g, ' ').trim().slice(0, 200) || 'No subject'
    return this.#foundation.database.transaction(async (tx) => {
      const known = await this.#known(tx, mail)
      if (known !== undefined) return taken('duplicate', known)
      const input = { subject, category: 'mail', message }
      const { tickets } = this.#needs
      const ticketId = isUnverified
        ? await tickets.createUnverifiedIn(tx, from, input)
        : (await tickets.createIn(tx, from, { ...input, attachments }, true))._id
      // A copy that arrived at the same moment has made a ticket, so this one must not.
      if (!(await this.#isNew(tx, mail, ticketId)))
        throw Conflict({ message: 'The mail was already accepted. Do not send it again.' })
      return { ...taken('ticket', ticketId), isUnverified }
    })
  }

  /**
   * Remembers a mail.
   * @param isInbound whether mails to the user can refer to it
   * @returns false if it has been taken before
   */
  async #isNew(sql: Sql, { messageId }: ReceivedMail, ticketId: string, isInbound = true): Promise<boolean> {
    if (messageId === undefined) return true
    const createdAt = new Date(this.#foundation.clock.now()).toISOString()
    const row = { messageId: messageId.slice(0, 500), ticketId, isInbound, createdAt }
    return (await supportMails.insert(sql, row, { ignoreConflict: true })) > 0
  }

  async #known(sql: Sql, { messageId }: ReceivedMail): Promise<string | undefined> {
    if (messageId === undefined) return undefined
    return (await supportMails.first(sql, { messageId: messageId.slice(0, 500) }, { columns: ['ticketId'] }))?.ticketId
  }

  /**
   * The ticket by a signed address, and the user for whom it was signed: the user of the ticket, or the administrator
   * whom From names. Undefined if no address has a signature.
   */
  async #byAddress(sql: Sql, mail: ReceivedMail, claimed: Sender | undefined) {
    const { addresses } = this.#needs
    const signed = recipientsOf(mail).flatMap((address) => addresses.read(address) ?? [])
    if (signed.length === 0) return undefined
    for (const { signature, ticketId } of signed) {
      const ticket = await supportTickets.first(sql, { id: ticketId }, { columns: ['userId'] })
      if (ticket === undefined) continue
      const readers = [ticket.userId, claimed?.isAdmin === true ? claimed.userId : null]
      const userId = readers.find((id) => id !== null && addresses.isValid({ ticketId, userId: id }, signature))
      if (userId) return { ticketId, userId }
    }
    return 'invalid' as const
  }

  /**
   * The ticket by the thread of a mail, if the user is the one of the ticket. Without a genuine From, only a ticket that
   * began with such a mail itself and is not closed.
   */
  async #byThread(sql: Sql, mail: ReceivedMail, { userId }: Sender, isGenuine: boolean): Promise<string | undefined> {
    const references = typeof mail.references === 'string' ? [mail.references] : (mail.references ?? [])
    const ids = [...(mail.inReplyTo === undefined ? [] : [mail.inReplyTo]), ...references].slice(-50)
    if (ids.length === 0) return undefined
    const known = await supportMails.find(sql, { messageId: anyOf(ids) }, { columns: ['ticketId'] })
    const roots = ids.flatMap((id) => ROOT.exec(id)?.[1] ?? [])
    for (const id of new Set([...known.map((one) => one.ticketId), ...roots])) {
      const ticket = await supportTickets.first(sql, { id }, { columns: ['userId', 'claimedUserId', 'closedAt'] })
      const isTheirs = isGenuine
        ? ticket?.userId === userId
        : ticket?.claimedUserId === userId && ticket.closedAt === null
      if (isTheirs) return id
    }
    return undefined
  }

  /** The user with a confirmed address. */
  async #userOf(sql: Sql, address: string): Promise<Sender | undefined> {
    const user = await findUserByEmail(sql, normalizeEmail(address))
    if (user === undefined || !user.emailVerified) return undefined
    return { userId: user.id, isAdmin: user.isAdmin, email: user.email }
  }

  /**
   * The text, and the files that pass the checks, also pictures in the text. The text names the others. HTML that became
   * text, or that is the only text, is kept as a file.
   * @param sender undefined if From could not be verified: files of strangers are not stored
   */
  async #content(
    { attachments: files, html }: ReceivedMail,
    written: string,
    sender?: Sender,
  ): Promise<{ message: string; attachments: string[] }> {
    const attachments: string[] = []
    const refused: string[] = []
    for (const { content, contentType, filename } of files) {
      const name = (filename ?? (contentType.startsWith('image/') ? 'picture' : 'file')).slice(0, 200)
      if (sender === undefined) refused.push(`${name}: the mail could not be verified.`)
      else if (attachments.length >= MAX_FILES) refused.push(`${name}: a message can have ${MAX_FILES} files.`)
      else {
        try {
          attachments.push((await this.#needs.attachments.store(sender.userId, name, content)).id)
        } catch (error) {
          if (!(error instanceof AppError) || error.status >= 500) throw error
          refused.push(`${name}: ${error.message}`)
        }
      }
    }
    if (html !== undefined && sender !== undefined) {
      attachments.push((await this.#needs.attachments.keepHtml(sender.userId, 'mail.html', html)).id)
    }
    const text = written || 'The mail has no text.'
    const note = refused.length === 0 ? '' : `\n\n[Files that were not accepted: ${refused.join(' ')}]`.slice(0, 2_000)
    return { message: text.slice(0, MAX_TEXT - note.length).toWellFormed() + note, attachments }
  }
}

/** Only a reply quotes what the ticket has already. */
function textOfReply(mail: ReceivedMail): string {
  return isForwarded(mail) ? mail.text : withoutQuotedText(mail.text)
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
  return { outcome: 'ignored', reason, isUnverified: false, ticketId: null }
}

function taken(outcome: MailOutcome['outcome'], ticketId: string): MailOutcome {
  return { outcome, reason: null, isUnverified: false, ticketId }
}
