import { Input, Text, Type, type Static } from '../../../../core/schema.ts'

/** How a post asks for a slot. */
export const QueueRequest = Type.Union(
  [Type.Literal(true), Input({ label: Type.Optional(Text(1, 50, { description: 'Only slots with this label' })) })],
  { description: 'Takes the next free slot of the queue for all accounts of the post' },
)
type QueueRequestData = Static<typeof QueueRequest>

/** The label of the slots that a post asks for. */
export function labelOf(request: QueueRequestData | undefined): string | null {
  return typeof request === 'object' ? (request.label ?? null) : null
}
