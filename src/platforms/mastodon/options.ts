import { Type } from 'typebox'
import { pollOption } from '../polls.ts'

/** What a post can set at Mastodon (docs.joinmastodon.org/methods/statuses, 2026-11). */
export const options = Type.Object({
  visibility: Type.Optional(
    Type.Enum(['public', 'unlisted', 'private'], { description: 'Who sees the post. `public` if absent.' }),
  ),
  sensitive: Type.Optional(Type.Boolean({ description: 'Hides the media behind a warning.' })),
  spoiler_text: Type.Optional(Type.String({ maxLength: 500, description: 'A content warning shown before the text.' })),
  language: Type.Optional(Type.String({ pattern: '^[a-z]{2,3}$', description: 'The language, ISO 639.' })),
  poll: pollOption({ multiple: true }),
})
