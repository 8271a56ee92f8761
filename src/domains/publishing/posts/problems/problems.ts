import type { PlatformError } from '../../../../platforms/error-kinds.ts'
import type { PostNote } from '../../../../platforms/publishing.ts'
import type { TargetProblem } from '../tables.ts'

const NEXT_STEPS = {
  user: 'Change what the message names, then retry the post.',
  admin: 'Ask the administrator of this server, then retry the post.',
  us: 'Retry the post. If it fails again, report it with the details.',
  nobody: null,
} as const

/** The problem of a target that a platform refused or could not take. */
export function problemOf(error: PlatformError): TargetProblem {
  const { code, detail, kind, message, whoActs } = error
  return {
    code: kind,
    message: detail === undefined ? message : `${message} (${detail})`,
    whoActs,
    nextStep: kind === 'auth_expired' ? 'Connect the account again, then retry the post.' : NEXT_STEPS[whoActs],
    kind,
    platformCode: code ?? null,
    platformMessage: detail ?? null,
  }
}

function plain(
  code: string,
  message: string,
  nextStep: string | null,
  whoActs: TargetProblem['whoActs'],
): TargetProblem {
  return { code, message, whoActs, nextStep, kind: null, platformCode: null, platformMessage: null }
}

/** Reasons that do not come from a platform. */
export const PROBLEMS = {
  late: (minutes: number, why: TargetProblem | null): TargetProblem => ({
    code: 'too_late',
    message: `It could not be published within ${minutes} minutes of its time.${why === null ? '' : ` ${why.message}`}`,
    whoActs: 'user',
    nextStep: 'Publish it now, reschedule it, or cancel it.',
    kind: why?.kind ?? null,
    platformCode: why?.platformCode ?? null,
    platformMessage: why?.platformMessage ?? null,
  }),
  noMoreRetries: (attempts: number, why: TargetProblem): TargetProblem => ({
    ...why,
    message: `${why.message} It was not tried again: the publishing settings of its author allow ${attempts === 1 ? 'no retries' : `${attempts} attempts`}.`,
    whoActs: 'user',
    nextStep: 'Retry the post.',
  }),
  held: (why: string, whoActs: TargetProblem['whoActs'] = 'user') =>
    plain(
      'held',
      `It is held: ${why}`,
      'It is published as soon as that has changed, if it is not too late then.',
      whoActs,
    ),
  checking: (title: string) =>
    plain(
      'outcome_unknown',
      `The reply of ${title} was lost. Crier is checking whether it was published.`,
      null,
      'nobody',
    ),
  unknown: (title: string, why: string) =>
    plain(
      'outcome_unknown',
      `The reply of ${title} was lost, and Crier cannot find out whether it was published: ${why}`,
      'Look at the account, then say whether it was published.',
      'user',
    ),
  repeated: (title: string) =>
    plain(
      'outcome_unknown',
      `The reply of ${title} was lost. A second call was refused as a duplicate, but ${title} does not show the post.`,
      'Look at the account, then say whether it was published.',
      'user',
    ),
  restMissing: plain(
    'rest_missing',
    'The parts after the one that you have seen were not published.',
    'Retry the post, or publish the rest at the platform.',
    'user',
  ),
  settledAbsent: plain('not_published', 'A member said that it was not published.', 'Retry the post.', 'user'),
  paced: plain(
    'backlog',
    'Many posts became due while publishing was not possible. They are published one after the other.',
    null,
    'nobody',
  ),
  /** A warning before the time of the post. */
  unprepared: (why: TargetProblem): TargetProblem => ({
    ...why,
    code: 'not_prepared',
    message: `What can be sent ahead could not be sent: ${why.message} It is tried again at the time of the post.`,
  }),
  /** Of a target that is published. */
  noted: ({ code, message, nextStep }: PostNote) => plain(code, message, nextStep, 'user'),
  internal: plain('internal', 'This server has a problem at the moment. It tries again.', null, 'us'),
  processing: (title: string) => plain('processing', `${title} is processing the files.`, null, 'nobody'),
} as const
