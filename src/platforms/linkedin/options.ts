import { Type } from 'typebox'
import { pollOption } from '../polls.ts'

/** What a post can set at LinkedIn (learn.microsoft.com, Posts API, 2026-11). */
export const options = Type.Object({
  visibility: Type.Optional(
    Type.Enum(['PUBLIC', 'CONNECTIONS', 'LOGGED_IN'], {
      description: 'Who sees the post. `PUBLIC` if absent. `CONNECTIONS` is for members only.',
    }),
  ),
  isReshareDisabledByAuthor: Type.Optional(Type.Boolean({ description: 'Nobody can repost it.' })),
  title: Type.Optional(
    Type.String({
      maxLength: 400,
      description: 'The title of the card of a link, of a document or of a video. That of the page if absent.',
    }),
  ),
  linkDescription: Type.Optional(
    Type.String({
      maxLength: 4_086,
      description: 'The description on the card of the link. That of the page if absent.',
    }),
  ),
  poll: pollOption({ question: true }),
})
