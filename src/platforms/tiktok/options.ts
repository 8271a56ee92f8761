import { Type } from 'typebox'

/**
 * What a post can set at TikTok (developers.tiktok.com/doc/content-posting-api-reference-direct-post, 2026-11). TikTok
 * requires that the user chooses who can see the post, so `privacy_level` has no default.
 */
export const options = Type.Object({
  privacy_level: Type.Enum(['PUBLIC_TO_EVERYONE', 'MUTUAL_FOLLOW_FRIENDS', 'FOLLOWER_OF_CREATOR', 'SELF_ONLY'], {
    description: 'Who sees the post. The capabilities of the account list what it can choose.',
  }),
  disable_comment: Type.Optional(Type.Boolean({ description: 'Nobody can comment.' })),
  disable_duet: Type.Optional(Type.Boolean({ description: 'Nobody can make a duet with the video.' })),
  disable_stitch: Type.Optional(Type.Boolean({ description: 'Nobody can stitch the video.' })),
  video_cover_timestamp_ms: Type.Optional(
    Type.Integer({ minimum: 0, description: 'The frame of the video that is its cover, in milliseconds.' }),
  ),
  photo_cover_index: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 34, description: 'The photo that is the cover.' }),
  ),
  auto_add_music: Type.Optional(Type.Boolean({ description: 'TikTok adds music to photos.' })),
  brand_content_toggle: Type.Optional(
    Type.Boolean({ description: 'The post is a paid partnership for another business. It cannot be SELF_ONLY.' }),
  ),
  brand_organic_toggle: Type.Optional(Type.Boolean({ description: 'The post promotes the creator’s own business.' })),
  is_aigc: Type.Optional(Type.Boolean({ description: 'The content was made with AI.' })),
})
