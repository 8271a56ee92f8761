import { Type } from 'typebox'

/** What a post of a page can set (developers.facebook.com, Page Stories, 2026-11). */
export const options = Type.Object({
  placement: Type.Optional(
    Type.Enum(['feed', 'story'], {
      description: '`story` publishes one photo or video for 24 hours, without text. `feed` if absent.',
    }),
  ),
})
