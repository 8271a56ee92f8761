import { Type } from 'typebox'

/** What a video can set at YouTube (developers.google.com/youtube/v3/docs/videos, 2026-11). */
export const options = Type.Object({
  privacyStatus: Type.Optional(
    Type.Enum(['public', 'unlisted', 'private'], {
      description: 'Who sees the video. `public` if absent. Videos through an app without an audit stay private.',
    }),
  ),
  selfDeclaredMadeForKids: Type.Optional(
    Type.Boolean({ description: 'The video is made for children, which turns comments off. `false` if absent.' }),
  ),
  categoryId: Type.Optional(
    Type.String({ pattern: String.raw`^\d{1,3}$`, description: 'The category. `22` (People & Blogs) if absent.' }),
  ),
  containsSyntheticMedia: Type.Optional(
    Type.Boolean({ description: 'The video contains realistic content that was altered or made with AI.' }),
  ),
  license: Type.Optional(Type.Enum(['youtube', 'creativeCommon'], { description: '`youtube` if absent.' })),
  embeddable: Type.Optional(Type.Boolean({ description: 'Other sites can embed the video. `true` if absent.' })),
  publicStatsViewable: Type.Optional(Type.Boolean({ description: 'Everybody sees the statistics. `true` if absent.' })),
  notifySubscribers: Type.Optional(Type.Boolean({ description: 'Subscribers get a notification. `true` if absent.' })),
  defaultLanguage: Type.Optional(
    Type.String({ minLength: 2, maxLength: 15, description: 'The language of title and description, BCP 47.' }),
  ),
  playlistId: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_-]{10,50}$',
      description: 'The playlist that the video is added to. If YouTube refuses that, the video is published without.',
    }),
  ),
})
