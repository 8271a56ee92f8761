import { Type } from 'typebox'

/** What a post can set at Instagram (developers.facebook.com, IG User Media, 2026-11). */
export const options = Type.Object({
  placement: Type.Optional(
    Type.Enum(['feed', 'story'], {
      description: '`story` publishes one image or video for 24 hours, without text. `feed` if absent.',
    }),
  ),
  share_to_feed: Type.Optional(
    Type.Boolean({ description: 'Whether a reel also appears in the feed. Instagram decides if absent.' }),
  ),
  thumb_offset: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Where in a reel its cover is taken from, in milliseconds.' }),
  ),
  collaborators: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 30 }), {
      maxItems: 3,
      description: 'User names that are invited as co-authors.',
    }),
  ),
  location_id: Type.Optional(
    Type.String({ pattern: '^[0-9]+$', description: 'The id of a Facebook page with a location.' }),
  ),
})
