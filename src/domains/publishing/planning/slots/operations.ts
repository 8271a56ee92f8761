import { EXAMPLE } from '../../../../core/example-ids.ts'
import { PreconditionFailed, ValidationFailed } from '../../../../core/errors.ts'
import { from, operation } from '../../../../core/operation.ts'
import { ok } from '../../../../core/reply.ts'
import { Envelope, Input, Id } from '../../../../core/schema.ts'
import { PREVIEWED, previewView } from './preview.ts'
import { PreviewQuery, PreviewView, QueueInput, QueueView } from './schemas.ts'

const { accountId, workspaceId } = EXAMPLE

export const getPostQueue = operation({
  route: 'GET /api/posts/queue',
  summary: 'Get the queue of a workspace',
  description:
    'The slots of a week for posts that are created with `queue`. Each of these posts gets the next slot that is free for all of its accounts.',
  access: 'posts:read',
  workspace: from.query('workspaceId'),
  query: Input({ workspaceId: Id }),
  etag: 'edits',
  returns: { 200: Envelope(QueueView) },
  example: { query: { workspaceId } },
  handle: async ({ planning, query }) => ok('Queue', await planning.queues.get(query.workspaceId)),
})

export const replacePostQueue = operation({
  route: 'PUT /api/posts/queue',
  summary: 'Replace the queue of a workspace',
  description:
    'Posts that have a slot keep their time. Without `timezone`, the slots are in the time zone of the workspace and move with it.',
  access: 'posts:write',
  workspace: from.body('workspaceId'),
  turn: true,
  body: QueueInput,
  etag: 'edits',
  returns: { 200: Envelope(QueueView) },
  errors: [ValidationFailed, PreconditionFailed],
  example: {
    body: {
      workspaceId,
      slots: [
        { weekday: 'monday', time: '09:00' },
        { weekday: 'thursday', time: '17:30' },
      ],
    },
  },
  handle: async ({ body, ifMatch, planning, turn }) =>
    ok('Queue changed', await planning.queues.replace(turn, body, ifMatch)),
})

export const previewPostQueue = operation({
  route: 'GET /api/posts/queue/preview',
  summary: 'List the next free slots of the queue',
  description:
    'The next 20 slots that are free for all of the accounts, as they are now. Until the workspace has a queue, the `queueSlots` of your settings are used. Each slot in the list counts as taken for those after it.',
  access: 'posts:read',
  workspace: from.query('workspaceId'),
  query: PreviewQuery,
  returns: { 200: Envelope(PreviewView) },
  example: { query: { workspaceId, accountIds: [accountId] } },
  handle: async ({ caller, planning, query: { accountIds, label = null, workspaceId: id } }) =>
    ok(
      'Free slots',
      previewView(await planning.slots.preview(id, { accountIds, label, userId: caller.userId }, PREVIEWED)),
    ),
})
