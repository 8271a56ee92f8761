import type { FakeReply } from '../fake.ts'
import { invalid } from './failures.ts'

/** A poll of a message, as the request has it. */
export interface FakePoll {
  readonly question?: { readonly text?: string }
  readonly answers?: readonly { readonly poll_media?: { readonly text?: string } }[]
  readonly duration?: number | null
  readonly allow_multiselect?: boolean | null
}

const HOURS = 24
const HOUR_MS = 3_600_000

/** Why Discord refuses a poll (docs.discord.com, Poll Create Request Object, 2026-11). */
export function pollRefusal({ answers = [], duration, question }: FakePoll): FakeReply | undefined {
  const length = (text = '') => Array.from(text).length
  const asked = length(question?.text)
  if (asked < 1 || asked > 300) return invalid('poll.question.text', 'Must be between 1 and 300 in length.')
  if (answers.length < 1 || answers.length > 10) return invalid('poll.answers', 'Must be between 1 and 10 in length.')
  const isWrong = answers.some(({ poll_media: media }) => length(media?.text) < 1 || length(media?.text) > 55)
  if (isWrong) return invalid('poll.answers', 'Must be between 1 and 55 in length.')
  const hours = duration ?? HOURS
  return Number.isInteger(hours) && hours >= 1 && hours <= 768
    ? undefined
    : invalid('poll.duration', 'int value should be between 1 and 768.')
}

/** A poll as messages show it. */
export function pollView({ allow_multiselect: multiple, answers = [], duration, question }: FakePoll, at: number) {
  return {
    question: { text: question?.text },
    answers: answers.map(({ poll_media: media }, index) => ({
      answer_id: index + 1,
      poll_media: { text: media?.text },
    })),
    expiry: new Date(at + (duration ?? HOURS) * HOUR_MS).toISOString(),
    allow_multiselect: multiple === true,
    layout_type: 1,
    results: { is_finalized: false, answer_counts: [] },
  }
}
