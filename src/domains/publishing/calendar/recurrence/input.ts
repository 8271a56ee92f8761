import { Id, Input, Nullable, Text, Type, type Static } from '../../../../core/schema.ts'
import { MAX_EXCEPTIONS } from './recurrence.ts'

/** The schema of `recurrence`, which also describes new posts. It imports nothing of posts, because their schemas import it. */

const MAX_VARIATIONS = 50

export const Rrule = Text(6, 1_000, {
  description:
    'RRULE of RFC 5545 with FREQ=DAILY, WEEKLY, MONTHLY or YEARLY, without DTSTART. A day that a month does not have is its last day, and a missing hour moves forward',
  examples: ['FREQ=MONTHLY;BYDAY=-1FR'],
})
const LocalTime = (description: string) => Text(10, 19, { description, examples: ['2026-12-25T09:00'] })
export const Exdates = Type.Array(LocalTime('A date, or a local time'), {
  maxItems: MAX_EXCEPTIONS,
  description: 'Dates and local times that are left out. They count for COUNT',
})
export const Rdates = Type.Array(LocalTime('A local time'), {
  maxItems: MAX_EXCEPTIONS,
  description: 'Local times that are added. They do not count for COUNT',
})

/** @param content the fields of a post’s content */
export function variationsInput<V extends ReturnType<typeof Input>>(variation: V) {
  return Type.Array(variation, {
    maxItems: MAX_VARIATIONS,
    description:
      'Contents that take turns with that of the post. Fields that are absent are those of the post. Platforms that refuse to repeat a text require them',
  })
}

export const SeriesPath = Input({ seriesId: Id })
export const OccurrenceKey = Text(16, 19, {
  description: 'An occurrence: its local time by the rule, such as `2026-12-25T09:00:00`',
  pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$`,
})
export type SeriesPathData = Static<typeof SeriesPath>
export const MaybeOccurrence = Nullable(
  Type.String({ description: 'The occurrence of `seriesId`: its local time by the rule' }),
)
