import type { FakeReply } from '../fake.ts'
import * as problems from './problems.ts'

/** A poll of a post. */
export interface FakePoll {
  readonly options: readonly string[]
  readonly minutes: number
}

/** The poll in the body of a request. */
export function pollIn(body: Readonly<Record<string, unknown>>): FakePoll | null {
  const { duration_minutes: minutes, options } = (body['poll'] ?? {}) as {
    duration_minutes?: number
    options?: readonly string[]
  }
  return body['poll'] === undefined ? null : { options: options ?? [], minutes: minutes ?? Number.NaN }
}

/** Why X refuses a poll (docs.x.com, Create Post, 2026-11). @param beside whether the post has files or a quote */
export function pollProblem({ minutes, options }: FakePoll, beside: boolean): FakeReply | undefined {
  if (beside) return problems.invalid('poll', 'poll is mutually exclusive with media and quote_tweet_id.')
  if (options.length < 2 || options.length > 4) {
    return problems.invalid('poll.options', `$.poll.options: must have 2 to 4 items, found ${options.length}`)
  }
  if (options.some((option) => option === '' || Array.from(option).length > 25)) {
    return problems.invalid('poll.options', '$.poll.options: an option must be at most 25 characters long')
  }
  if (!Number.isInteger(minutes) || minutes < 5 || minutes > 10_080) {
    return problems.invalid('poll.duration_minutes', '$.poll.duration_minutes: must be between 5 and 10080')
  }
  return undefined
}
