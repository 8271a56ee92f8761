import { Id, Nullable, OneOf, States, Timestamp, Type, named, type Static } from '../../../../core/schema.ts'

export const APPROVAL_DECISIONS = ['approve', 'reject', 'request_changes'] as const

export const ApprovalRule = Type.Union([OneOf(['any', 'all'] as const), Type.Integer({ minimum: 1, maximum: 50 })], {
  description: 'How many approvers must approve: `any` one, `all` of them, or this number',
})

/** One decision on a post. */
export const PostDecision = named(
  'PostDecision',
  Type.Object({
    stage: Type.Integer({ description: 'The number of the stage, from 1' }),
    stageName: Type.String(),
    decision: OneOf(APPROVAL_DECISIONS, { description: 'What was decided' }),
    kind: States('PostDecisionKind', 'Who has decided', {
      member: 'An approver of the stage',
      guest: 'A guest with a link',
      override: 'A holder of `approvals:manage`, in place of the approvers',
      deadline: 'Nobody decided before the deadline of the stage, and the flow says what happens then',
    }),
    userId: Nullable(Id),
    guestId: Nullable(Type.String({ ...Id, description: 'The link of the guest' })),
    guestName: Nullable(Type.String()),
    comment: Nullable(Type.String()),
    version: Type.Integer({ description: 'The version of the post that was decided on' }),
    contentHash: Type.String({ description: 'What was decided on' }),
    isCurrent: Type.Boolean({ description: 'False if the stage was opened again later' }),
    decidedAt: Timestamp,
  }),
)
export type PostDecisionData = Static<typeof PostDecision>

/** Where a post stands in the approval flow of its workspace. */
export const PostApproval = named(
  'PostApproval',
  Type.Object(
    {
      status: States('PostApprovalStatus', 'Where a post stands in its approval', {
        open: 'A stage waits for its approvers',
        ready: 'The post waits to be released: every stage has passed, or its flow was deleted',
        approved: 'Every stage has passed',
        changes_requested: 'An approver has asked for changes. The post is a draft again',
        rejected:
          'An approver has rejected it. The post is a draft again, and must change before it is submitted again',
        withdrawn: 'It was taken back',
      }),
      message: Nullable(Type.String({ description: 'What has happened last, or what the approval waits for' })),
      stage: Nullable(Type.Integer({ description: 'The number of the open stage, from 1' })),
      stageName: Nullable(Type.String()),
      stages: Type.Array(
        Type.Object({
          name: Type.String(),
          rule: ApprovalRule,
          status: States('PostApprovalStageStatus', 'Where a stage of an approval stands', {
            passed: 'It is approved',
            open: 'It waits for its approvers',
            waiting: 'It opens after the stages before it',
          }),
          neededCount: Type.Integer({ description: 'How many approvals the stage needs now' }),
          approvedCount: Type.Integer({ description: 'How many approvals it has' }),
        }),
      ),
      approverIds: Type.Array(Id, { description: 'The members who can still decide at the open stage' }),
      isFallback: Type.Boolean({
        description:
          'Whether the open stage has nobody left who can give what it needs, so that holders of `approvals:manage` decide in their place. A stage never passes because approvers were removed',
      }),
      decisions: Type.Array(PostDecision, { description: 'The newest 50 decisions, oldest first' }),
      contentHash: Type.String({
        description:
          'A hash of what the approvers see: content, files, accounts and times. Send it with a decision, so that nobody decides on a post that has changed',
      }),
      version: Type.Integer({ description: 'The version of the post that `contentHash` belongs to' }),
      publishWhenApproved: Type.Boolean({ description: 'Whether the post is published as soon as it is approved' }),
      authorIds: Type.Array(Id, {
        description: 'The authors and submitters of the post. They cannot approve it unless the flow allows it',
      }),
      submittedAt: Timestamp,
      submittedBy: Id,
      openedAt: Timestamp,
      deadlineAt: Nullable(Timestamp),
      remindedAt: Nullable(Type.String({ format: 'date-time', description: 'When its approvers were last reminded' })),
      opening: Type.Integer({ description: 'Raised each time that a stage opens' }),
    },
    { description: 'Where the post stands in the approval flow of its workspace' },
  ),
)
export type PostApprovalData = Static<typeof PostApproval>
