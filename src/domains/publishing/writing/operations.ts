import { EXAMPLE } from '../../../core/example-ids.ts'
import { Conflict, NotFound, PlanLimit, PreconditionFailed, ValidationFailed } from '../../../core/errors.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { created, ok } from '../../../core/reply.ts'
import { Envelope } from '../../../core/schema.ts'
import {
  ModelTextNotReleased,
  PostNotPossible,
  SCHEDULING_ERRORS,
  QueueFull,
  CreatedPost,
  NewPost,
  PostChange,
  PostCheck,
  PostCopy,
  PostPath,
  PostView,
  Reschedule,
} from '../posts/index.ts'
import type { TimedPost } from './actions.ts'
import { withFetched } from './media-urls/fetched-media.ts'
import { urlsIn } from './media-urls/urls-in.ts'
import { warningsOfNew } from './repeated-texts.ts'

const { accountId, postId, workspaceId } = EXAMPLE
const EXAMPLE_PATH = { path: { id: postId } }
const EXAMPLE_BODY = { workspaceId, content: 'We are live on Friday at noon.', targets: [{ accountId }] }

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
  before: ({ body, member, writing }) => writing.mediaFetcher.resolve(urlsIn(body), { member }),
  prelude: (requests, batch) => batch.writing.author.prepare(requests, batch),
  handle: async ({ body: given, caller, prepared, turn, writing }) => {
    const body = withFetched(given, prepared)
    const post =
      body.recurrence === undefined
        ? await writing.author.create(turn, body, caller.userId)
        : await writing.series.actions.create(turn, body, body.recurrence, caller.userId)
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
  handle: async ({ body, caller, writing }) => {
    const { recurrence } = body
    const checked =
      recurrence === undefined
        ? await writing.validation.validate(body, caller)
        : await writing.series.actions.validate(body, recurrence, caller)
    return ok('Post checked', checked)
  },
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
  before: ({ body, member, writing }) => writing.mediaFetcher.resolve(urlsIn(body), { member }),
  handle: async ({ body: given, caller: { userId }, ifMatch, path, prepared, turn, writing }) => {
    const body = withFetched(given, prepared)
    const { recurrence } = body
    const by = { userId, ifMatch }
    const changed =
      recurrence === undefined
        ? await writing.author.update(turn, path.id, body, by)
        : await writing.series.actions.attach(turn, path.id, { ...body, recurrence }, by)
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
  handle: async ({ body, caller: { userId }, path, turn, writing }) => {
    const { leftOut, post } = await writing.author.copy(turn, path.id, body ?? {}, userId)
    const without = leftOut.length === 0 ? '' : `, without accounts that no longer exist: ${leftOut.join(', ')}`
    return created(`Post copied${without}`, post)
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
  handle: async ({ body, caller: { userId }, ifMatch, path, turn, writing }) =>
    changedReply('Post scheduled', await writing.actions.reschedule(turn, path.id, body, { userId, ifMatch })),
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
  handle: async ({ caller, path, turn, writing }) =>
    changedReply('Post is being published', await writing.actions.publish(turn, path.id, caller.userId)),
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
  handle: async ({ path, turn, writing }) => ok('Post cancelled', await writing.actions.cancel(turn, path.id)),
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
  handle: async ({ path, turn, writing }) => ok('Post is retried', await writing.actions.retry(turn, path.id)),
})

/** The reply for a post that got a time. It never says that a post is scheduled that waits for an approval. */
function changedReply(message: string, { post, waits }: TimedPost) {
  return ok(waits ?? message, post)
}
