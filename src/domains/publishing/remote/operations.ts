import { EXAMPLE } from '../../../core/example-ids.ts'
import { NotFound, PreconditionFailed } from '../../../core/errors.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { accepted, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf, Type } from '../../../core/schema.ts'
import { PostNotPossible, PostPath, PostView } from '../posts/index.ts'
import { BinnedPost, BinQuery, DeletedPost, DeletePostQuery, PostsToDelete } from './schemas.ts'

const { postId, workspaceId } = EXAMPLE

export const deletePost = operation({
  route: 'DELETE /api/posts/{id}',
  summary: 'Delete a post',
  description:
    'With `fromPlatforms`, published targets are also deleted from their platforms, and the reply is 202. A target that is being published is cancelled if the publishing call has not been made yet. Otherwise it is deleted once it is published. The post remains until all targets are deleted. If a target cannot be deleted, its `statusReason` says why. Deleted posts are kept for 30 days: listDeletedPosts shows them, and restorePost brings one back.',
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

export const listDeletedPosts = operation({
  route: 'GET /api/posts/bin',
  summary: 'List deleted posts',
  description: 'The posts in the bin, the newest first. They stay there for 30 days. restorePost brings one back.',
  access: 'posts:read',
  workspace: from.query('workspaceId'),
  query: BinQuery,
  returns: { 200: ListOf(BinnedPost) },
  example: { query: { workspaceId } },
  handle: async ({ query, remote }) =>
    list('Deleted posts', await remote.restoring.list(query.workspaceId, pageRequest(query))),
})

export const restorePost = operation({
  route: 'POST /api/posts/{id}/restore',
  summary: 'Restore a deleted post',
  description:
    'Brings a post back from the bin with its text, files, labels, accounts, versions and comments. Nothing is published by that: what was scheduled, in review or approved comes back as a draft. Its time stays as a proposal, or is removed if it has passed; reschedulePost schedules it again. What was published, failed or cancelled is as it was. What was deleted at its platforms stays deleted there.',
  access: 'posts:write',
  workspace: owner('posts'),
  turn: true,
  path: PostPath,
  returns: { 200: Envelope(PostView) },
  errors: [NotFound],
  example: { path: { id: postId } },
  handle: async ({ caller, path, remote, turn }) => {
    const { isUnscheduled, post } = await remote.restoring.restore(turn, path.id, caller.userId)
    return ok(isUnscheduled ? 'Post restored as a draft. Schedule it to publish it' : 'Post restored', post)
  },
})
