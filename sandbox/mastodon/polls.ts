import { LONGEST_POLL, MAX_IN_OPTION, MAX_OPTIONS, SHORTEST_POLL } from './instance.ts'

/** A poll of a status. */
export interface FakePoll {
  readonly id: string
  readonly options: readonly string[]
  readonly multiple: boolean
  readonly hidesTotals: boolean
  until: number
  /** The choices of accounts, by their id. */
  votes: Record<string, readonly number[]>
}

/** What a request says of a poll. */
export interface PollParams {
  readonly options: readonly string[]
  readonly seconds: number | undefined
  readonly multiple: boolean
  readonly hidesTotals: boolean
}

type Json = Readonly<Record<string, unknown>>

/** The poll of a request; undefined if it has none. */
export function pollParams(value: unknown): PollParams | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { expires_in: seconds, hide_totals: hidesTotals, multiple, options } = value as Json
  // White space around answers and empty answers are removed (app/models/poll.rb, prepare_options).
  const texts = Array.isArray(options) ? options.map((one) => String(one).trim()).filter((one) => one !== '') : []
  return {
    options: texts,
    seconds: seconds === undefined || seconds === '' ? undefined : Number(seconds),
    multiple: isTrue(multiple),
    hidesTotals: isTrue(hidesTotals),
  }
}

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Why Mastodon refuses a poll (poll_options_validator.rb and poll_expiration_validator.rb, 4.3). */
export function pollProblem({ options, seconds }: PollParams): string | undefined {
  const failed = (what: string) => `Validation failed: ${what}`
  if (options.length < 2) return failed('Options must have more than one item')
  if (options.length > MAX_OPTIONS) return failed(`Options can’t contain more than ${MAX_OPTIONS} items`)
  if (options.some((one) => Array.from(SEGMENTER.segment(one)).length > MAX_IN_OPTION)) {
    return failed(`Options can’t be longer than ${MAX_IN_OPTION} characters each`)
  }
  if (new Set(options).size < options.length) return failed('Options contain duplicate items')
  if (seconds === undefined || !Number.isFinite(seconds)) return failed('Expires at can’t be blank')
  if (seconds > LONGEST_POLL) return failed('Expires at is too far into the future')
  return seconds < SHORTEST_POLL ? failed('Expires at is too soon') : undefined
}

/** A poll as an account sees it (docs.joinmastodon.org/entities/Poll, 2026-11). */
export function pollView({ hidesTotals, id, multiple, options, until, votes }: FakePoll, viewer: string, now: number) {
  const expired = until <= now
  const all = Object.values(votes)
  const countOf = (index: number) => all.filter((choices) => choices.includes(index)).length
  return {
    id,
    expires_at: new Date(until).toISOString(),
    expired,
    multiple,
    votes_count: all.flat().length,
    voters_count: multiple ? all.length : null,
    voted: votes[viewer] !== undefined,
    own_votes: votes[viewer] ?? [],
    options: options.map((title, index) => ({
      title,
      votes_count: hidesTotals && !expired ? null : countOf(index),
    })),
    emojis: [],
  }
}

/** Why a vote is refused (app/validators/vote_validator.rb, 4.3). */
export function voteProblem(
  poll: FakePoll,
  voter: string,
  choices: readonly number[],
  now: number,
): string | undefined {
  if (poll.until <= now) return 'Validation failed: The poll has already ended'
  if (choices.length === 0 || choices.some((one) => poll.options[one] === undefined)) {
    return 'Validation failed: The chosen vote option does not exist'
  }
  if (choices.length > 1 && !poll.multiple) return 'Validation failed: You have already voted on this poll'
  return poll.votes[voter] === undefined ? undefined : 'Validation failed: You have already voted on this poll'
}

export function isTrue(value: unknown): boolean {
  return value === true || ['true', '1'].includes(String(value))
}
