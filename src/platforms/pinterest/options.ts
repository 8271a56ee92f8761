import { Type } from 'typebox'

/** What a Pin can set (developers.pinterest.com/docs/api/v5/pins-create, 2026-11). */
export const options = Type.Object({
  board_id: Type.String({ pattern: String.raw`^\d+$`, description: 'The board of the Pin.' }),
  board_section_id: Type.Optional(Type.String({ pattern: String.raw`^\d+$`, description: 'A section of the board.' })),
  cover_image_url: Type.Optional(
    Type.String({
      maxLength: 2_048,
      pattern: '^https?://',
      description: 'The cover of a video: the address of an image.',
    }),
  ),
  cover_image_key_frame_time: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'The cover of a video: the second of a frame. 0 if there is no other cover.',
    }),
  ),
})
