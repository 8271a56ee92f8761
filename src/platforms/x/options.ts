import { Type } from 'typebox'
import { pollOption } from '../polls.ts'

/** What a post can set at X (docs.x.com, Create Post, 2026-11). */
export const options = Type.Object({
  reply_settings: Type.Optional(
    Type.Enum(['following', 'mentionedUsers', 'subscribers', 'verified'], {
      description: 'Who can reply. Everyone if absent.',
    }),
  ),
  quote_tweet_id: Type.Optional(
    Type.String({ pattern: '^[0-9]{1,19}$', description: 'The post that this one quotes. Not with media.' }),
  ),
  community_id: Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,19}$',
      description: 'The community to post to. Followers see it only with `share_with_followers`.',
    }),
  ),
  share_with_followers: Type.Optional(Type.Boolean({ description: 'Shows a post to a community to followers too.' })),
  tagged_user_ids: Type.Optional(
    Type.Array(Type.String({ pattern: '^[0-9]{1,19}$' }), { maxItems: 10, description: 'Users tagged in the media.' }),
  ),
  poll: pollOption({}),
})
