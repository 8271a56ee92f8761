import type { FakeReply } from '../fake.ts'
import { inputFault } from './replies.ts'

/** A poll of a post. */
export interface FakePoll {
  readonly question?: string
  readonly options?: readonly { readonly text?: string }[]
  readonly settings?: { readonly duration?: string; readonly voteSelectionType?: string }
}

const DURATIONS = ['ONE_DAY', 'THREE_DAYS', 'SEVEN_DAYS', 'FOURTEEN_DAYS']

/** Whether a content has a poll. */
export function isPoll(content: object): content is { readonly poll: FakePoll } {
  return 'poll' in content
}

/** Why LinkedIn refuses a poll (learn.microsoft.com, LinkedIn Poll API, 2026-11). */
export function pollProblem(content: { readonly poll: FakePoll }): FakeReply | undefined {
  const { options = [], question = '', settings } = content.poll
  const wrong = (message: string) => inputFault(400, 'INVALID_VALUE', message)
  if (Object.keys(content).length > 1) return wrong('content is a union, and has only one of its members')
  if (question.trim() === '') return inputFault(400, 'MISSING_FIELD', 'content.poll.question is required')
  if (question.length > 140) return inputFault(400, 'FIELD_LENGTH_TOO_LONG', 'content.poll.question is too long')
  if (options.length < 2 || options.length > 4) return wrong('content.poll.options takes 2 to 4 options')
  if (options.some(({ text = '' }) => text === '')) return wrong('content.poll.options.text is empty')
  if (options.some(({ text = '' }) => text.length > 30)) {
    return inputFault(400, 'FIELD_LENGTH_TOO_LONG', 'content.poll.options.text is too long')
  }
  if (!DURATIONS.includes(settings?.duration ?? '')) return wrong('content.poll.settings.duration is invalid')
  return settings?.voteSelectionType === 'SINGLE_VOTE' ? undefined : wrong('voteSelectionType is invalid')
}
