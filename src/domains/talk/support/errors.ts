import { defineError } from '../../../core/error.ts'

export const TicketClosed = defineError({
  code: 'ticket_closed',
  status: 409,
  message: 'The ticket was closed more than 30 days ago. Create a new one.',
  cause: 'A closed ticket takes replies for 30 days.',
  fix: 'Create a new ticket with POST /api/support/tickets.',
})
