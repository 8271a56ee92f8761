import { EXAMPLE } from '../../../core/example-ids.ts'
import { NotFound, SearchTooBroad } from '../../../core/errors.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { ok, storedList } from '../../../core/reply.ts'
import { Envelope, ListOf } from '../../../core/schema.ts'
import { PostListQuery, PostPath, PostView } from './schemas.ts'

const { postId, workspaceId } = EXAMPLE
const EXAMPLE_PATH = { path: { id: postId } }

export const listPosts = operation({
  route: 'GET /api/posts',
  summary: 'List posts',
  description:
    'Newest first, or by time with `sort`. Posts fit all filters that are given. `from` and `to` bound `scheduledFor`, so posts without a time are left out then.',
  access: 'posts:read',
  workspace: from.query('workspaceId'),
  query: PostListQuery,
  returns: { 200: ListOf(PostView) },
  errors: [SearchTooBroad],
  example: { query: { workspaceId } },
  handle: async ({ posts, query }) => storedList('Posts', await posts.reader.list(query, pageRequest(query))),
})

export const getPost = operation({
  route: 'GET /api/posts/{id}',
  summary: 'Get a post',
  access: 'posts:read',
  workspace: owner('posts'),
  path: PostPath,
  etag: 'edits',
  returns: { 200: Envelope(PostView) },
  errors: [NotFound],
  example: EXAMPLE_PATH,
  handle: async ({ path, posts }) => ok('Post', await posts.reader.get(path.id)),
})
