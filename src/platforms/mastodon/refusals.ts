import type { PostContent } from '../content.ts'
import type { ContentRefusal } from '../platform.ts'
import { countText } from '../rules/counting.ts'
import { numberOf, type Limits } from '../rules/limits.ts'

/** The content warning counts as text, in every part (app/validators/status_length_validator.rb, 4.3). */
export function refusals(content: PostContent, limits: Limits): readonly ContentRefusal[] {
  const { firstComment = '', options, text, thread = [] } = content
  const warning = options['spoiler_text']
  const most = numberOf(limits, 'text.max')
  if (typeof warning !== 'string' || warning === '' || most === undefined) return []
  const parts = [
    ['/text', text],
    ...thread.map((part, index) => [`/thread/${index}/text`, part.text] as const),
    ...(firstComment === '' ? [] : [['/firstComment', firstComment] as const]),
  ] as const
  return parts.flatMap(([pointer, one]) => {
    const actual = countText('mastodon', warning + one)
    // Without the warning, the rule for the text says so.
    if (actual <= most || countText('mastodon', one) > most) return []
    const message = `The text has ${actual} characters with its content warning; Mastodon allows ${most}.`
    return [{ pointer, message, fix: 'Shorten the text or the warning.' }]
  })
}
