import { Id, Input, Nullable, OneOf, States, Text, Timestamp, Type, named, type Static } from '../../../core/schema.ts'
import { APPROVAL_DECISIONS, ApprovalRule, PostView } from '../posts/index.ts'
import { PostChanges, selectionFields } from '../writing/index.ts'

export const MAX_STAGES = 10
const MAX_APPROVERS = 50

const AfterDeadline = States('ApprovalAfterDeadline', 'What happens when nobody has decided before the deadline', {
  remind: 'The approvers are reminded by mail, and the stage stays open',
  return: 'The post is a draft again, and its author is told',
  skip: 'The stage passes without an approval',
})

/** What a stage can approve. Parts that platforms do not see need no approval. */
export const APPROVED_PARTS = ['text', 'media', 'targets', 'times'] as const

const Approvers = Type.Object(
  {
    userIds: Type.Optional(Type.Array(Id, { maxItems: MAX_APPROVERS, uniqueItems: true })),
    roleIds: Type.Optional(
      Type.Array(Text(1, 64), {
        maxItems: MAX_APPROVERS,
        uniqueItems: true,
        description: 'Everybody with one of these roles. The id of a built-in role is its name',
      }),
    ),
    groupIds: Type.Optional(Type.Array(Id, { maxItems: MAX_APPROVERS, uniqueItems: true })),
    guests: Type.Optional(
      Type.Boolean({ description: 'Whether guests with a link to the post decide as well. Not by default' }),
    ),
  },
  {
    additionalProperties: false,
    description: 'Who decides: at least one member with `posts:approve`, or guests',
  },
)

const stageFields = {
  name: Text(1, 80),
  approvers: Approvers,
  rule: Type.Optional(ApprovalRule),
  autoSchedule: Type.Optional(
    Type.Boolean({
      description:
        'Counts at the last stage. True by default: the approved post is scheduled at its time. False: it is `ready`, and somebody must release it',
    }),
  ),
  deadlineHours: Type.Optional(
    Nullable(Type.Integer({ minimum: 1, maximum: 720, description: 'How long the stage may take. Null: for ever' })),
  ),
  afterDeadline: Type.Optional(AfterDeadline),
  parts: Type.Optional(
    Type.Array(OneOf(APPROVED_PARTS), {
      minItems: 1,
      maxItems: APPROVED_PARTS.length,
      uniqueItems: true,
      description:
        'What the stage approves. A change of anything else does not open it again. All of these parts by default',
    }),
  ),
}

export const FlowInput = Input({
  stages: Type.Array(Input(stageFields), {
    minItems: 1,
    maxItems: MAX_STAGES,
    description: 'In the order in which they open',
  }),
  authorsMayApprove: Type.Optional(
    Type.Boolean({ description: 'Whether authors and submitters can approve their own posts. False by default' }),
  ),
})
export type FlowInputData = Static<typeof FlowInput>

const StageView = named(
  'ApprovalStage',
  Type.Object({
    name: stageFields.name,
    approvers: Type.Object({
      userIds: Type.Array(Id),
      roleIds: Type.Array(Type.String()),
      groupIds: Type.Array(Id),
      guests: Type.Boolean(),
    }),
    rule: ApprovalRule,
    autoSchedule: Type.Boolean(),
    deadlineHours: Nullable(Type.Integer()),
    afterDeadline: AfterDeadline,
    parts: Type.Array(OneOf(APPROVED_PARTS)),
  }),
)
export type StageData = Static<typeof StageView>

export const FlowView = named(
  'ApprovalFlow',
  Type.Object({
    workspaceId: Id,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    version: Type.Integer({ description: 'Raised with each change' }),
    stages: Type.Array(StageView, { description: 'In the order in which they open' }),
    authorsMayApprove: Type.Boolean({ description: 'Whether authors and submitters can approve their own posts' }),
  }),
)
export type FlowData = Static<typeof FlowView>

export const FlowPath = Input({ workspaceId: Id })

const Comment = Text(1, 2_000, { description: 'For the author' })
const Decision = OneOf(APPROVAL_DECISIONS, {
  description:
    '`approve` counts for the stage. `reject` and `request_changes` return the post to its author at once, whatever the rule of the stage',
})

export const DecisionInput = Input({
  decision: Decision,
  comment: Type.Optional(Comment),
  contentHash: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{64}$',
      description:
        'The `contentHash` of the approval as you have seen it. If the post has changed since, the decision is refused with 409',
    }),
  ),
})
export type DecisionInputData = Static<typeof DecisionInput>

export const BulkDecision = Input(
  {
    ...selectionFields,
    decision: Decision,
    comment: Type.Optional(Comment),
    contentHashes: Type.Optional(
      Type.Record(Id, Type.String({ pattern: '^[0-9a-f]{64}$' }), {
        description:
          'By post: the `contentHash` that you have seen, such as that of a dry run. A post that has changed since is refused',
        maxProperties: 200,
      }),
    ),
  },
  { description: 'A decision, for `postIds` or a `filter`' },
)
export type BulkDecisionData = Static<typeof BulkDecision>

export const ResolveInput = Input({ decision: Type.Optional(Decision), reason: Text(3, 2_000) })
export const ResolvePath = Input({ workspaceId: Id, postId: Id })

export const BoardQuery = Input({
  workspaceId: Id,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Posts of each column; 20 by default' })),
})

export const BoardView = Type.Object({
  columns: Type.Array(
    named(
      'ApprovalColumn',
      Type.Object({
        kind: States('ApprovalColumnKind', 'What the posts of a column wait for', {
          stage: 'The approvers of a stage',
          changes_requested: 'Changes by their authors',
          ready: 'Their release',
        }),
        stage: Nullable(Type.Integer({ description: 'The number of the stage, from 1' })),
        stageName: Nullable(Type.String()),
        postCount: Type.Integer({ description: 'How many posts there are, also beyond `limit`' }),
        posts: Type.Array(PostView, { description: 'The next ones by time' }),
      }),
    ),
    {
      description:
        'The stages of the flow in their order, then posts with changes requested, then posts that are ready',
    },
  ),
})
export type BoardData = Static<typeof BoardView>

export const ApprovalChangesView = Type.Object({
  comparedWith: Nullable(
    Type.Object({
      version: Type.Integer({ description: 'The version that was decided on' }),
      decision: OneOf(APPROVAL_DECISIONS),
      userId: Nullable(Id),
      decidedAt: Timestamp,
    }),
  ),
  changes: Nullable(PostChanges),
})
