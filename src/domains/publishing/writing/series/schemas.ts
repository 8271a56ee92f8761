import { pageFields } from '../../../../core/page.ts'
import {
  Id,
  Input,
  named,
  Nullable,
  ResourceBase,
  States,
  Timestamp,
  Type,
  type Static,
} from '../../../../core/schema.ts'
import { Several } from '../../../../core/several.ts'
import { PlatformKey } from '../../../social/accounts/index.ts'
import { TimeAdjustment, OccurrenceKey } from '../../calendar/index.ts'
import {
  MediaView,
  postContentFields,
  ReasonView,
  RecurrenceInput,
  ScheduledFor,
  ThreadPart,
  TimeZone,
  Variations,
  TargetStatusSchema,
} from '../../posts/index.ts'

export type VariationInput = Static<typeof Variations>[number]

export const SeriesStatusSchema = States('PostSeriesStatus', 'Whether posts of a series are made', {
  active: 'Posts are made up to 30 days ahead',
  paused: 'No more posts are made until somebody resumes the series. `statusReason` says why',
  ended: 'No more posts are made',
})

const content = {
  content: Type.Optional(Type.String({ description: 'The text' })),
  title: Type.Optional(Nullable(Type.String({ description: 'For platforms that have titles' }))),
  link: Type.Optional(Nullable(Type.String({ description: 'A link beside the text' }))),
  media: Type.Optional(MediaView),
  thread: Type.Optional(Type.Array(ThreadPart, { description: 'The parts that follow the first one' })),
  firstComment: Type.Optional(Nullable(Type.String({ description: 'Published as a comment below the post' }))),
  tags: Type.Optional(Type.Array(Type.String(), { description: 'For platforms that have tags beside the text' })),
}

const OccurrenceTime = {
  occurrence: Type.String({ description: 'Identifies it within the series: its local time by the rule' }),
  scheduledFor: Timestamp,
  localTime: Type.String({ description: 'The clock time of `scheduledFor` in `timezone`' }),
  timezone: Type.String(),
  timeAdjustment: Nullable(TimeAdjustment),
}

/** The next occurrence of a rule. */
export const PlainOccurrence = named('RecurrenceOccurrence', Type.Object(OccurrenceTime))
export type PlainOccurrenceData = Static<typeof PlainOccurrence>

const SeriesOccurrence = named(
  'PostSeriesOccurrence',
  Type.Object({
    ...OccurrenceTime,
    postId: Nullable(Type.String({ ...Id, description: 'Its post. Null until it is made' })),
    status: Nullable(TargetStatusSchema),
    isEdited: Type.Boolean({
      description: 'Its post was changed by itself. Changes of the series leave it alone',
    }),
  }),
)

const seriesFields = {
  ...ResourceBase,
  workspaceId: Id,
  version: Type.Integer({ description: 'Raised with each change' }),
  status: SeriesStatusSchema,
  statusReason: Type.Union([ReasonView, Type.Null()], {
    description: 'Why it is paused, or which posts were not made. Null if all is well',
  }),
  recurrence: Type.Object(
    { rrule: Type.String(), exdates: Type.Array(Type.String()), rdates: Type.Array(Type.String()) },
    { description: 'The rule, the dates that are left out, and those that are added' },
  ),
  localTime: Type.String({ description: 'The local time from which the rule counts, in `timezone`' }),
  timezone: Type.String({ description: 'IANA time zone' }),
  startsFrom: Nullable(Type.String({ description: 'The first occurrence, if the series continues another one' })),
  endsBefore: Nullable(Type.String({ description: 'The first occurrence of the rule that is not made any more' })),
  ...content,
  content: Type.String({ description: 'The text' }),
  labels: Type.Array(Type.String(), { description: 'To find posts again' }),
  lateMinutes: Type.Integer({ description: 'How late a post can still be published, in minutes' }),
  targets: Type.Array(
    Type.Object({
      accountId: Id,
      platform: PlatformKey,
      override: Nullable(
        Type.Record(Type.String(), Type.Unknown(), { description: 'What this account publishes differently' }),
      ),
    }),
    { description: 'The accounts' },
  ),
  variations: Type.Array(Type.Object(content), { description: 'Contents that take turns with that of the series' }),
  postCount: Type.Integer({ description: 'Occurrences until now, with those that are made ahead' }),
  missedCount: Type.Integer({ description: 'Occurrences that have passed without a post' }),
  createdBy: Type.String({ ...Id, description: 'Who created it' }),
  authorId: Type.String({ ...Id, description: 'The author of its posts' }),
  endedAt: Nullable(Timestamp),
}

export const SeriesSummary = named('PostSeriesSummary', Type.Object(seriesFields))
export type SeriesSummaryData = Static<typeof SeriesSummary>

export const SeriesView = named(
  'PostSeries',
  Type.Object({
    ...seriesFields,
    upcoming: Type.Array(SeriesOccurrence, { description: 'The next occurrences, with the posts that are made' }),
  }),
)
export type SeriesData = Static<typeof SeriesView>

export const SeriesListQuery = Input({
  workspaceId: Id,
  status: Several(SeriesStatusSchema),
  ...pageFields,
})

const { rrule, exdates, rdates } = RecurrenceInput.properties
const Rule = Input(
  { rrule, exdates, rdates },
  { description: 'Replaces the rule. It counts from the first occurrence that changes' },
)
const From = Type.Optional(OccurrenceKey)

export const SeriesChange = Input(
  {
    ...postContentFields,
    from: From,
    recurrence: Type.Optional(Rule),
    variations: Type.Optional(Variations),
    scheduledFor: Type.Optional(ScheduledFor),
    timezone: Type.Optional(TimeZone),
  },
  {
    description:
      'Changes the occurrences that are still to come: all, or with `from` that one and those after it. `scheduledFor` is the new time of the first of them; on another day it needs `recurrence`',
  },
)
export type SeriesChangeInput = Static<typeof SeriesChange>

export const SeriesEnd = Input({
  from: From,
  keepPosts: Type.Optional(Type.Boolean({ description: 'Keeps the posts that are made already' })),
})
export type SeriesEndInput = Static<typeof SeriesEnd>

export const OccurrencePath = Input({ seriesId: Id, occurrence: OccurrenceKey })

export const RecurrencePreview = Input({
  workspaceId: Id,
  recurrence: Rule,
  scheduledFor: ScheduledFor,
  timezone: Type.Optional(TimeZone),
  count: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'How many. 20 by default' })),
})
export type RecurrencePreviewInput = Static<typeof RecurrencePreview>

export const PreviewedOccurrences = Type.Object({
  occurrences: Type.Array(PlainOccurrence),
  ended: Nullable(
    States('RecurrenceEnd', 'Why a recurrence has no more occurrences', {
      count: 'COUNT is reached',
      until: 'UNTIL is reached',
      horizon: 'There is none before the end of 2100, or it is too rare to be found',
    }),
  ),
})
