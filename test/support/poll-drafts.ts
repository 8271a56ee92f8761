import * as fc from 'fast-check'
import { listOf, numberOf, type Limits } from '../../src/platforms/rules/limits.ts'
import type { Platform } from '../../src/platforms/platform.ts'
import type { Poll } from '../../src/platforms/polls.ts'

/** Letters that platforms count differently. */
const LETTERS = ['a', 'é', '漢', '👍']

/** Polls at the limits of a platform, and just beyond them. Undefined where there are no polls. */
export function pollDrafts(platform: Platform, limits: Limits): fc.Arbitrary<Poll> | undefined {
  const mostAnswers = numberOf(limits, 'poll.maxOptions')
  const schema = platform.options?.properties['poll'] as { properties: Readonly<Record<string, unknown>> } | undefined
  if (schema === undefined || mostAnswers === undefined) return undefined
  const fields = schema.properties
  const longest = numberOf(limits, 'poll.optionMax') ?? 25
  const answers = fc
    .record({
      count: around(numberOf(limits, 'poll.minOptions') ?? 1, mostAnswers),
      length: fc.constantFrom(2, longest - 1, longest, longest + 1),
      letter: fc.constantFrom(...LETTERS),
    })
    // Each answer begins with another letter.
    .map(({ count, length, letter }) =>
      Array.from({ length: count }, (_, index) => `${String.fromCodePoint(65 + index)}${letter.repeat(length - 1)}`),
    )
  const questionMost = numberOf(limits, 'poll.questionMax') ?? 100
  const question = fc.constantFrom(5, questionMost, questionMost + 1).map((length) => `${'q'.repeat(length - 1)}?`)
  const [least, most] = [numberOf(limits, 'poll.minMinutes') ?? 1, numberOf(limits, 'poll.maxMinutes') ?? 1_440]
  const named = (listOf(limits, 'poll.durations') ?? []).map(Number)
  const minutes = fc.oneof(around(least, most), fc.constantFrom(60, 1_440, ...named))
  return fc.record(
    {
      options: answers,
      durationMinutes: minutes,
      ...(fields['question'] !== undefined && { question }),
      ...(fields['multiple'] !== undefined && { multiple: fc.boolean() }),
    },
    { requiredKeys: ['options', ...(fields['question'] === undefined ? [] : ['question' as never])] },
  )
}

/** Mostly within two limits, which the engine and the platform both know. */
function around(least: number, most: number): fc.Arbitrary<number> {
  return fc.constantFrom(...new Set([least - 1, least, least + 1, most - 1, most, most + 1].filter((one) => one > 0)))
}
