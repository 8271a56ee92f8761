import { Input, Text, Type, type Static } from '../../../../core/schema.ts'

/** How a post asks for a slot. */
export const QueueWish = Type.Union(
  [Type.Literal(true), Input({ label: Type.Optional(Text(1, 50, { description: 'Only slots with this label' })) })],
  { description: 'Takes the next free slot of the queue for all accounts of the post' },
)
type QueueWishData = Static<typeof QueueWish>

/** The label of the slots that a post asks for. */
export function labelOf(wish: QueueWishData | undefined): string | null {
  return typeof wish === 'object' ? (wish.label ?? null) : null
}
