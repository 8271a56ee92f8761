import { States, Type, named, type Static } from '../../../../core/schema.ts'

const LocalTime = (description: string) =>
  Type.String({ description, pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$` })

/** Why a post goes out at another local time than the one that was asked for. */
export const TimeAdjustmentKind = States('TimeAdjustmentKind', 'Why the time of a post was adjusted', {
  gap: 'The local time does not exist, because clocks go forward. The post goes out later by the length of the gap',
  overlap: 'The local time occurs twice, because clocks go back. The post goes out at the first of the two',
  short_month: 'The month has no such day. The post goes out on the last day of the month',
})

/**
 * The rule for local times that do not exist or exist twice. It applies to scheduled times, recurrences and queue slots
 * alike, and every reply with such a time has the adjustment:
 *
 * - A local time that does not exist (`gap`) is moved forward by the length of the gap: 02:30 becomes 03:30.
 * - A local time that occurs twice (`overlap`) is the first of the two, with the larger offset from UTC.
 * - A day that a month does not have (`short_month`) becomes the last day of the month.
 */
export const TimeAdjustment = named(
  'TimeAdjustment',
  Type.Object(
    {
      kind: TimeAdjustmentKind,
      requestedTime: LocalTime('The local time that was asked for, such as 2026-03-29T02:30:00. It may not exist'),
      usedTime: LocalTime('The local time at which the post goes out, such as 2026-03-29T03:30:00'),
      message: Type.String({ description: 'What was adjusted, and why' }),
    },
    { description: 'How a local time that does not exist, or occurs twice, was adjusted' },
  ),
)

export type TimeAdjustment = Static<typeof TimeAdjustment>
