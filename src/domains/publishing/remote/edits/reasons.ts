import type { TargetProblem } from '../../posts/index.ts'

const REPUBLISH = 'To publish the change, delete the post from the platform and publish it again.'

function reason(
  code: string,
  message: string,
  nextStep: string | null,
  whoActs: TargetProblem['whoActs'],
): TargetProblem {
  return { code, message, whoActs, nextStep, kind: null, platformCode: null, platformMessage: null }
}

/** `the title, the files and the tags`. */
function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

/** Why what is published differs from the post, or is still to be deleted. */
export const REASONS = {
  editing: (title: string, impossible: readonly string[], why: TargetProblem | null = null): TargetProblem => ({
    ...(why ?? reason('', '', null, 'nobody')),
    code: 'editing',
    message:
      `The change is being made at ${title}.` +
      (why === null ? '' : ` ${why.message}`) +
      (impossible.length === 0 ? '' : ` ${title} cannot change ${listed(impossible)} of a published post.`),
    nextStep: impossible.length === 0 ? null : REPUBLISH,
    whoActs: impossible.length === 0 ? 'nobody' : 'user',
  }),
  notEditable: (title: string, impossible: readonly string[]) =>
    reason(
      'edit_not_possible',
      impossible.length === 0
        ? `${title} does not let anybody edit published posts, so that it shows the version before.`
        : `${title} cannot change ${listed(impossible)} of a published post, so that it shows what was published.`,
      REPUBLISH,
      'user',
    ),
  editFailed: (title: string, why: TargetProblem): TargetProblem => ({
    ...why,
    code: 'edit_failed',
    message: `The change could not be made at ${title}: ${why.message}`,
    nextStep: `Change the post again. ${REPUBLISH}`,
  }),
  removing: (title: string, why: TargetProblem | null = null): TargetProblem => ({
    ...(why ?? reason('', '', null, 'nobody')),
    code: 'removing',
    message: `It is being deleted at ${title}.${why === null ? '' : ` ${why.message}`}`,
    nextStep: null,
    whoActs: 'nobody',
  }),
  notRemovable: (title: string) =>
    reason(
      'removal_not_possible',
      `${title} does not let other programs delete posts.`,
      `Delete it at ${title}, then delete the post here without fromPlatforms.`,
      'user',
    ),
  removalFailed: (title: string, why: TargetProblem): TargetProblem => ({
    ...why,
    code: 'removal_failed',
    message: `It could not be deleted at ${title}: ${why.message}`,
    nextStep: `Delete the post again, or delete it at ${title} and here without fromPlatforms.`,
  }),
} as const
