import { EXAMPLE } from '../../../core/example-ids.ts'
import { Conflict, Forbidden, NotFound, SearchTooBroad, ValidationFailed } from '../../../core/errors.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { ok } from '../../../core/reply.ts'
import { Envelope } from '../../../core/schema.ts'
import {
  AccountNotUsable,
  ModelTextNotReleased,
  PlatformRefusesPost,
  PostNotPossible,
  PostPath,
  PostView,
} from '../posts/index.ts'
import { BULK_RULES, BulkChangePath, BulkChangeReply, selectedIds, SelectedPosts } from '../writing/index.ts'
import { NoApprovalFlow, PingedRecently } from './errors.ts'
import {
  ApprovalChangesView,
  BoardQuery,
  BoardView,
  BulkDecision,
  DecisionInput,
  ResolveInput,
  ResolvePath,
} from './schemas.ts'

export * from './flow-operations.ts'
export * from './guests/operations.ts'

const EXAMPLE_PATH = { path: { id: EXAMPLE.postId } }
const EXAMPLE_SELECTION = { body: { workspaceId: EXAMPLE.workspaceId, postIds: [EXAMPLE.postId] } }

export const getApprovalBoard = operation({
  route: 'GET /api/posts/approval-board',
  summary: 'Get the board of approvals',
  access: 'posts:read',
  workspace: from.query('workspaceId'),
  query: BoardQuery,
  returns: { 200: Envelope(BoardView) },
  example: { query: { workspaceId: EXAMPLE.workspaceId } },
  handle: async ({ approvals, query }) =>
    ok('Approval board', await approvals.board.get(query.workspaceId, query.limit)),
})

export const submitForApproval = operation({
  route: 'POST /api/posts/{id}/submit',
  summary: 'Submit a post for approval',
  description:
    'The first stage of the flow opens, and its approvers get a mail. After the last stage the post is scheduled at its time, or is `ready` if it has none or the flow holds it. A post that was rejected must change first.',
  access: 'posts:write',
  workspace: owner('posts'),
  turn: true,
  path: PostPath,
  returns: { 200: Envelope(PostView) },
  errors: [NotFound, NoApprovalFlow, PostNotPossible, Conflict, PlatformRefusesPost, AccountNotUsable],
  example: EXAMPLE_PATH,
  handle: async ({ approvals, caller, path, turn }) =>
    ok('Post submitted', await approvals.actions.submit(turn, path.id, caller.userId)),
})

export const withdrawFromApproval = operation({
  route: 'POST /api/posts/{id}/withdraw',
  summary: 'Take a post out of the review',
  description: 'The post is a draft again and keeps its time.',
  access: 'posts:write',
  workspace: owner('posts'),
  turn: true,
  path: PostPath,
  returns: { 200: Envelope(PostView) },
  errors: [NotFound, PostNotPossible],
  example: EXAMPLE_PATH,
  handle: async ({ approvals, path, turn }) => ok('Post withdrawn', await approvals.actions.withdraw(turn, path.id)),
})

export const decideApproval = operation({
  route: 'POST /api/posts/{id}/approval',
  summary: 'Decide on a post',
  description:
    'Only an approver of the open stage can decide, once. The authors of a post cannot, unless the flow allows it. A decision belongs to the content that was seen: when the post changes, the first stage that approves one of the changed parts opens again, with those after it.',
  access: 'posts:approve',
  workspace: owner('posts'),
  turn: true,
  path: PostPath,
  body: DecisionInput,
  returns: { 200: Envelope(PostView) },
  errors: [NotFound, Forbidden, Conflict, PostNotPossible, NoApprovalFlow, ModelTextNotReleased],
  example: { ...EXAMPLE_PATH, body: { decision: 'approve' } },
  handle: async ({ approvals, body, caller: { userId }, path, turn }) =>
    ok('Decision recorded', await approvals.actions.decide(turn, path.id, { userId }, body)),
})

export const submitPosts = operation({
  route: 'POST /api/posts/bulk/submit',
  summary: 'Submit many posts for approval',
  description: `The approvers get one mail for all. ${BULK_RULES}`,
  access: 'posts:write',
  workspace: from.body('workspaceId'),
  turn: true,
  body: SelectedPosts,
  returns: { 200: Envelope(BulkChangeReply) },
  errors: [ValidationFailed, SearchTooBroad],
  example: EXAMPLE_SELECTION,
  before: ({ body, posts }) => selectedIds(posts.reader, body),
  handle: async ({ approvals, body, caller: { userId }, prepared: ids, turn }) =>
    ok('Posts submitted', await approvals.bulk.submit(turn, ids, body, userId)),
})

export const decideApprovals = operation({
  route: 'POST /api/posts/bulk/approval',
  summary: 'Decide on many posts',
  description: `The same decision for each post, at its open stage. ${BULK_RULES} Send the \`contentHash\` of each post that you have seen, so that nobody decides on a post that has changed.`,
  access: 'posts:approve',
  workspace: from.body('workspaceId'),
  turn: true,
  body: BulkDecision,
  returns: { 200: Envelope(BulkChangeReply) },
  errors: [ValidationFailed, SearchTooBroad],
  example: { body: { ...EXAMPLE_SELECTION.body, decision: 'approve' } },
  before: ({ body, posts }) => selectedIds(posts.reader, body),
  handle: async ({ approvals, body, caller: { userId }, prepared: ids, turn }) =>
    ok('Decisions recorded', await approvals.bulk.decide(turn, ids, body, userId)),
})

export const undoDecisions = operation({
  route: 'POST /api/posts/bulk/approval/{changeId}/undo',
  summary: 'Undo decisions on many posts',
  description:
    'Restores the reviews of the posts as they were before decideApprovals. Only the person who has decided can undo it, within a day, and once. A post that has changed or begun to be published since stays as it is; `results` says which.',
  access: 'posts:approve',
  workspace: owner('post_bulk_changes', 'changeId'),
  turn: true,
  path: BulkChangePath,
  returns: { 200: Envelope(BulkChangeReply) },
  errors: [NotFound, Forbidden, Conflict],
  example: { path: { changeId: EXAMPLE.bulkChangeId } },
  handle: async ({ caller: { userId }, path, turn, writing }) =>
    ok('Decisions undone', await writing.bulkChanges.undo(turn, path.changeId, { userId, actions: ['decide'] })),
})

export const getApprovalChanges = operation({
  route: 'GET /api/posts/{id}/approval/changes',
  summary: 'Get what has changed since a decision',
  description: 'Compares the post with the version that you decided on last, or that anybody decided on.',
  access: 'posts:read',
  workspace: owner('posts'),
  path: PostPath,
  returns: { 200: Envelope(ApprovalChangesView) },
  errors: [NotFound],
  example: EXAMPLE_PATH,
  handle: async ({ approvals, caller, path }) => ok('Changes', await approvals.board.changes(path.id, caller.userId)),
})

export const pingApprovers = operation({
  route: 'POST /api/posts/{id}/approval/ping',
  summary: 'Remind the approvers of a post',
  description: 'Sends a mail to the approvers of the open stage who have not decided. At most once an hour.',
  access: 'posts:write',
  workspace: owner('posts'),
  turn: true,
  path: PostPath,
  returns: { 200: Envelope(PostView) },
  errors: [NotFound, PostNotPossible, PingedRecently],
  example: EXAMPLE_PATH,
  handle: async ({ approvals, path, turn }) => ok('Approvers reminded', await approvals.actions.ping(turn, path.id)),
})

export const releasePost = operation({
  route: 'POST /api/posts/{id}/release',
  summary: 'Release an approved post',
  description: 'Schedules a post that is `ready` at its time. Without a time, or after it, the post is published now.',
  access: 'posts:publish',
  workspace: owner('posts'),
  turn: true,
  path: PostPath,
  returns: { 200: Envelope(PostView) },
  errors: [NotFound, PostNotPossible, PlatformRefusesPost, AccountNotUsable, ModelTextNotReleased],
  example: EXAMPLE_PATH,
  handle: async ({ approvals, caller, path, turn }) =>
    ok('Post released', await approvals.actions.release(turn, path.id, caller.userId)),
})

export const resolveApprovalStage = operation({
  route: 'POST /api/approvals/{workspaceId}/posts/{postId}/resolve',
  summary: 'Override the open stage of a post',
  description: 'Decides in place of the approvers. The reason is shown with the decision and is in the audit log.',
  access: 'approvals:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: ResolvePath,
  body: ResolveInput,
  returns: { 200: Envelope(PostView) },
  errors: [NotFound, PostNotPossible, NoApprovalFlow, ModelTextNotReleased],
  example: {
    path: { workspaceId: EXAMPLE.workspaceId, postId: EXAMPLE.postId },
    body: { reason: 'The client approved it by phone.' },
  },
  handle: async ({ approvals, body, caller, path, turn }) =>
    ok('Stage resolved', await approvals.actions.resolve(turn, path.postId, caller.userId, body)),
})
