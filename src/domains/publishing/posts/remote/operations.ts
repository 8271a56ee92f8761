import { EXAMPLE } from '../../../../core/example-ids.ts'
import { from, operation } from '../../../../core/operation.ts'
import { ok } from '../../../../core/reply.ts'
import { Envelope, Type } from '../../../../core/schema.ts'
import { DeletedPost, PostsToDelete } from './schemas.ts'

const { postId, workspaceId } = EXAMPLE

export const deletePosts = operation({
  route: 'POST /api/posts/bulk-delete',
  summary: 'Delete multiple posts',
  description:
    'Each post is deleted as with deletePost, independently of the others. Returns a result for each id, in the order of the request.',
  access: 'posts:write',
  workspace: from.body('workspaceId'),
  turn: true,
  body: PostsToDelete,
  returns: { 200: Envelope(Type.Array(DeletedPost)) },
  example: { body: { workspaceId, ids: [postId] } },
  handle: async ({ body, posts, turn }) =>
    ok('Posts processed', await posts.removal.removeMany(turn, body.ids, body.fromPlatforms === true)),
})
