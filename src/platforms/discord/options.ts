import { Type } from 'typebox'
import { pollOption } from '../polls.ts'

const Text = (maxLength: number) => Type.Optional(Type.String({ maxLength }))
/** An id (docs.discord.com/developers/reference#snowflakes, 2026-11). */
const SNOWFLAKE = String.raw`^\d{15,20}$`

/** What a message can set at Discord (docs.discord.com, Create Message and Execute Webhook, 2026-11). */
export const options = Type.Object({
  embeds: Type.Optional(
    Type.Array(
      Type.Object({
        title: Text(256),
        description: Text(4_096),
        url: Type.Optional(Type.String({ format: 'uri', maxLength: 2_048 })),
        color: Type.Optional(Type.Integer({ minimum: 0, maximum: 0xffffff })),
        author: Type.Optional(Type.Object({ name: Type.String({ maxLength: 256 }) })),
        footer: Type.Optional(Type.Object({ text: Type.String({ maxLength: 2_048 }) })),
        fields: Type.Optional(
          Type.Array(
            Type.Object({
              name: Type.String({ maxLength: 256 }),
              value: Type.String({ maxLength: 1_024 }),
              inline: Type.Optional(Type.Boolean()),
            }),
            { maxItems: 25 },
          ),
        ),
      }),
      { maxItems: 10, description: 'Cards below the text, with at most 6,000 characters together.' },
    ),
  ),
  suppress_embeds: Type.Optional(Type.Boolean({ description: 'Shows no previews of links.' })),
  mentions: Type.Optional(
    Type.Array(Type.Enum(['users', 'roles', 'everyone']), {
      description: 'Which mentions in the text notify. Users and roles if absent.',
    }),
  ),
  username: Type.Optional(Type.String({ maxLength: 80, description: 'Another name, for webhooks.' })),
  avatar_url: Type.Optional(Type.String({ format: 'uri', description: 'Another picture, for webhooks.' })),
  thread_id: Type.Optional(
    Type.String({
      pattern: SNOWFLAKE,
      description: 'The thread of the channel to publish to. Its main part if absent.',
    }),
  ),
  thread_name: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      pattern: String.raw`\S`,
      description: 'The title of a new post in a forum, for the webhook of a forum channel.',
    }),
  ),
  applied_tags: Type.Optional(
    Type.Array(Type.String({ pattern: SNOWFLAKE }), {
      maxItems: 5,
      uniqueItems: true,
      description: 'Ids of the tags of a new post in a forum.',
    }),
  ),
  poll: pollOption({ question: true, multiple: true }),
})
