import { isTrue, objectOf, plainOf, Refusal } from './state.ts'

/** A poll of a message. */
export interface FakePoll {
  readonly id: string
  readonly question: string
  readonly options: readonly string[]
  readonly multiple: boolean
  /** Seconds, if it ends by itself. */
  readonly openPeriod: number | null
}

const QUESTION = 300
const OPTIONS = 12
const OPTION = 100
const SHORTEST = 5
const LONGEST = 2_628_000

/** The poll that a request describes (core.telegram.org/bots/api#sendpoll, 2026-11). @throws Refusal */
export function pollIn(params: Readonly<Record<string, unknown>>, id: string): FakePoll {
  const question = plainOf(params['question']).trim()
  if (question === '') throw new Refusal(400, 'Bad Request: poll question must be non-empty')
  if (Array.from(question).length > QUESTION) {
    throw new Refusal(400, `Bad Request: poll question length must not exceed ${QUESTION}`)
  }
  const given = (objectOf(params['options']) ?? []) as readonly (string | { readonly text?: string })[]
  const options = given.map((option) => plainOf(typeof option === 'string' ? option : option.text).trim())
  if (options.length === 0) throw new Refusal(400, 'Bad Request: poll must have at least 1 option')
  if (options.length > OPTIONS) throw new Refusal(400, `Bad Request: poll can't have more than ${OPTIONS} options`)
  if (options.includes('')) throw new Refusal(400, 'Bad Request: poll options must be non-empty')
  if (options.some((option) => Array.from(option).length > OPTION)) {
    throw new Refusal(400, `Bad Request: poll options length must not exceed ${OPTION}`)
  }
  const period = plainOf(params['open_period'])
  const openPeriod = period === '' ? null : Number(period)
  if (openPeriod !== null && !(openPeriod >= SHORTEST && openPeriod <= LONGEST)) {
    throw new Refusal(400, 'Bad Request: POLL_OPEN_PERIOD_INVALID')
  }
  return { id, question, options, multiple: isTrue(params['allows_multiple_answers']), openPeriod }
}

/** A poll as messages show it (core.telegram.org/bots/api#poll, 2026-11). */
export function pollView({ id, multiple, openPeriod, options, question }: FakePoll, date: number, now: number) {
  const until = openPeriod === null ? null : Math.floor(date / 1_000) + openPeriod
  return {
    id,
    question,
    options: options.map((text, index) => ({ persistent_id: `${id}-${index}`, text, voter_count: 0 })),
    total_voter_count: 0,
    is_closed: until !== null && until * 1_000 <= now,
    is_anonymous: true,
    type: 'regular',
    allows_multiple_answers: multiple,
    allows_revoting: true,
    members_only: false,
    ...(until !== null && { open_period: openPeriod, close_date: until }),
  }
}
