import type { PostContent } from '../../../../platforms/content.ts'
import type { PublishPart } from '../../../../platforms/publishing.ts'

/** A part without what its segment adds. */
export type NewPart = Omit<PublishPart, 'key' | 'createdAt' | 'root' | 'parent'>

/** The parts of a post in the order in which they are published: the post, its thread, and its first comment. */
export function partsOf(content: PostContent): NewPart[] {
  const { firstComment, options, thread = [], ...first } = content
  return [
    { ...first, role: 'post', options },
    ...thread.map(({ media, text }): NewPart => ({ text, media, role: 'reply', options })),
    ...(firstComment === undefined ? [] : [{ text: firstComment, media: [], role: 'comment' as const, options }]),
  ]
}
