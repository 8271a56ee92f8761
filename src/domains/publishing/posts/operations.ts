import { EXAMPLE } from '../../../core/example-ids.ts'
import {
  Conflict,
  NotFound,
  PlanLimit,
  PreconditionFailed,
  SearchTooBroad,
  ValidationFailed,
} from '../../../core/errors.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { accepted, created, done, ok, storedList } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { ModelTextNotReleased, PostNotPossible, SCHEDULING_ERRORS, QueueFull } from './errors.ts'
import type { TimedPost } from './actions.ts'
import { withFetched } from './media-urls/fetched-media.ts'
import { urlsIn } from './media-urls/urls-in.ts'
import { DeletePostQuery } from './remote/schemas.ts'
import { warningsOfNew } from './repeated-texts.ts'
import {
  CreatedPost,
  NewPost,
  PostChange,
  PostCheck,
  PostCopy,
  PostListQuery,
  PostPath,
  PostView,
  Reschedule,
} from './schemas.ts'

const { accountId, postId, workspaceId } = EXAMPLE
const EXAMPLE_PATH = { path: { id: postId } }
const EXAMPLE_BODY = { workspaceId, content: 'We are live on Friday at noon.', targets: [{ accountId }] }
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

export const createPost = operation({
  route: 'POST /api/posts',
  summary: 'Create a post',
  description:
    'Set `scheduledFor` to publish the post at that time, `queue` to publish it at the next free slot, or `publishNow` to publish it immediately. Without any of these, the post is a draft. A time that is more than five minutes in the past is refused: use `publishNow`. With `recurrence`, the post repeats, and each occurrence is a separate post. What the request leaves out comes from your publishing settings: the time zone, the first comment (at accounts that take comments), and campaign parameters in links. The reply shows them. `warnings` name accounts that have a post with the same text within an hour. If platforms would refuse the post, `details.targets` of the error lists them. With an API key, a post whose text a model wrote for the workspace can only be a draft or go into review, unless the AI settings allow more.',
  access: 'posts:write',
  workspace: from.body('workspaceId'),
  turn: true,
  body: NewPost,
  returns: { 201: Envelope(CreatedPost) },
  errors: [...SCHEDULING_ERRORS, QueueFull, PlanLimit],
  example: { body: EXAMPLE_BODY },
  before: ({ body, member, posts }) => posts.mediaFetcher.resolve(urlsIn(body), { member }),
  prelude: (requests, batch) => batch.posts.author.prepare(requests, batch),
  handle: async ({ body: given, caller, posts, prepared, turn }) => {
    const body = withFetched(given, prepared)
    const post =
      body.recurrence === undefined
        ? await posts.author.create(turn, body, caller.userId)
        : await posts.series.desk.create(turn, body, body.recurrence, caller.userId)
    return created('Post created', { ...post, warnings: await warningsOfNew(turn, post) })
  },
})

export const validatePost = operation({
  route: 'POST /api/posts/validate',
  summary: 'Check a post',
  description:
    'Takes the same body as createPost, and stores nothing. Where createPost would refuse the time of the post, `problems` says why.',
  access: 'posts:write',
  workspace: from.body('workspaceId'),
  body: NewPost,
  returns: { 200: Envelope(PostCheck) },
  errors: [ValidationFailed],
  example: { body: EXAMPLE_BODY },
  handle: async ({ body, caller, posts }) => {
    const { recurrence } = body
    const checked =
      recurrence === undefined
        ? await posts.validation.validate(body, caller)
        : await posts.series.desk.validate(body, recurrence, caller)
    return ok('Post checked', checked)
  },
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

export const updatePost = operation({
  route: 'PATCH /api/posts/{id}',
  summary: 'Change a post',
  description:
    'Absent fields stay as they are; lists are replaced. Each change is a new version. Send the ETag as If-Match, so that you do not overwrite a change that you have not seen. Where the post is published, the change is made at the platform as well, if that has editing: `publishedVersion` moves when it is done, and `statusReason` says what the platform cannot change. A target that is being published cannot be edited. With `recurrence`, the post recurs from now on.',
  access: 'posts:write',
  workspace: owner('posts'),
  turn: true,
  path: PostPath,
  body: PostChange,
  etag: 'edits',
  returns: { 200: Envelope(PostView) },
  errors: [NotFound, PreconditionFailed, Conflict, ...SCHEDULING_ERRORS, PlanLimit],
  example: { ...EXAMPLE_PATH, body: { content: 'We are live on Friday at one.' } },
  before: ({ body, member, posts }) => posts.mediaFetcher.resolve(urlsIn(body), { member }),
  handle: async ({ body: given, caller: { userId }, ifMatch, path, posts, prepared, turn }) => {
    const body = withFetched(given, prepared)
    const { recurrence } = body
    const by = { userId, ifMatch }
    const changed =
      recurrence === undefined
        ? await posts.author.update(turn, path.id, body, by)
        : await posts.series.desk.attach(turn, path.id, { ...body, recurrence }, by)
    return ok('Post changed', changed)
  },
})

export const copyPost = operation({
  route: 'POST /api/posts/{id}/copy',
  summary: 'Copy a post',
  description:
    'Makes a new post with the content, the files, the labels, the options and the accounts of another one, whatever its state. Times, approvals, comments and the series are not copied: the copy is a draft, or gets the time of the request. Accounts that no longer exist are left out, and the message names them.',
  access: 'posts:write',
  workspace: owner('posts'),
  turn: true,
  path: PostPath,
  body: PostCopy,
  bodyOptional: true,
  returns: { 201: Envelope(PostView) },
  errors: [NotFound, ...SCHEDULING_ERRORS, QueueFull, PlanLimit],
  example: { ...EXAMPLE_PATH, body: {} },
  handle: async ({ body, caller: { userId }, path, posts, turn }) => {
    const { leftOut, post } = await posts.author.copy(turn, path.id, body ?? {}, userId)
    const without = leftOut.length === 0 ? '' : `, without accounts that no longer exist: ${leftOut.join(', ')}`
    return created(`Post copied${without}`, post)
  },
})

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
  example: EXAMPLE_PATH,
  handle: async ({ ifMatch, path, posts, query, turn }) => {
    const left = await posts.removal.remove(turn, path.id, { fromPlatforms: query.fromPlatforms === true, ifMatch })
    return left === undefined ? done('Post deleted') : accepted('Post is being deleted at its platforms', left)
  },
})

export const reschedulePost = operation({
  route: 'POST /api/posts/{id}/reschedule',
  summary: 'Reschedule a post',
  description:
    'Gives a post a time, or with `queue` the next free slot. Schedules drafts, and cancelled, failed and missed posts as well. Targets with their own time keep it. A time that is more than five minutes in the past is refused: use publishPost. In a workspace with an approval flow, the post goes into review first, and the message says so.',
  access: 'posts:write',
  workspace: owner('posts'),
  turn: true,
  path: PostPath,
  body: Reschedule,
  returns: { 200: Envelope(PostView) },
  errors: [NotFound, PreconditionFailed, ...SCHEDULING_ERRORS, QueueFull],
  example: { ...EXAMPLE_PATH, body: { scheduledFor: '2026-11-30T09:00', timezone: 'Europe/Berlin' } },
  handle: async ({ body, caller: { userId }, ifMatch, path, posts, turn }) =>
    changedReply('Post scheduled', await posts.actions.reschedule(turn, path.id, body, { userId, ifMatch })),
})

export const publishPost = operation({
  route: 'POST /api/posts/{id}/publish',
  summary: 'Publish a post now',
  description:
    'In a workspace with an approval flow, the post goes into review first, or back into it, and is published when it is approved. The message says so.',
  access: 'posts:publish',
  workspace: owner('posts'),
  turn: true,
  path: PostPath,
  returns: { 200: Envelope(PostView) },
  errors: [NotFound, ...SCHEDULING_ERRORS],
  example: EXAMPLE_PATH,
  handle: async ({ caller, path, posts, turn }) =>
    changedReply('Post is being published', await posts.actions.publish(turn, path.id, caller.userId)),
})

export const cancelPost = operation({
  route: 'POST /api/posts/{id}/cancel',
  summary: 'Cancel a post',
  description:
    'Cancels the targets that are not published yet. A target that is being published is cancelled if the call that publishes it has not been made.',
  access: 'posts:write',
  workspace: owner('posts'),
  turn: true,
  path: PostPath,
  returns: { 200: Envelope(PostView) },
  errors: [NotFound, PostNotPossible],
  example: EXAMPLE_PATH,
  handle: async ({ path, posts, turn }) => ok('Post cancelled', await posts.actions.cancel(turn, path.id)),
})

export const retryPost = operation({
  route: 'POST /api/posts/{id}/retry',
  summary: 'Retry the failed targets of a post',
  description:
    'Retries only targets with the status `failed`, `partial` or `missed`. Parts that were published are never sent again.',
  access: 'posts:publish',
  workspace: owner('posts'),
  turn: true,
  path: PostPath,
  returns: { 200: Envelope(PostView) },
  errors: [NotFound, PostNotPossible, ModelTextNotReleased],
  example: EXAMPLE_PATH,
  handle: async ({ path, posts, turn }) => ok('Post is retried', await posts.actions.retry(turn, path.id)),
})

/** The reply for a post that got a time. It never says that a post is scheduled that waits for an approval. */
function changedReply(message: string, { post, waits }: TimedPost) {
  return ok(waits ?? message, post)
}
