import { pageFields } from '../../../../core/page.ts'
import {
  Id,
  Input,
  named,
  Nullable,
  ResourceBase,
  States,
  Text,
  Timestamp,
  Type,
  type Static,
} from '../../../../core/schema.ts'
import { PostListFilter, rescheduleFields, TargetStatusSchema } from '../../posts/index.ts'

/** The maximum number of posts of one bulk change. */
export const MAX_CHANGED = 200

/** What all bulk changes have in common. */
export const BULK_RULES =
  'Up to 200 posts, by `postIds` or by a `filter`. Each post is changed or refused by itself, as the operation for one post would do it, and the reply has a result for each. `dryRun` changes nothing. `changeId` undoes what was changed, for a day (undoBulkChange).'

const { workspaceId: _, ...filterFields } = PostListFilter

/** Which posts a bulk change is for. */
export const selectionFields = {
  workspaceId: Id,
  postIds: Type.Optional(
    Type.Array(Id, { minItems: 1, maxItems: MAX_CHANGED, uniqueItems: true, description: 'Posts of the workspace' }),
  ),
  filter: Type.Optional(
    Input(filterFields, {
      description: `Instead of \`postIds\`: the filters of listPosts, at least one. More than ${MAX_CHANGED} posts are refused`,
      minProperties: 1,
    }),
  ),
  dryRun: Type.Optional(
    Type.Boolean({ description: 'Changes nothing, and replies with what would happen to each post' }),
  ),
}

const Minutes = Type.Integer({ minimum: -525_600, maximum: 525_600 })
const Days = Type.Integer({ minimum: -366, maximum: 366 })

export const PostsToReschedule = Input(
  {
    ...selectionFields,
    ...rescheduleFields,
    shift: Type.Optional(
      Input(
        {
          days: Type.Optional({
            ...Days,
            description: 'The clock time stays the same, also over a change to summer time',
          }),
          minutes: Type.Optional({ ...Minutes, description: 'Added after `days`' }),
        },
        {
          description:
            'Moves each post, and the times of its accounts, by this much. Posts without a time are refused. Drafts stay drafts',
          minProperties: 1,
        },
      ),
    ),
  },
  { description: 'One of `scheduledFor`, `shift` or `queue`, for `postIds` or a `filter`' },
)
export type PostsToRescheduleInput = Static<typeof PostsToReschedule>

const LabelList = Type.Array(Text(1, 50), { minItems: 1, maxItems: 20, uniqueItems: true })
export const PostsToLabel = Input(
  {
    ...selectionFields,
    addLabels: Type.Optional({ ...LabelList, description: 'Labels to add' }),
    removeLabels: Type.Optional({ ...LabelList, description: 'Labels to remove' }),
  },
  { description: 'Labels to add, to remove, or both, for `postIds` or a `filter`' },
)

export const SelectedPosts = Input(selectionFields, { description: 'Either `postIds` or `filter`' })
/** The posts of a bulk change: their ids, or a filter. */
export type Selection = Omit<Static<typeof SelectedPosts>, 'dryRun'>

export const BulkActionSchema = States('BulkChangeAction', 'What a bulk change does with posts', {
  reschedule: 'They get another time',
  cancel: 'They are cancelled',
  label: 'They get or lose labels',
  submit: 'They are submitted for approval',
  decide: 'Their approval is decided',
})

const ChangedPost = named(
  'BulkChangedPost',
  Type.Object({
    postId: Id,
    outcome: States('BulkChangeResult', 'What a bulk change did with a post', {
      changed: 'The post was changed. In a dry run: it would be changed',
      unchanged: 'The post is already as it would be',
      refused: 'The post was not changed. `refusal` says why',
    }),
    status: Nullable(TargetStatusSchema),
    scheduledFor: Nullable(Timestamp),
    localTime: Nullable(Type.String({ description: 'The clock time of `scheduledFor` in `timezone`' })),
    timezone: Nullable(Type.String()),
    contentHash: Nullable(
      Type.String({ description: 'What the approvers of the post see, as in its approval. Null if it has none' }),
    ),
    note: Nullable(Type.String({ description: 'What the post waits for now, such as an approval' })),
    refusal: Nullable(
      Type.Object({
        code: Type.String({ description: 'The code of the error that the operation for one post replies with' }),
        message: Type.String(),
        nextStep: Type.String({ description: 'What to do about it' }),
        details: Type.Record(Type.String(), Type.Unknown(), { description: 'The details of that error' }),
      }),
    ),
  }),
)
export type ChangedPostData = Static<typeof ChangedPost>

export const BulkChangeReply = Type.Object({
  changeId: Nullable(
    Type.String({ ...Id, description: 'Undoes the change. Null for a dry run, or if no post changed' }),
  ),
  changedCount: Type.Integer({ description: 'Posts that were changed' }),
  refusedCount: Type.Integer({ description: 'Posts that were refused' }),
  results: Type.Array(ChangedPost, { description: 'Every post, in the order of the request, or of the list of posts' }),
})
export type BulkChangeReplyData = Static<typeof BulkChangeReply>

export const BulkChangeView = named(
  'PostBulkChange',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    action: BulkActionSchema,
    changedCount: Type.Integer({ description: 'Posts that were changed' }),
    createdBy: Type.String({ ...Id, description: 'The user who made the change, and can undo it' }),
    undoUntil: Type.String({ format: 'date-time', description: 'Until when the change can be undone' }),
    undoneAt: Nullable(Type.String({ format: 'date-time', description: 'When the change was undone' })),
  }),
)
export type BulkChangeData = Static<typeof BulkChangeView>

export const BulkChangePath = Input({ changeId: Id })
export const BulkChangesQuery = Input({ workspaceId: Id, ...pageFields })
