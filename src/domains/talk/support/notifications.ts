import { EXAMPLE } from '../../../core/example-ids.ts'
import { notificationType } from '../../../core/notification.ts'
import { Type } from '../../../core/schema.ts'

export const ticketReplied = notificationType({
  name: 'ticket.replied',
  kind: 'supportReply',
  summary: 'The support team has replied to your ticket',
  ownMail: true,
  data: Type.Object({ ticketId: Type.String(), ticket: Type.String(), reply: Type.String() }),
  example: { ticketId: EXAMPLE.ticketId, ticket: 'No sound', reply: 'Please send us the log of your encoder.' },
  resource: ({ ticketId }) => ({ kind: 'ticket', id: ticketId }),
  group: ({ ticketId }) => ticketId,
})
