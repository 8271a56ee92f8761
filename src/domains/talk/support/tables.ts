import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { User } from '../../identity/users/index.ts'
import type { Priority, Role, TicketStatus } from './states.ts'

/** A question of a user to the support team, or a mail that claims to be one. */
const SupportTicket = defineEntity({
  name: 'SupportTicket',
  tableName: 'support_tickets',
  indexes: [
    { name: 'support_tickets_by_user', properties: ['userId', 'id'] },
    {
      name: 'support_tickets_by_claimed_user',
      expression:
        'create index support_tickets_by_claimed_user on support_tickets (claimed_user_id) where claimed_user_id is not null',
    },
    // Each filter of the team's list, in its order.
    { name: 'support_tickets_by_status', properties: ['status', 'id'] },
    { name: 'support_tickets_by_priority', properties: ['priority', 'id'] },
    { name: 'support_tickets_by_category', properties: ['category', 'id'] },
    {
      name: 'support_tickets_by_assignee',
      expression:
        'create index support_tickets_by_assignee on support_tickets (assignee_id, id) where assignee_id is not null',
    },
    {
      name: 'support_tickets_unverified',
      expression: 'create index support_tickets_unverified on support_tickets (id) where user_id is null',
    },
  ],
  checks: [
    {
      name: 'support_tickets_owner_check',
      expression:
        '(user_id is null) = (claimed_user_id is not null) and (user_id is null) = (unverified_from is not null)',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    /** Null for a mail whose From could not be verified. */
    userId: references(User, { name: 'support_tickets_user_id_fkey', onDelete: 'cascade' }).nullable(),
    /** Whom such a mail claims to be from. It is deleted with that account. */
    claimedUserId: references(User, { name: 'support_tickets_claimed_user_id_fkey', onDelete: 'cascade' }).nullable(),
    /** The address in From of such a mail. */
    unverifiedFrom: p.text().nullable(),
    subject: p.text(),
    category: p.text(),
    priority: p.text().$type<Priority>(),
    status: p.text().$type<TicketStatus>(),
    assigneeId: p.uuid().nullable(),
    messagesCount: p.integer(),
    /** When the team first replied. */
    firstResponseAt: timestamp().nullable(),
    /** When it was resolved or closed. */
    resolvedAt: timestamp().nullable(),
    closedAt: timestamp().nullable(),
    version: p.integer(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const supportTickets = table(SupportTicket)
export type TicketRow = Row<typeof SupportTicket>

const SupportMessage = defineEntity({
  name: 'SupportMessage',
  tableName: 'support_messages',
  indexes: [
    { name: 'support_messages_by_author', properties: ['authorId', 'id'] },
    { name: 'support_messages_by_ticket', properties: ['ticketId', 'id'] },
  ],
  properties: {
    id: p.uuid().primary(),
    ticketId: references(SupportTicket, { name: 'support_messages_ticket_id_fkey', onDelete: 'cascade' }),
    /** Null for a mail whose From could not be verified. */
    authorId: p.uuid().nullable(),
    /** The address in From of such a mail. */
    unverifiedFrom: p.text().nullable(),
    role: p.text().$type<Role>(),
    content: p.text(),
    /** Whether it arrived as a mail. */
    byMail: p.boolean(),
    createdAt: timestamp(),
  },
})

export const supportMessages = table(SupportMessage)
export type MessageRow = Row<typeof SupportMessage>

/** A file. Only its uploader sees it before a message has it. */
const SupportAttachment = defineEntity({
  name: 'SupportAttachment',
  tableName: 'support_attachments',
  indexes: [
    { name: 'support_attachments_by_person', properties: ['userId', 'id'] },
    {
      name: 'support_attachments_by_message',
      expression:
        'create index support_attachments_by_message on support_attachments (message_id) where message_id is not null',
    },
    {
      name: 'support_attachments_loose',
      expression: 'create index support_attachments_loose on support_attachments (created_at) where message_id is null',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    messageId: references(SupportMessage, {
      name: 'support_attachments_message_id_fkey',
      onDelete: 'cascade',
    }).nullable(),
    /** Who uploaded it. */
    userId: references(User, { name: 'support_attachments_user_id_fkey', onDelete: 'cascade' }),
    name: p.text(),
    type: p.text(),
    size: p.integer(),
    createdAt: timestamp(),
  },
})

export const supportAttachments = table(SupportAttachment)
export type AttachmentRow = Row<typeof SupportAttachment>

/** Message-IDs of mails that were sent or received. They thread replies, and a mail that arrives twice is taken once. */
const SupportMail = defineEntity({
  name: 'SupportMail',
  tableName: 'support_mails',
  indexes: [{ name: 'support_mails_by_ticket', properties: ['ticketId'] }],
  properties: {
    messageId: p.text().primary(),
    ticketId: references(SupportTicket, { name: 'support_mails_ticket_id_fkey', onDelete: 'cascade' }),
    /** Whether mails to the user can refer to it: it arrived, and is not a note. */
    isInbound: p.boolean(),
    createdAt: timestamp(),
  },
})

export const supportMails = table(SupportMail)

/** A text that the support team uses often. */
const CannedReply = defineEntity({
  name: 'CannedReply',
  tableName: 'canned_replies',
  indexes: [{ name: 'canned_replies_by_creator', properties: ['createdBy', 'id'] }],
  properties: {
    id: p.uuid().primary(),
    title: p.text(),
    content: p.text(),
    version: p.integer(),
    createdBy: p.uuid(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const cannedReplies = table(CannedReply)
export type CannedReplyRow = Row<typeof CannedReply>

export const supportEntities = [SupportTicket, SupportMessage, SupportAttachment, SupportMail, CannedReply]
