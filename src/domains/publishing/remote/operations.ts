import { EXAMPLE } from '../../../core/example-ids.ts'
import { NotFound, PreconditionFailed } from '../../../core/errors.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { accepted, done, ok } from '../../../core/reply.ts'
import { Done, Envelope, Type } from '../../../core/schema.ts'
import { PostNotPossible, PostPath, PostView } from '../posts/index.ts'
import { DeletedPost, DeletePostQuery, PostsToDelete } from './schemas.ts'

const { postId, workspaceId } = EXAMPLE

export const deletePost = operation({
  route: 'DELETE /api/posts/{id}',
  summary: 'Delete a post',
  description:
    'With `fromPlatforms`, published targets are also deleted from their platforms, and the reply is 202. A target that is being published is cancelled if the publishing call has not been made yet. Otherwise it is deleted once it is published. The post remains until all targets are deleted. If a target cannot be deleted, its `statusReason` says why. Deleted posts are kept for 30 days.',
  access: 'posts:write',
  workspace: owner('posts'),
  turn: true,
  path: PostPath,
  query: DeletePostQuery,
  returns: { 200: Done, 202: Envelope(PostView) },
  errors: [NotFound, PreconditionFailed, PostNotPossible],
  example: { path: { id: postId } },
  handle: async ({ ifMatch, path, query, remote, turn }) => {
    const left = await remote.removal.remove(turn, path.id, { fromPlatforms: query.fromPlatforms === true, ifMatch })
    return left === undefined ? done('Post deleted') : accepted('Post is being deleted at its platforms', left)
  },
})

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
  handle: async ({ body, remote, turn }) =>
    ok('Posts processed', await remote.removal.removeMany(turn, body.ids, body.fromPlatforms === true)),
})
