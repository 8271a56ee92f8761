import { pageFields } from '../../../../core/page.ts'
import {
  Id,
  Input,
  Nullable,
  ResourceBase,
  States,
  Text,
  Timestamp,
  Type,
  named,
  type Static,
} from '../../../../core/schema.ts'
import { ActorView } from '../versions/schemas.ts'

const MAX = 20

export const CommentVisibility = States('PostCommentVisibility', 'Who sees a comment', {
  internal: 'Members of the workspace who can see posts',
  guests: 'They, and guests whose link shows the post',
})
export type CommentVisibility = Static<typeof CommentVisibility>

const Fraction = (description: string) => Type.Number({ minimum: 0, maximum: 1, description })

const rectangle = Type.Object(
  {
    assetId: Id,
    left: Fraction('Left edge, as a fraction of the width of the picture'),
    top: Fraction('Top edge, as a fraction of the height'),
    width: Fraction('As a fraction of the width'),
    height: Fraction('As a fraction of the height'),
  },
  { additionalProperties: false, description: 'A rectangle of a picture or video of the post' },
)
const run = {
  part: Type.Integer({
    minimum: 0,
    maximum: 100,
    description: '0 is the text of the post, 1 the first part of its thread',
  }),
  offset: Type.Integer({ minimum: 0, maximum: 100_000, description: 'The first character, counted as in JavaScript' }),
  length: Type.Integer({ minimum: 1, maximum: 100_000, description: 'How many characters' }),
}
const ABOUT = 'What the comment is about: either `asset` or `textRange`'

/** What a comment is about. */
export const CommentAnchor = Type.Object(
  {
    asset: Nullable(rectangle),
    textRange: Nullable(
      Type.Object({
        ...run,
        quotedText: Type.String({
          description: 'The characters when the comment was written, at most 200. The text may have changed since',
        }),
      }),
    ),
  },
  { description: ABOUT },
)
export type CommentAnchorData = Static<typeof CommentAnchor>

const AnchorInput = Type.Object(
  {
    asset: Type.Optional(Nullable(rectangle)),
    textRange: Type.Optional(
      Nullable(
        Type.Object(
          {
            ...run,
            quotedText: Type.Optional(
              Type.String({
                maxLength: 200,
                description: 'Ignored, so that an anchor can be sent back as it was read',
              }),
            ),
          },
          { additionalProperties: false, description: 'A run of characters of a text' },
        ),
      ),
    ),
  },
  { additionalProperties: false, description: ABOUT },
)
export type AnchorInputData = Static<typeof AnchorInput>

export const PostCommentView = named(
  'PostComment',
  Type.Object({
    ...ResourceBase,
    postId: Id,
    actor: ActorView,
    body: Type.String({ description: 'The text' }),
    mentions: Type.Array(Id, { description: 'The users that it mentions' }),
    attachments: Type.Array(
      Type.Object({
        assetId: Id,
        name: Nullable(Type.String({ description: 'Null if the asset was deleted' })),
        type: Nullable(Type.String({ description: 'Media type' })),
      }),
      { description: 'Assets of the media library' },
    ),
    replyTo: Nullable({ ...Id, description: 'The comment that it answers' }),
    visibility: CommentVisibility,
    anchor: Nullable(CommentAnchor),
    editedAt: Nullable(Timestamp),
    resolvedAt: Nullable(Timestamp),
    resolvedBy: Nullable(Id),
  }),
)
export type PostCommentData = Static<typeof PostCommentView>

export const NewComment = Input({
  body: Text(1, 8_000, { description: 'The text' }),
  mentions: Type.Optional(
    Type.Array(Id, {
      maxItems: MAX,
      uniqueItems: true,
      description: 'Ids of members. They get a mail, unless their notification settings say otherwise',
    }),
  ),
  attachments: Type.Optional(
    Type.Array(Id, { maxItems: MAX, uniqueItems: true, description: 'Ids of assets of the media library' }),
  ),
  replyTo: Type.Optional({ ...Id, description: 'A comment on the same post that is no reply itself' }),
  visibility: Type.Optional({
    ...CommentVisibility,
    description: 'Who sees it. Default: `internal`, and for a reply that of its thread',
  }),
  anchor: Type.Optional(AnchorInput),
})
export type NewCommentInput = Static<typeof NewComment>

export const CommentEdit = Input({
  body: Type.Optional(Text(1, 8_000, { description: 'The new text' })),
  mentions: Type.Optional(
    Type.Array(Id, {
      maxItems: MAX,
      uniqueItems: true,
      description: 'Ids of members. Those who were not mentioned before are told',
    }),
  ),
  visibility: Type.Optional(CommentVisibility),
  anchor: Type.Optional(Nullable(AnchorInput)),
})
export type CommentEditInput = Static<typeof CommentEdit>

export const CommentPath = Input({ id: Id, commentId: Id })
export const CommentQuery = Input(pageFields)
