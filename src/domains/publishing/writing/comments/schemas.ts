import { pageFields } from '../../../../core/page.ts'
import { Id, Input, Nullable, ResourceBase, Text, Type, named, type Static } from '../../../../core/schema.ts'
import { ActorView } from '../versions/schemas.ts'

const MOST = 20

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
  }),
)
export type PostCommentData = Static<typeof PostCommentView>

export const NewComment = Input({
  body: Text(1, 8_000, { description: 'The text' }),
  mentions: Type.Optional(
    Type.Array(Id, {
      maxItems: MOST,
      uniqueItems: true,
      description: 'Ids of members. They get a mail, unless their notification settings say otherwise',
    }),
  ),
  attachments: Type.Optional(
    Type.Array(Id, { maxItems: MOST, uniqueItems: true, description: 'Ids of assets of the media library' }),
  ),
})
export type NewCommentInput = Static<typeof NewComment>

export const CommentPath = Input({ id: Id, commentId: Id })
export const CommentQuery = Input(pageFields)
