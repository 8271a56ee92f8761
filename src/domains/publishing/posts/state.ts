import { States } from '../../../core/schema.ts'

/** The states of a target, which is one account of a post. */
export const TargetStatusSchema = States('PostTargetStatus', 'Where a post stands at one account', {
  draft: 'It has no time, or waits for its author',
  in_review: 'It waits for a decision of its approvers',
  ready: 'It waits to be released: it is approved, or its approval flow was deleted',
  scheduled: 'It is published at `scheduledFor`',
  publishing: 'It is being published, or waits for another attempt at `nextAttemptAt`',
  published: 'The platform has published all of it',
  partial:
    'The platform has published some of its parts, such as half of a thread. `statusReason` says what is missing',
  failed: 'The platform refused it. `statusReason` says why, and who can change that',
  missed: 'It could not be published in time, and waits for a decision: publish now, reschedule or cancel',
  cancelled: 'It was cancelled. Nothing of it was published',
  unconfirmed:
    'The platform’s reply was lost, so it is not known whether it was published. Crier checks at the platform where that is possible',
})

export type TargetStatus =
  | 'draft'
  | 'in_review'
  | 'ready'
  | 'scheduled'
  | 'publishing'
  | 'published'
  | 'partial'
  | 'failed'
  | 'missed'
  | 'cancelled'
  | 'unconfirmed'

/** What can happen to a target. */
export type TargetAction =
  | 'submit'
  | 'withdraw'
  | 'approve'
  | 'schedule'
  | 'unschedule'
  | 'claim'
  | 'publish'
  | 'publish_part'
  | 'fail'
  | 'miss'
  | 'lose'
  | 'retry'
  | 'cancel'
  | 'edit'
  | 'delete'

type Moves = Readonly<Partial<Record<TargetAction, TargetStatus>>>

/**
 * The state machine of a target: the state after each action. An action that is not listed for a state is refused. `edit`
 * and `delete` keep the state, and are listed where they are possible.
 */
export const MOVES: Readonly<Record<TargetStatus, Moves>> = {
  draft: { submit: 'in_review', schedule: 'scheduled', cancel: 'cancelled', edit: 'draft', delete: 'draft' },
  in_review: {
    withdraw: 'draft',
    approve: 'ready',
    schedule: 'scheduled',
    cancel: 'cancelled',
    edit: 'in_review',
    delete: 'in_review',
  },
  ready: {
    submit: 'in_review',
    withdraw: 'draft',
    schedule: 'scheduled',
    cancel: 'cancelled',
    edit: 'ready',
    delete: 'ready',
  },
  scheduled: {
    submit: 'in_review',
    schedule: 'scheduled',
    unschedule: 'draft',
    claim: 'publishing',
    miss: 'missed',
    fail: 'failed',
    cancel: 'cancelled',
    edit: 'scheduled',
    delete: 'scheduled',
  },
  publishing: {
    // Another attempt takes over.
    claim: 'publishing',
    publish: 'published',
    publish_part: 'partial',
    fail: 'failed',
    miss: 'missed',
    lose: 'unconfirmed',
    // Only before the call that publishes, if the content is not the approved one.
    submit: 'in_review',
    // Only before the call that publishes; the publisher checks that.
    cancel: 'cancelled',
  },
  published: { edit: 'published', delete: 'published' },
  partial: { retry: 'publishing', edit: 'partial', delete: 'partial' },
  failed: {
    submit: 'in_review',
    retry: 'publishing',
    schedule: 'scheduled',
    cancel: 'cancelled',
    edit: 'failed',
    delete: 'failed',
  },
  missed: {
    submit: 'in_review',
    retry: 'publishing',
    schedule: 'scheduled',
    cancel: 'cancelled',
    edit: 'missed',
    delete: 'missed',
  },
  cancelled: {
    submit: 'in_review',
    schedule: 'scheduled',
    unschedule: 'draft',
    edit: 'cancelled',
    delete: 'cancelled',
  },
  unconfirmed: {
    // The platform, or the user, says what has happened.
    publish: 'published',
    publish_part: 'partial',
    retry: 'publishing',
    fail: 'failed',
    miss: 'missed',
    delete: 'unconfirmed',
  },
}

/** The state after an action, or undefined if the action is not possible in this state. */
export function moved(status: TargetStatus, action: TargetAction): TargetStatus | undefined {
  return MOVES[status][action]
}

/** States in which work goes on or is to come: the first one that a target has is the state of the post. */
const OPEN: readonly TargetStatus[] = ['publishing', 'unconfirmed', 'in_review', 'scheduled', 'ready', 'draft']

/**
 * The state of a post, from those of its targets. Work that goes on comes first. Of targets that have ended, cancelled
 * ones do not count unless all are, and a mixture of published and other ones is `partial`.
 */
export function statusOfPost(targets: readonly TargetStatus[]): TargetStatus {
  const open = OPEN.find((status) => targets.includes(status))
  if (open !== undefined) return open
  if (targets.length === 0) return 'draft'
  const ended = new Set(targets.filter((status) => status !== 'cancelled'))
  const [first = 'cancelled'] = ended
  if (ended.size <= 1) return first
  return ended.has('published') || ended.has('partial') ? 'partial' : ended.has('missed') ? 'missed' : 'failed'
}

/** Whether nothing more happens to a target by itself. */
export function isFinal(status: TargetStatus): boolean {
  return ['published', 'partial', 'failed', 'missed', 'cancelled'].includes(status)
}
