import type { PostContent } from '../content.ts'
import type { ContentRefusal } from '../platform.ts'

/**
 * Titles, descriptions and tags have no `<` and `>` (developers.google.com/youtube/v3/docs/videos, snippet, 2026-11). Videos
 * for children have no comments (support.google.com/youtube/answer/9706180, 2026-11).
 */
export function refusals(content: PostContent): readonly ContentRefusal[] {
  const { firstComment = '', options } = content
  const isForChildren = options['selfDeclaredMadeForKids'] === true
  if (!isForChildren || firstComment === '') return inFields(content)
  const message = 'YouTube has no comments on videos that are made for children.'
  return [...inFields(content), { pointer: '/firstComment', message, fix: 'Remove the first comment.' }]
}

function inFields({ tags = [], text, title = '' }: PostContent): readonly ContentRefusal[] {
  const fields = [
    ['/title', 'The title', title],
    ['/text', 'The text', text],
    ...tags.map((tag, index) => [`/tags/${index}`, `The tag “${tag.slice(0, 40)}”`, tag] as const),
  ] as const
  return fields.flatMap(([pointer, what, value]) =>
    /[<>]/.test(value)
      ? [{ pointer, message: `${what} has < or >, which YouTube refuses.`, fix: 'Remove these characters.' }]
      : [],
  )
}
