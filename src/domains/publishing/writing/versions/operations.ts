import { EXAMPLE } from '../../../../core/example-ids.ts'
import { NotFound, PreconditionFailed, ValidationFailed } from '../../../../core/errors.ts'
import { operation, owner } from '../../../../core/operation.ts'
import { pageRequest } from '../../../../core/page.ts'
import { list, ok } from '../../../../core/reply.ts'
import { Envelope, ListOf } from '../../../../core/schema.ts'
import {
  AccountNotUsable,
  ModelTextNotReleased,
  PlatformRefusesPost,
  PostNotPossible,
  PostPath,
  PostView,
} from '../../posts/index.ts'
import { PostVersionView, VersionPath, VersionQuery } from './schemas.ts'

const id = EXAMPLE.postId

export const getPostVersions = operation({
  route: 'GET /api/posts/{id}/versions',
  summary: 'List the versions of a post',
  description:
    'Newest first. `changes` is the difference from the version before; null for the first one. Long texts that differ in many places are compared by sentences, or replaced as a whole. A page ends early when its texts have more than a million characters.',
  access: 'posts:read',
  workspace: owner('posts'),
  path: PostPath,
  query: VersionQuery,
  returns: { 200: ListOf(PostVersionView) },
  errors: [NotFound],
  example: { path: { id } },
  handle: async ({ path, query, writing }) => list('Versions', await writing.history.list(path.id, pageRequest(query))),
})

export const restorePostVersion = operation({
  route: 'POST /api/posts/{id}/versions/{version}/restore',
  summary: 'Restore a version of a post',
  description:
    'Makes a new version with the content, the labels and the accounts of an earlier one. Times stay as they are. The result is checked as with updatePost, and a target that is published is edited at its platform in the same way.',
  access: 'posts:write',
  workspace: owner('posts'),
  turn: true,
  path: VersionPath,
  etag: 'edits',
  returns: { 200: Envelope(PostView) },
  errors: [
    NotFound,
    PreconditionFailed,
    ValidationFailed,
    PlatformRefusesPost,
    AccountNotUsable,
    PostNotPossible,
    ModelTextNotReleased,
  ],
  example: { path: { id, version: '1' } },
  handle: async ({ caller: { userId }, ifMatch, path, turn, writing }) =>
    ok('Version restored', await writing.history.restore(turn, path, { userId, ifMatch })),
})
