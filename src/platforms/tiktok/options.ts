import { Type } from 'typebox'

/**
 * What a post can set at TikTok (developers.tiktok.com/doc/content-posting-api-reference-direct-post, 2026-11). TikTok
 * requires that the user chooses who can see the post, so `privacy_level` has no default. In a draft, the creator chooses it
 * in the app (developers.tiktok.com/doc/content-posting-api-reference-upload-video, 2026-11).
 */
export const options = Type.Object({
  mode: Type.Optional(
    Type.Enum(['post', 'draft'], {
      description:
        '`draft` puts it into the inbox of the account, where the creator completes and posts it. `post` if absent.',
    }),
  ),
  privacy_level: Type.Optional(
    Type.Enum(['PUBLIC_TO_EVERYONE', 'MUTUAL_FOLLOW_FRIENDS', 'FOLLOWER_OF_CREATOR', 'SELF_ONLY'], {
      description:
        'Who sees the post, which TikTok requires unless it is a draft. The capabilities of the account list what it can choose.',
    }),
  ),
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
