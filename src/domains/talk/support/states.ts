import { OneOf, States, type Static } from '../../../core/schema.ts'

export const TicketStatusSchema = States('TicketStatus', 'Who has to act on a ticket.', {
  open: 'It waits for the support team',
  pending: 'The support team has replied, so it waits for the user',
  resolved: 'The problem is solved. A reply opens the ticket again',
  closed: 'It is done. A reply opens it again within 30 days',
})
export type TicketStatus = Static<typeof TicketStatusSchema>

/** Whether the ticket is done. */
export const isDone = (status: TicketStatus) => status === 'resolved' || status === 'closed'

export const PRIORITIES = ['low', 'normal', 'high', 'urgent'] as const
export type Priority = (typeof PRIORITIES)[number]
export const PrioritySchema = OneOf(PRIORITIES, { description: 'How urgent the ticket is' })

export const MESSAGE_ROLES = ['user', 'agent', 'note'] as const
export const MessageRole = OneOf(MESSAGE_ROLES, {
  description:
    '`user`: the user who has the problem. `agent`: the support team. `note`: a note that only the support team sees',
})
export type Role = (typeof MESSAGE_ROLES)[number]
