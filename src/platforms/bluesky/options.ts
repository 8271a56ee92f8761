import { Type } from 'typebox'
import { QUOTE_PATTERN } from './quotes.ts'

/** What a post can set at Bluesky (lexicons app.bsky.feed.post and app.bsky.feed.threadgate, 2026-11). */
export const options = Type.Object({
  langs: Type.Optional(
    Type.Array(Type.String({ pattern: '^[a-z]{2,3}(-[A-Za-z0-9-]{2,20})?$' }), {
      maxItems: 3,
      description: 'Languages of the text, BCP 47.',
    }),
  ),
  labels: Type.Optional(
    Type.Array(Type.Enum(['sexual', 'nudity', 'porn', 'graphic-media', '!no-unauthenticated']), {
      maxItems: 5,
      description: 'Warnings that the author sets.',
    }),
  ),
  replies: Type.Optional(
    Type.Array(Type.Enum(['mentioned', 'followers', 'following']), {
      maxItems: 3,
      description: 'Who can reply to the post. Everybody if absent, nobody if empty.',
    }),
  ),
  quote: Type.Optional(
    Type.String({
      pattern: QUOTE_PATTERN,
      maxLength: 700,
      description: 'The post that this one quotes: its address, or its at-uri.',
    }),
  ),
  cardTitle: Type.Optional(
    Type.String({ maxLength: 300, description: 'The title of the card of the link. That of the page if absent.' }),
  ),
  cardDescription: Type.Optional(
    Type.String({ maxLength: 1_000, description: 'The text of the card of the link. That of the page if absent.' }),
  ),
})
