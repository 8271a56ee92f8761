import { Conflict, Forbidden, NotFound, PreconditionFailed, ValidationFailed } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { operation } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { created, list, ok } from '../../../core/reply.ts'
import { Envelope, ListOf } from '../../../core/schema.ts'
import { TicketClosed } from './errors.ts'
import {
  NewReply,
  NewTicket,
  TicketChange,
  TicketPath,
  TicketQuery,
  TicketStats,
  TicketSummary,
  TicketView,
} from './schemas.ts'

const { ticketId: id } = EXAMPLE

export const listTickets = operation({
  route: 'GET /api/support/tickets',
  summary: 'List support tickets',
  description: 'Newest first, without messages. You see your own tickets. Administrators see all.',
  access: 'user',
  query: TicketQuery,
  returns: { 200: ListOf(TicketSummary) },
  errors: [ValidationFailed],
  example: { query: { status: ['open'] } },
  handle: async ({ caller, query, support }) =>
    list('Tickets', await support.reader.list(caller, query, pageRequest(query))),
})

export const createTicket = operation({
  route: 'POST /api/support/tickets',
  summary: 'Create a support ticket',
  description: 'You get a mail when the support team replies. You can reply to it by mail.',
  access: 'user',
  body: NewTicket,
  returns: { 201: Envelope(TicketView) },
  errors: [Conflict, ValidationFailed],
  example: {
    body: {
      subject: 'My stream has no sound',
      category: 'streaming',
      priority: 'high',
      message: 'Since this morning, viewers hear nothing.',
    },
  },
  handle: async ({ body, caller, support }) => created('Ticket created', await support.tickets.create(caller, body)),
})

export const getTicketStats = operation({
  route: 'GET /api/support/tickets/stats',
  summary: 'Get statistics of support tickets',
  description:
    'Of your own tickets; for administrators of all. `firstResponse` and `resolution` are for administrators: how long the first reply and the resolution took, and how often their targets were met.',
  access: 'user',
  returns: { 200: Envelope(TicketStats) },
  example: {},
  handle: async ({ caller, support }) => ok('Statistics', await support.reader.stats(caller)),
})

export const getTicket = operation({
  route: 'GET /api/support/tickets/{id}',
  summary: 'Get a support ticket',
  description: 'With its messages. Notes of the support team are shown to administrators only.',
  access: 'user',
  path: TicketPath,
  returns: { 200: Envelope(TicketView) },
  errors: [NotFound],
  etag: 'edits',
  example: { path: { id } },
  handle: async ({ caller, path, support }) => ok('Ticket', await support.reader.get(caller, path.id)),
})

export const replyToTicket = operation({
  route: 'POST /api/support/tickets/{id}/reply',
  summary: 'Reply to a support ticket',
  description:
    'A reply of the support team sets the ticket to `pending`, and one of its user to `open`, also if it was resolved, or closed in the last 30 days.',
  access: 'user',
  path: TicketPath,
  body: NewReply,
  returns: { 200: Envelope(TicketView) },
  errors: [Conflict, NotFound, TicketClosed, ValidationFailed],
  example: { path: { id }, body: { message: 'It happens on all platforms.' } },
  handle: async ({ body, caller, path, support }) =>
    ok('Reply added', await support.tickets.reply(caller, path.id, body)),
})

export const updateTicket = operation({
  route: 'PATCH /api/support/tickets/{id}',
  summary: 'Update a support ticket',
  description:
    'Resolves, closes or reopens the ticket, or changes its priority. Only administrators can set `pending` and assign it.',
  access: 'user',
  path: TicketPath,
  body: TicketChange,
  returns: { 200: Envelope(TicketView) },
  errors: [Forbidden, NotFound, PreconditionFailed, TicketClosed, ValidationFailed],
  etag: 'edits',
  example: { path: { id }, body: { status: 'resolved' } },
  handle: async ({ body, caller, ifMatch, path, support }) =>
    ok('Ticket changed', await support.tickets.update(caller, path.id, body, ifMatch)),
})

export const addTicketNote = operation({
  route: 'POST /api/support/tickets/{id}/notes',
  summary: 'Add an internal note to a support ticket',
  description: 'Only administrators see it. It changes neither the status nor the times of the ticket.',
  access: 'admin',
  path: TicketPath,
  body: NewReply,
  returns: { 201: Envelope(TicketView) },
  errors: [Conflict, NotFound, ValidationFailed],
  example: { path: { id }, body: { message: 'The same as last week. See the notes on encoders.' } },
  handle: async ({ body, caller, path, support }) =>
    created('Note added', await support.tickets.note(caller, path.id, body)),
})
