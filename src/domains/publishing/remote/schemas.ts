import { pageFields } from '../../../core/page.ts'
import { Id, Input, named, Nullable, ResourceBase, States, Timestamp, Type, type Static } from '../../../core/schema.ts'
import { TargetStatusSchema } from '../posts/index.ts'

const FromPlatforms = Type.Optional(
  Type.Boolean({ description: 'Also deletes what was published, at its platforms. The post stays until that is done' }),
)

export const DeletePostQuery = Input({ fromPlatforms: FromPlatforms })

export const PostsToDelete = Input({
  workspaceId: Id,
  ids: Type.Array(Id, { minItems: 1, maxItems: 100, uniqueItems: true, description: 'Ids of posts' }),
  fromPlatforms: FromPlatforms,
})

export const DeletedPost = Type.Object({
  _id: Id,
  status: States('PostDeletion', 'The result of deleting a post', {
    deleted: 'The post was deleted',
    deleting: 'The post is being deleted at its platforms, and is deleted after that',
    not_found: 'The workspace has no post with this id',
    refused: 'The post was kept, for the reason in `message`',
  }),
  httpStatus: Type.Integer({ description: 'The status that a request for this post alone would get' }),
  message: Type.String(),
})
export type DeletedPostData = Static<typeof DeletedPost>

export const BinQuery = Input({ workspaceId: Id, ...pageFields })

export const BinnedPost = named(
  'DeletedPost',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    name: Type.String({ description: 'The title or the beginning of the text, at most 80 characters' }),
    status: { ...TargetStatusSchema, description: 'Where it stood when it was deleted' },
    platforms: Type.Array(Type.String()),
    scheduledFor: Nullable(Timestamp),
    createdBy: Id,
    deletedAt: Timestamp,
    purgedAt: { ...Timestamp, description: 'Until then it can be restored. Then it is gone' },
  }),
)
export type BinnedPostData = Static<typeof BinnedPost>
