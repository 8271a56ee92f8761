import { defineError } from '../../../core/error.ts'

export const TicketClosed = defineError({
  code: 'ticket_closed',
  status: 409,
  message: 'The ticket was closed more than 30 days ago.',
  cause: 'A closed ticket takes replies for 30 days.',
  fix: 'Create a new ticket with POST /api/support/tickets.',
})

export const InboundMailRefused = defineError({
  code: 'inbound_mail_refused',
  status: 401,
  message: 'The secret for incoming mails is missing or wrong.',
  cause: 'The bearer token is not SUPPORT_INBOUND_SECRET, or the server has no such secret.',
  fix: 'Set SUPPORT_INBOUND_SECRET, and send it as `Authorization: Bearer <secret>`.',
})
