import type { TargetProblem } from '../../posts/index.ts'

function reason(code: string, message: string, nextStep: string): TargetProblem {
  return { code, message, whoActs: 'user', nextStep, kind: null, platformCode: null, platformMessage: null }
}

/** Why an occurrence of a series is not scheduled, or a series makes no posts. */
export const REASONS = {
  refused: (messages: readonly string[]) =>
    reason(
      'platform_validation_failed',
      `The platform would refuse this occurrence. ${messages.join(' ')}`,
      'Change the post, then reschedule it. Change its series as well if later occurrences have the same problem.',
    ),
  missingFiles: (count: number) =>
    reason(
      'media_missing',
      `${count === 1 ? 'A file' : `${count} files`} of this occurrence ${count === 1 ? 'is' : 'are'} no longer in the media library.`,
      'Replace the files of the post, then reschedule it. Change its series as well.',
    ),
  noRoom: reason(
    'budget_exceeded',
    'Other posts take the daily or hourly limit of the account at the time of this occurrence.',
    'Reschedule it with `queue` or `onFull: "move"`, or move other posts.',
  ),
  noAccess: reason(
    'author_has_no_access',
    'The author can no longer write posts in this workspace, so no more posts are made.',
    'A member with the scope posts:write resumes the series, and becomes its author.',
  ),
  missed: (count: number, first: string, last: string) =>
    reason(
      'occurrences_missed',
      count === 1
        ? `The occurrence of ${first} has passed without being published.`
        : `${count} occurrences from ${first} to ${last} have passed without being published.`,
      'The last one is a post with the status missed. Publish it now, reschedule it or cancel it.',
    ),
} as const
