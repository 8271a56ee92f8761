import { Type } from 'typebox'
import { pollOption } from '../polls.ts'

/** What a message can set at Telegram (core.telegram.org/bots/api#sendmessage, 2026-11). */
export const options = Type.Object({
  parse_mode: Type.Optional(
    Type.Enum(['HTML', 'MarkdownV2'], {
      description: 'The markup of the text. Without it, the text is shown as it is.',
    }),
  ),
  disable_notification: Type.Optional(Type.Boolean({ description: 'Members are notified without a sound.' })),
  protect_content: Type.Optional(Type.Boolean({ description: 'Nobody can forward or save the message.' })),
  message_thread_id: Type.Optional(
    Type.Integer({ minimum: 1, description: 'The topic of a group with topics. The general topic if absent.' }),
  ),
  link_preview_options: Type.Optional(
    Type.Object(
      {
        is_disabled: Type.Optional(Type.Boolean({ description: 'No preview of links.' })),
        url: Type.Optional(
          Type.String({
            format: 'uri',
            maxLength: 2_048,
            description: 'The link to preview. The first one if absent.',
          }),
        ),
        prefer_small_media: Type.Optional(Type.Boolean({ description: 'A small picture, if `url` is given.' })),
        prefer_large_media: Type.Optional(Type.Boolean({ description: 'A large picture, if `url` is given.' })),
        show_above_text: Type.Optional(Type.Boolean({ description: 'The preview above the text.' })),
      },
      { description: 'How a link in a message without files is previewed.' },
    ),
  ),
  show_caption_above_media: Type.Optional(
    Type.Boolean({ description: 'The text above the photos and videos. Documents have it below.' }),
  ),
  has_spoiler: Type.Optional(Type.Boolean({ description: 'Covers photos and videos until they are tapped.' })),
  pin: Type.Optional(
    Type.Boolean({ description: 'Pins the message. If the bot may not pin, it is published without.' }),
  ),
  poll: pollOption({ multiple: true, endless: true }),
})
