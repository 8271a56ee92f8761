import { DAY, type Clock } from '../../../core/clock.ts'
import { Conflict, Forbidden, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { publishToUser } from '../../../coordination/personal.ts'
import type { EventType } from '../../../core/event.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { Sql, Transaction } from '../../../core/sql.ts'
import { not } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import type { Foundation } from '../../../foundation.ts'
import { findAdministrators } from '../../identity/users/index.ts'
import type { TicketAttachments } from './attachments.ts'
import { TicketClosed } from './errors.ts'
import { ticketCreated, ticketNoteAdded, ticketUpdated } from './events.ts'
import type { TicketNotices } from './notices.ts'
import { findTicket, type Party, type TicketReader } from './reader.ts'
import {
  MAX_MESSAGES,
  MAX_OPEN,
  MAX_UNVERIFIED,
  type NewReplyData,
  type NewTicketData,
  type TicketChangeData,
  type TicketData,
} from './schemas.ts'
import { isDone, type TicketStatus } from './states.ts'
import { supportMessages, supportTickets, type MessageRow, type TicketRow } from './tables.ts'

/** How long a closed ticket takes replies. */
const REOPEN_MS = 30 * DAY

/** Whom a mail claims to be from, when From could not be verified. */
export interface Claim {
  /** The user with this address. */
  readonly userId: string
  /** The address in From. */
  readonly from: string
}

interface Needs {
  readonly attachments: TicketAttachments
  readonly reader: TicketReader
  readonly notices: TicketNotices
}

/** Writes tickets. Each change locks its ticket, so that changes happen one after the other. */
export class Tickets {
  readonly #foundation: Pick<Foundation, 'clock' | 'coordination' | 'database'>
  readonly #needs: Needs

  constructor(foundation: Pick<Foundation, 'clock' | 'coordination' | 'database'>, needs: Needs) {
    this.#foundation = foundation
    this.#needs = needs
  }

  /** @throws AppError validation_failed for unknown files; conflict for too many open tickets */
  create(party: Party, input: NewTicketData): Promise<TicketData> {
    return this.#foundation.database.transaction((tx) => this.createIn(tx, party, input))
  }

  /** The same in a transaction. @param byMail whether it arrived as a mail */
  async createIn(tx: Transaction, party: Party, input: NewTicketData, byMail = false): Promise<TicketData> {
    const { userId } = party
    const openCount = await supportTickets.count(tx, { userId, status: not('closed' as const) })
    if (openCount >= MAX_OPEN) throw TooManyOpen(MAX_OPEN)
    const owner = { userId, claimedUserId: null, unverifiedFrom: null }
    return this.#needs.reader.view(tx, await this.#create(tx, owner, input, byMail), party)
  }

  /**
   * Makes a ticket of a mail whose From could not be verified. Only the support team sees it.
   * @returns its id
   * @throws AppError conflict for too many such tickets
   */
  async createUnverifiedIn(
    tx: Transaction,
    { from: unverifiedFrom, userId: claimedUserId }: Claim,
    input: Omit<NewTicketData, 'attachments'>,
  ): Promise<string> {
    const openCount = await supportTickets.count(tx, { claimedUserId, status: not('closed' as const) })
    if (openCount >= MAX_UNVERIFIED) throw TooManyOpen(MAX_UNVERIFIED)
    return (await this.#create(tx, { userId: null, claimedUserId, unverifiedFrom }, input, true)).id
  }

  async #create(
    tx: Transaction,
    owner: Pick<TicketRow, 'userId' | 'claimedUserId' | 'unverifiedFrom'>,
    { attachments = [], category, message, priority = 'normal', subject }: NewTicketData,
    byMail: boolean,
  ): Promise<TicketRow> {
    const now = this.#clock.now()
    const at = new Date(now).toISOString()
    const row: TicketRow = {
      id: uuidv7(now),
      ...owner,
      subject,
      category,
      priority,
      status: 'open',
      assigneeId: null,
      messagesCount: 1,
      firstResponseAt: null,
      resolvedAt: null,
      closedAt: null,
      version: 1,
      createdAt: at,
      updatedAt: at,
    }
    await supportTickets.insert(tx, row)
    const author = { authorId: owner.userId, unverifiedFrom: owner.unverifiedFrom }
    const added = await this.#add(tx, row, { ...author, role: 'user', content: message, attachments, byMail })
    await this.#needs.notices.created(tx, row, added)
    await this.#announce(tx, row, ticketCreated)
    return row
  }

  /**
   * Adds a reply. One of the support team sets the ticket to pending, one of its user to open.
   * @throws AppError not_found; validation_failed for unknown files; ticket_closed; conflict for too many messages
   */
  reply(party: Party, id: string, input: NewReplyData): Promise<TicketData> {
    return this.#foundation.database.transaction((tx) => this.replyIn(tx, party, id, input))
  }

  /** The same in a transaction. @param byMail whether it arrived as a mail */
  async replyIn(tx: Transaction, party: Party, id: string, input: NewReplyData, byMail = false): Promise<TicketData> {
    const before = await findTicket(tx, party, id, 'for update')
    const now = this.#clock.now()
    if (before.closedAt !== null && Date.parse(before.closedAt) < now - REOPEN_MS) throw TicketClosed()
    const role = before.userId === party.userId ? 'user' : 'agent'
    const { attachments = [], message } = input
    const author = { authorId: party.userId, unverifiedFrom: null }
    const added = await this.#add(tx, before, { ...author, role, content: message, attachments, byMail })
    return this.#needs.reader.view(tx, await this.#replied(tx, before, added), party)
  }

  /**
   * Adds a mail whose From could not be verified: as a note, or as a message of the user if the ticket itself began with
   * such a mail. The user of a ticket never sees it.
   * @throws AppError not_found; conflict for too many messages
   */
  async addUnverifiedIn(tx: Transaction, id: string, from: string, content: string): Promise<void> {
    const before = await supportTickets.first(tx, { id }, { lock: 'for update' })
    if (before === undefined) throw NotFound()
    const mail = { authorId: null, unverifiedFrom: from, content, attachments: [], byMail: true }
    if (before.userId === null) {
      await this.#replied(tx, before, await this.#add(tx, before, { ...mail, role: 'user' }))
      return
    }
    const added = await this.#add(tx, before, { ...mail, role: 'note' })
    await this.#needs.notices.replied(tx, before, added)
    await this.#announceNote(tx, added)
  }

  /** Changes the ticket of a reply, and tells everyone of it. */
  async #replied(tx: Transaction, before: TicketRow, added: MessageRow): Promise<TicketRow> {
    const isAgent = added.role === 'agent'
    const row = await this.#save(tx, before, {
      status: isAgent ? 'pending' : 'open',
      messagesCount: before.messagesCount + 1,
      ...(isAgent && before.firstResponseAt === null && { firstResponseAt: added.createdAt }),
    })
    await this.#needs.notices.replied(tx, row, added)
    await this.#announce(tx, row, ticketUpdated)
    return row
  }

  /** Adds an internal note, which the user of the ticket never sees. @throws AppError not_found, validation_failed */
  note(party: Party, id: string, { attachments = [], message }: NewReplyData): Promise<TicketData> {
    return this.#foundation.database.transaction(async (tx) => {
      const row = await findTicket(tx, party, id, 'for update')
      const author = { authorId: party.userId, unverifiedFrom: null, byMail: false }
      await this.#announceNote(tx, await this.#add(tx, row, { ...author, role: 'note', content: message, attachments }))
      return this.#needs.reader.view(tx, row, party)
    })
  }

  /**
   * Changes the status or the priority, and for administrators the assignee.
   * @throws AppError not_found, forbidden, precondition_failed, validation_failed, ticket_closed
   */
  update(party: Party, id: string, change: TicketChangeData, ifMatch: IfMatch): Promise<TicketData> {
    return this.#foundation.database.transaction(async (tx) => {
      const before = await findTicket(tx, party, id, 'for update')
      requireVersion(ifMatch, before.version)
      const { assigneeId = before.assigneeId, priority = before.priority, status = before.status } = change
      await this.#requireAllowed(tx, party, before, { assigneeId, status })
      if (assigneeId === before.assigneeId && priority === before.priority && status === before.status) {
        return this.#needs.reader.view(tx, before, party)
      }
      const row = await this.#save(tx, before, { assigneeId, priority, status })
      if (assigneeId !== null && assigneeId !== before.assigneeId && assigneeId !== party.userId) {
        await this.#needs.notices.assigned(tx, row, assigneeId)
      }
      await this.#announce(tx, row, ticketUpdated)
      return this.#needs.reader.view(tx, row, party)
    })
  }

  get #clock(): Clock {
    return this.#foundation.clock
  }

  async #requireAllowed(
    tx: Sql,
    { isAdmin }: Party,
    before: TicketRow,
    { assigneeId, status }: { readonly assigneeId: string | null; readonly status: TicketStatus },
  ): Promise<void> {
    const isReopened = before.status === 'closed' && status !== 'closed'
    if (isReopened && Date.parse(before.closedAt ?? '') < this.#clock.now() - REOPEN_MS) throw TicketClosed()
    if (!isAdmin && assigneeId !== before.assigneeId) {
      throw Forbidden({ message: 'Only administrators can assign tickets. Leave out `assigneeId`.' })
    }
    if (!isAdmin && status !== before.status && status === 'pending') {
      throw Forbidden({
        message: 'A ticket becomes pending only when the support team replies. Send another `status`, or leave it out.',
      })
    }
    if (assigneeId === null || assigneeId === before.assigneeId) return
    if ((await findAdministrators(tx)).some(({ id }) => id === assigneeId)) return
    const message = 'must be the id of an administrator, or null'
    throw ValidationFailed({ errors: [{ path: '/body/assigneeId', code: 'unknown', message }] })
  }

  async #add(
    tx: Sql,
    { id: ticketId }: TicketRow,
    added: Pick<MessageRow, 'authorId' | 'unverifiedFrom' | 'role' | 'content' | 'byMail'> & {
      readonly attachments: readonly string[]
    },
  ): Promise<MessageRow> {
    if ((await supportMessages.count(tx, { ticketId })) >= MAX_MESSAGES) {
      const details = { limit: MAX_MESSAGES }
      throw Conflict({ message: `A ticket can have at most ${MAX_MESSAGES} messages. Create a new ticket.`, details })
    }
    const { attachments, ...message } = added
    const now = this.#clock.now()
    const row: MessageRow = { id: uuidv7(now), ticketId, ...message, createdAt: new Date(now).toISOString() }
    await supportMessages.insert(tx, row)
    if (row.authorId !== null) await this.#needs.attachments.bind(tx, row.id, row.authorId, attachments)
    return row
  }

  /** Writes a change. The times of the ticket follow from its status. */
  async #save(
    tx: Sql,
    before: TicketRow,
    change: Partial<TicketRow> & { readonly status: TicketStatus },
  ): Promise<TicketRow> {
    const at = new Date(this.#clock.now()).toISOString()
    const { status } = change
    const [row] = await supportTickets.updateReturning(
      tx,
      { id: before.id },
      {
        ...change,
        resolvedAt: isDone(status) ? (before.resolvedAt ?? at) : null,
        closedAt: status === 'closed' ? (before.closedAt ?? at) : null,
        version: increment(),
        updatedAt: at,
      },
    )
    return row ?? before
  }

  /** Tells the sockets of the user and of the support team, after the commit. */
  async #announce(tx: Transaction, row: TicketRow, type: EventType): Promise<void> {
    const { assigneeId, id: ticketId, messagesCount, priority, status, updatedAt: at } = row
    const owner = row.userId === null ? [] : [row.userId]
    const recipients = new Set([...owner, ...(await findAdministrators(tx)).map(({ id }) => id)])
    const data = { ticketId, status, priority, assigneeId, messagesCount, at }
    tx.afterCommit(() => {
      for (const userId of recipients) publishToUser(this.#foundation.coordination, userId, type, data)
    })
  }

  /** Tells the sockets of the support team of a note, after the commit. */
  async #announceNote(tx: Transaction, { createdAt: at, ticketId }: MessageRow): Promise<void> {
    const staff = await findAdministrators(tx)
    tx.afterCommit(() => {
      for (const { id } of staff) publishToUser(this.#foundation.coordination, id, ticketNoteAdded, { ticketId, at })
    })
  }
}

function TooManyOpen(limit: number) {
  const message = `You can have at most ${limit} tickets that are not closed. Close one first.`
  return Conflict({ message, details: { limit } })
}
