import { Type } from 'typebox'

/** What a post can set at Reddit (reddit.com/dev/api, POST /api/submit, 2026-11). */
export const options = Type.Object({
  subreddit: Type.String({
    pattern: String.raw`^(/?r/|/?u/|u_)?[A-Za-z0-9_-]{2,24}$`,
    description: 'Where to post: the id of a place, such as `pics`, or `u_name` for the profile of the account.',
  }),
  flair_id: Type.Optional(Type.String({ maxLength: 36, description: 'A flair of the subreddit. Some require one.' })),
  flair_text: Type.Optional(Type.String({ maxLength: 64, description: 'The text of a flair that can be edited.' })),
  nsfw: Type.Optional(Type.Boolean({ description: 'Marks the post as not safe for work.' })),
  spoiler: Type.Optional(Type.Boolean({ description: 'Hides the post behind a spoiler warning.' })),
  sendreplies: Type.Optional(
    Type.Boolean({ description: 'Sends replies to the inbox of the account. True if absent.' }),
  ),
})
