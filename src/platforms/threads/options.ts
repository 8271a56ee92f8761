import { Type } from 'typebox'

/** What a post can set at Threads (developers.facebook.com, Threads publishing reference, 2026-11). */
export const options = Type.Object({
  reply_control: Type.Optional(
    Type.Enum(['everyone', 'accounts_you_follow', 'mentioned_only'], {
      description: 'Who can reply. `everyone` if absent.',
    }),
  ),
  topic_tag: Type.Optional(
    Type.String({
      pattern: '^[^.&]{1,50}$',
      description: 'The topic of the post: up to 50 characters without . and &.',
    }),
  ),
  quote_post_id: Type.Optional(
    Type.String({ pattern: '^[0-9]+$', description: 'The id of a post that this one quotes.' }),
  ),
})
