import { EXAMPLE } from '../../../../core/example-ids.ts'
import { Conflict, Forbidden, NotFound, SearchTooBroad, ValidationFailed } from '../../../../core/errors.ts'
import { from, operation, owner } from '../../../../core/operation.ts'
import { pageRequest } from '../../../../core/page.ts'
import { list, ok } from '../../../../core/reply.ts'
import { Envelope, ListOf } from '../../../../core/schema.ts'
import {
  BULK_RULES,
  BulkChangePath,
  BulkChangeReply,
  BulkChangesQuery,
  BulkChangeView,
  PostsToLabel,
  PostsToReschedule,
  SelectedPosts,
} from './schemas.ts'
import { selectedIds } from './selection.ts'

const { bulkChangeId, postId, workspaceId } = EXAMPLE
/** What `undoBulkChange` undoes. Decisions need another scope. */
const WRITTEN = ['reschedule', 'cancel', 'label', 'submit'] as const
const PATH = { path: { changeId: bulkChangeId } }

export const reschedulePosts = operation({
  route: 'POST /api/posts/bulk/reschedule',
  summary: 'Reschedule many posts',
  description: `Gives the posts a time, moves them by minutes or days, or gives each the next free slot of the queue. ${BULK_RULES} With \`queue\`, posts keep their order.`,
  access: 'posts:write',
  workspace: from.body('workspaceId'),
  turn: true,
  body: PostsToReschedule,
  returns: { 200: Envelope(BulkChangeReply) },
  errors: [ValidationFailed, SearchTooBroad],
  example: { body: { workspaceId, postIds: [postId], shift: { days: 1 } } },
  before: ({ body, posts }) => selectedIds(posts.reader, body),
  handle: async ({ body, caller: { userId }, prepared: ids, turn, writing }) =>
    ok('Posts rescheduled', await writing.bulkActions.reschedule(turn, ids, body, userId)),
})

export const cancelPosts = operation({
  route: 'POST /api/posts/bulk/cancel',
  summary: 'Cancel many posts',
  description: `Cancels what is not published yet. ${BULK_RULES}`,
  access: 'posts:write',
  workspace: from.body('workspaceId'),
  turn: true,
  body: SelectedPosts,
  returns: { 200: Envelope(BulkChangeReply) },
  errors: [ValidationFailed, SearchTooBroad],
  example: { body: { workspaceId, postIds: [postId] } },
  before: ({ body, posts }) => selectedIds(posts.reader, body),
  handle: async ({ body, caller: { userId }, prepared: ids, turn, writing }) =>
    ok('Posts cancelled', await writing.bulkActions.cancel(turn, ids, body, userId)),
})

export const labelPosts = operation({
  route: 'POST /api/posts/bulk/label',
  summary: 'Label many posts',
  description: `Adds labels to posts, and removes others. ${BULK_RULES}`,
  access: 'posts:write',
  workspace: from.body('workspaceId'),
  turn: true,
  body: PostsToLabel,
  returns: { 200: Envelope(BulkChangeReply) },
  errors: [ValidationFailed, SearchTooBroad],
  example: { body: { workspaceId, postIds: [postId], addLabels: ['Launch'] } },
  before: ({ body, posts }) => selectedIds(posts.reader, body),
  handle: async ({ body, caller: { userId }, prepared: ids, turn, writing }) =>
    ok('Posts labelled', await writing.bulkActions.label(turn, ids, body, userId)),
})

export const listBulkChanges = operation({
  route: 'GET /api/posts/bulk/changes',
  summary: 'List bulk changes',
  description: 'What was changed for many posts at once, newest first. Changes are kept for a week.',
  access: 'posts:read',
  workspace: from.query('workspaceId'),
  query: BulkChangesQuery,
  returns: { 200: ListOf(BulkChangeView) },
  example: { query: { workspaceId } },
  handle: async ({ query, writing }) =>
    list('Bulk changes', await writing.bulkChanges.list(query.workspaceId, pageRequest(query))),
})

export const undoBulkChange = operation({
  route: 'POST /api/posts/bulk/changes/{changeId}/undo',
  summary: 'Undo a bulk change',
  description:
    'Restores the times, the labels, the states and the approvals that the posts had. Only the person who made the change can undo it, within a day, and once. A post that has changed since stays as it is, and so does one whose earlier time has passed or was taken; `results` says which. Decisions are undone with undoDecisions.',
  access: 'posts:write',
  workspace: owner('post_bulk_changes', 'changeId'),
  turn: true,
  path: BulkChangePath,
  returns: { 200: Envelope(BulkChangeReply) },
  errors: [NotFound, Forbidden, Conflict],
  example: PATH,
  handle: async ({ caller: { userId }, path, turn, writing }) =>
    ok('Change undone', await writing.bulkChanges.undo(turn, path.changeId, { userId, actions: WRITTEN })),
})
