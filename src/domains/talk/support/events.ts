import { personalEvent } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Nullable, Timestamp, Type } from '../../../core/schema.ts'
import { PrioritySchema, TicketStatusSchema } from './states.ts'

const { ticketId } = EXAMPLE

const data = Type.Object({
  ticketId: Id,
  status: TicketStatusSchema,
  priority: PrioritySchema,
  assigneeId: Nullable(Type.String({ ...Id, description: 'The administrator who takes care of it' })),
  messagesCount: Type.Integer({ description: 'Messages that its user sees' }),
  at: Timestamp,
})

const example = {
  ticketId,
  status: 'open' as const,
  priority: 'normal' as const,
  assigneeId: null,
  messagesCount: 1,
  at: EXAMPLE_TIME,
}

export const ticketCreated = personalEvent({
  name: 'ticket.created',
  summary: 'A user has created a support ticket',
  description: 'Sent to the user and to administrators.',
  data,
  example,
})

export const ticketUpdated = personalEvent({
  name: 'ticket.updated',
  summary: 'A support ticket has a reply, or was changed',
  description: 'Sent to the user and to administrators. Read the ticket for its messages.',
  data,
  example: { ...example, status: 'pending' as const, messagesCount: 2 },
})

export const ticketNoteAdded = personalEvent({
  name: 'ticketNote.added',
  summary: 'A support ticket has a new internal note',
  description: 'Sent to administrators only.',
  data: Type.Object({ ticketId: Id, at: Timestamp }),
  example: { ticketId, at: EXAMPLE_TIME },
})
