import { defineError } from '../../../core/error.ts'
import { ValidationFailed } from '../../../core/errors.ts'

export const PostNotPossible = defineError({
  code: 'post_state_conflict',
  status: 409,
  message: 'The post is in a state in which this is not possible.',
  cause:
    'The action does not fit the state of the post or of its targets. `details.status` has the state of the post, and `details.targets` those of its targets.',
  fix: 'Read the post. Its state and the reasons of its targets say what is possible.',
})

export const PlatformRefusesPost = defineError({
  code: 'platform_validation_failed',
  status: 400,
  message: 'A platform would refuse this post.',
  cause:
    'The content breaks rules of the platforms it goes to. `details.targets` has the failures of each account: the rule, its limit, the actual value, and a fix.',
  fix: 'Change what the failures name, or send `draft: true` to save the post as it is.',
})

export const BudgetExceeded = defineError({
  code: 'budget_exceeded',
  status: 409,
  message: 'The post does not fit into the budgets of its account at this time.',
  cause:
    'Posts that are scheduled or published take the daily or hourly limit of the account, what the platform says is left of it, or a limit that all accounts of this server share (`details.scope`). `details` has the rule, its limit (`allowed`), what other posts take of it (`used`), and what this post needs.',
  fix: 'Choose another time: `details.nextDay` and `details.nextSlot` have room. Or send `onFull: "move"`, or `queue`.',
})

export const BulkRefused = defineError({
  code: 'bulk_refused',
  status: 400,
  message: 'Some posts cannot be created, so none was.',
  cause: 'A row cannot be read, or a platform would refuse its post. `details.rows` has every row with its verdict.',
  fix: 'Correct the rows, or send `partial: true` to create the others.',
})

export const ModelTextNotReleased = defineError({
  code: 'model_text_not_released',
  status: 409,
  message: 'A model wrote text of this post, so an API key cannot publish it by itself.',
  cause:
    'The text is, or contains, a text that a model wrote for the workspace (`textOrigin` of the post). Nobody has scheduled or approved it in a login session. `details` has the AI jobs and the models.',
  fix: 'Save it as a draft, and let a member schedule, publish or approve it in a login session. Or set `autoPublishModelText` with PATCH /api/workspaces/{workspaceId}/ai-settings.',
})

export const QueueFull = defineError({
  code: 'queue_full',
  status: 409,
  message: 'The queue has no free slot for this post.',
  cause:
    'The queue has no slot with this label for all accounts of the post, or its slots of the next two years are taken. `details.reason` says which.',
  fix: 'Add slots with PUT /api/posts/queue, or send `scheduledFor`.',
})

export const AccountNotUsable = defineError({
  code: 'account_not_usable',
  status: 409,
  message: 'Nothing can be published to this account.',
  cause: 'The account is disconnected, archived, suspended, or must be connected again.',
  fix: 'Do what the status of the account says, or remove it from the targets.',
})

/** What scheduling a post, or changing what is scheduled, can fail with. */
export const SCHEDULING_ERRORS = [
  ValidationFailed,
  PlatformRefusesPost,
  AccountNotUsable,
  PostNotPossible,
  BudgetExceeded,
  ModelTextNotReleased,
] as const
