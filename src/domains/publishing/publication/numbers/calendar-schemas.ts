import { Id, Input, named, Nullable, Text, Timestamp, Type, type Static } from '../../../../core/schema.ts'
import { Several, SeveralTexts } from '../../../../core/several.ts'
import { TimeZone } from '../../../../core/time-zone.ts'
import { PlatformKey } from '../../../social/accounts/index.ts'
import { TargetStatusSchema } from '../../posts/index.ts'

/** The longest span of a calendar, in days. Two months fit. */
export const MAX_CALENDAR_DAYS = 62
export const MAX_CALENDAR_ENTRIES = 500

const Day = (description: string) => Type.String({ format: 'date', maxLength: 10, description })

export const CalendarQuery = Input({
  workspaceId: Id,
  from: Day('The first day, such as 2026-12-01'),
  to: Day(`The last day. At most ${MAX_CALENDAR_DAYS} days in all`),
  timezone: Type.Optional(
    Type.String({ ...TimeZone, description: 'The IANA time zone of the days. That of the workspace by default' }),
  ),
  accountId: Several(Id),
  label: SeveralTexts(Text(1, 50)),
  status: Several(TargetStatusSchema),
  authorId: Several(Id),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_CALENDAR_ENTRIES,
      default: MAX_CALENDAR_ENTRIES,
      description: `Entries per page. ${MAX_CALENDAR_ENTRIES} by default, which is also the maximum`,
    }),
  ),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: '`nextCursor` of the previous page' })),
})

const CalendarEntry = Type.Object({
  postId: Id,
  scheduledFor: Timestamp,
  localTime: Type.String({ description: 'The same time in the zone of the calendar, without an offset' }),
  timezone: Nullable(
    Type.String({ description: 'The zone in which the post was planned, if it is not that of the calendar' }),
  ),
  text: Type.String({ description: 'The first 80 characters' }),
  accountIds: Type.Array(Id, { description: 'The accounts at which the post goes out at this time' }),
  platforms: Type.Array(PlatformKey, { description: 'The platforms of these accounts, each once' }),
  status: TargetStatusSchema,
  approvalStatus: Nullable(
    Type.String({ description: '`approval.status` of the post; null if it was never submitted' }),
  ),
  authorId: Type.String({ ...Id, description: 'Who created the post' }),
  thumbnailAssetId: Nullable(Type.String({ ...Id, description: 'The first file of the post, if it has one' })),
})

export const CalendarView = named(
  'PostCalendar',
  Type.Object({
    timezone: Type.String({ description: 'The zone of the days and of `localTime`' }),
    from: Timestamp,
    to: Timestamp,
    byDay: Type.Array(
      Type.Object({
        day: Type.String({ format: 'date' }),
        startsAt: Timestamp,
        count: Type.Integer({ description: 'Entries of this day that match the filters, on all pages' }),
        freeSlots: Type.Array(Timestamp, {
          description: 'The slots of the queue that no post uses, without past ones',
        }),
        accounts: Type.Array(
          Type.Object({
            accountId: Id,
            postCount: Type.Integer({ description: 'Posts of this day that count for the budgets of the account' }),
          }),
          { description: 'How much of its budget each account uses on this day. Only accounts with posts' },
        ),
      }),
      { description: 'Each day of the span, also those without entries' },
    ),
    entries: Type.Array(CalendarEntry, { description: 'By time, soonest first' }),
    hasMore: Type.Boolean(),
    nextCursor: Nullable(Type.String()),
  }),
)
export type CalendarData = Static<typeof CalendarView>
export type CalendarAsked = Static<typeof CalendarQuery>
