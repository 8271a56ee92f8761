import type { TargetProblem } from '../../posts/index.ts'

/** Why a target is cancelled while its account is disconnected. It is scheduled again with the account. */
export const DISCONNECTED: TargetProblem = {
  code: 'account_disconnected',
  message: 'The account was disconnected before the post was due.',
  whoActs: 'user',
  nextStep:
    'Restore the account within 30 days. What is still to come then is scheduled again; anything else can be rescheduled.',
  kind: null,
  platformCode: null,
  platformMessage: null,
}

/** Why a target cannot be published after its account is gone for good. */
export const DELETED: TargetProblem = {
  ...DISCONNECTED,
  code: 'account_deleted',
  message: 'The account was disconnected over 30 days ago, and is deleted.',
  nextStep: 'Connect the account again and add it to the post, or remove it from the post.',
}
