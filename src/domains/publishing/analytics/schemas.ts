import { Id, Input, named, Nullable, OneOf, States, Timestamp, Type, type Static } from '../../../core/schema.ts'
import { WEEK_STARTS } from '../../identity/users/index.ts'
import { PlatformKey } from '../../social/accounts/index.ts'
import { FIGURES, GapCodeSchema } from './figures.ts'
import { REPORT_LANGUAGES } from './report/language.ts'

const DateText = (description: string) => Type.String({ format: 'date', maxLength: 10, description })
export const count = (description: string) => Type.Integer({ description })
export const value = (description: string) => Nullable(Type.Number({ description }))

export const FigureNameSchema = OneOf(FIGURES, {
  description:
    '`followers`, `following` and `contentCount` are figures of the account, as the platform counts them. The others are figures of posts since their publication. `watchSeconds` is the time for which a video was watched',
})

export const Gap = Type.Object({
  code: GapCodeSchema,
  message: Type.String({ description: 'The reason, for people' }),
})
export type GapView = Static<typeof Gap>
export const MaybeGap = Nullable(Gap)

export const spanFields = {
  from: Type.Optional(DateText('The first day, in the zone of the workspace. 30 days by default')),
  to: Type.Optional(DateText('The last day, included. Today by default')),
}
export const accountsField = {
  accountIds: Type.Optional(
    Type.Array(Id, { minItems: 1, maxItems: 100, description: 'Only these accounts. All of the workspace by default' }),
  ),
}
export const intervalField = {
  interval: Type.Optional(
    OneOf(['day', 'week', 'month'] as const, {
      default: 'day',
      description: 'Days, weeks or months. The first and the last one are cut where the span begins and ends',
    }),
  ),
  calendarStartDay: Type.Optional(
    OneOf(WEEK_STARTS, {
      description: 'The first day of weeks. By default `calendarStartDay` of your settings, which is Monday if not set',
    }),
  ),
}

export const StatsQuery = Input({
  workspaceId: Id,
  ...accountsField,
  ...spanFields,
  compare: Type.Optional(
    Type.Boolean({ description: 'Also the span of as many days directly before. False by default' }),
  ),
})
export type StatsFilter = Static<typeof StatsQuery>

export const SeriesQuery = Input({
  workspaceId: Id,
  figure: Type.Optional(OneOf(FIGURES, { default: 'followers', description: 'The figure. `followers` by default' })),
  ...accountsField,
  ...spanFields,
  ...intervalField,
})
export type SeriesFilter = Static<typeof SeriesQuery>

export const FollowersQuery = Input({ workspaceId: Id, ...accountsField, ...spanFields, ...intervalField })
export type FollowersFilter = Static<typeof FollowersQuery>

const reportFilter = { workspaceId: Id, ...accountsField, ...spanFields }
export type ReportFilter = Omit<ReportRequest, 'language'>

/** A language of reports. @param description a sentence on what it is the language of */
export const ReportLanguage = (description: string) =>
  OneOf(REPORT_LANGUAGES, { description: `\`en\` for English, or \`de\` for German. ${description}` })

export const ReportQuery = Input({
  ...reportFilter,
  language: Type.Optional(
    ReportLanguage('By default the one that Accept-Language prefers, or else the language of your settings'),
  ),
})
export type ReportRequest = Static<typeof ReportQuery>

export const AudienceQuery = Input({ workspaceId: Id, ...accountsField })
export const ReportDataQuery = Input({ workspaceId: Id })

export const SpanView = Type.Object(
  {
    from: DateText('The first day'),
    to: DateText('The last day'),
    startsAt: Timestamp,
    endsAt: Timestamp,
    dayCount: count('How many days'),
  },
  { description: 'Whole days of the zone. They have 23 or 25 hours when clocks change' },
)
export const Zone = Type.String({ description: 'The zone of the workspace, by which days are counted' })

export const accountFields = {
  accountId: Id,
  platform: PlatformKey,
  accountName: Type.String({ description: 'The name of the account' }),
}

const StatFigure = named(
  'AnalyticsFigure',
  Type.Object({
    figure: FigureNameSchema,
    value: value(
      'Of figures of the account: what the platform last reported in the span. Of figures of posts: what all posts gained in the span, which can be negative when the platform corrects them. A gain is counted on the day of the report. What a post had before it was first read is not counted, unless it was published after the account was first read. Null if there is no report',
    ),
    change: value(
      'Of figures of the account: `value` minus the last report before the span, or minus the first one in the span if there is none before. Null for figures of posts, and without a report',
    ),
    changeRate: value('`change` / (`value` − `change`), so 0.05 is a growth of 5 %. Null if the divisor is 0'),
    previousValue: value('The same as `value` for the span before, with `compare`'),
    comparison: value(
      '(`value` − `previousValue`) / `previousValue`: both spans have as many days. Null without `compare`, if a value is missing, or if `previousValue` is 0',
    ),
    gap: MaybeGap,
  }),
)
export type StatFigureData = Static<typeof StatFigure>

export const RATES = ['engagementRateByFollowers', 'engagementRateByReach'] as const
const StatRate = Type.Object({
  rate: OneOf(RATES, {
    description:
      '`engagementRateByFollowers`: `engagements` / the followers that were last reported in the span. `engagementRateByReach`: `engagements` / what the posts gained of `reach`',
  }),
  value: value('A share, so 0.05 is 5 %. Null if one of the two is missing or the divisor is 0'),
  previousValue: value('The same for the span before, with `compare`'),
})

const AccountStats = Type.Object({
  ...accountFields,
  collectedAt: Nullable(Type.String({ format: 'date-time', description: 'When the platform last replied' })),
  figures: Type.Array(StatFigure),
  engagements: value(
    'The sum of what the posts gained of `likes`, `comments`, `shares` and `saves`, of those that the platform reports. Null if it reports none',
  ),
  rates: Type.Array(StatRate),
  publishedCount: count('Posts that were published in the span, by Crier or elsewhere, that are known'),
})

export const PlatformStats = named(
  'PlatformStats',
  Type.Object({
    timezone: Zone,
    span: SpanView,
    previousSpan: Nullable(SpanView),
    accounts: Type.Array(AccountStats),
    totals: Type.Array(
      Type.Object({
        figure: FigureNameSchema,
        value: value('The sum over the accounts that have a value. Null if none has'),
        previousValue: value('The same for the span before, with `compare`'),
        accountCount: count('How many accounts have a value'),
      }),
    ),
  }),
)
export type PlatformStatsData = Static<typeof PlatformStats>

export const Point = Type.Object({
  from: DateText('The first day'),
  to: DateText('The last day'),
  value: value(
    'The last report of the time. Null without one, never 0 instead. Of several accounts or posts, see `gained`',
  ),
  gained: value(
    'The difference to the last earlier report, which may be from before the time. Negative when the platform corrects a figure. Null without a report, or without an earlier one',
  ),
  gap: MaybeGap,
})
export type PointData = Static<typeof Point>

export const PlatformSeries = named(
  'PlatformSeries',
  Type.Object({
    timezone: Zone,
    figure: FigureNameSchema,
    interval: Type.String(),
    span: SpanView,
    accounts: Type.Array(
      Type.Object({
        ...accountFields,
        points: Type.Array(Point, {
          description:
            'Each day, week or month. For figures of posts, `value` is null and `gained` is the sum of all posts',
        }),
      }),
    ),
  }),
)

export const FollowerTrend = named(
  'FollowerTrend',
  Type.Object({
    timezone: Zone,
    interval: Type.String(),
    span: SpanView,
    accounts: Type.Array(
      Type.Object({
        ...accountFields,
        value: value('The last report in the span'),
        change: value('`value` minus the last report before the span, or minus the first one in it'),
        changeRate: value(
          '`change` / (`value` − `change`), so 0.05 is a growth of 5 %. Null if the divisor is 0 or one is missing',
        ),
        points: Type.Array(Point),
        gap: MaybeGap,
      }),
    ),
    combined: Type.Array(
      Type.Object({
        from: DateText('The first day'),
        to: DateText('The last day'),
        value: value('The sum of all accounts that report followers. Null if one of them has no report at this time'),
      }),
    ),
  }),
)

export const Audience = named(
  'AccountAudience',
  Type.Object({
    accounts: Type.Array(
      Type.Object({
        ...accountFields,
        dimensions: Type.Array(
          Type.Object({
            dimension: OneOf(['age', 'gender', 'country', 'city'] as const),
            at: Nullable(Type.String({ format: 'date-time', description: 'When the platform reported it' })),
            groups: Type.Array(
              Type.Object({
                group: Type.String({ description: 'In the platform’s terms, such as `25-34` or an ISO 3166 code' }),
                count: Type.Integer({ description: 'Followers in the group' }),
                share: Type.Number({ description: '`count` / the sum of all groups of the dimension' }),
              }),
            ),
            gap: MaybeGap,
          }),
        ),
      }),
    ),
  }),
)

const Retention = Type.Object(
  {
    days: count('For how many days each report of a platform is kept'),
    nextDays: Nullable(
      Type.Integer({ description: 'For how many from `shortensAt` on, after a change to a smaller plan' }),
    ),
    shortensAt: Nullable(
      Type.String({
        format: 'date-time',
        description: 'Nothing is deleted before, 30 days after the change of the plan',
      }),
    ),
  },
  {
    description:
      'How long single reports are kept: `analyticsDays` of the plan. The figures of days, weeks and months that were made of them stay',
  },
)

const Example = Type.String({ description: 'The path and query of a request that returns it, without `workspaceId`' })

export const ReportData = named(
  'ReportData',
  Type.Object({
    timezone: Zone,
    retention: Retention,
    figures: Type.Array(
      Type.Object({
        figure: FigureNameSchema,
        of: OneOf(['account', 'content'] as const, { description: 'What it is a figure of' }),
        title: Type.String({ description: 'For people' }),
        unit: OneOf(['count', 'seconds'] as const),
        description: Type.String({ description: 'What it counts' }),
        example: Example,
      }),
    ),
    derived: Type.Array(
      Type.Object({
        name: Type.String({ description: 'The field of the reply' }),
        title: Type.String({ description: 'For people' }),
        formula: Type.String({ description: 'In terms of the figures' }),
        source: Type.String({ description: 'The operation that returns it. Its schema says when it is null' }),
        example: Example,
      }),
    ),
    dimensions: Type.Array(Type.Object({ name: Type.String(), description: Type.String(), example: Example })),
    accounts: Type.Array(
      Type.Object({
        ...accountFields,
        startedAt: Nullable(Type.String({ format: 'date-time', description: 'When the platform first replied' })),
        collectedAt: Nullable(Type.String({ format: 'date-time', description: 'When the platform last replied' })),
        nextCollectionAt: Nullable(Type.String({ format: 'date-time' })),
        keptSince: Nullable(
          Type.String({
            format: 'date-time',
            description: 'Of the time before, only days, weeks and months are kept. Null if all reports are',
          }),
        ),
        importsContent: Type.Boolean({ description: 'Whether posts that were published elsewhere are imported' }),
        importGap: MaybeGap,
        figures: Type.Array(
          Type.Object({
            figure: FigureNameSchema,
            available: Type.Boolean({ description: 'Whether the platform reports it' }),
            since: Nullable(
              Type.String({
                format: 'date-time',
                description:
                  'When the platform first reported it: `startedAt`, or the beginning of a later day. Null before it',
              }),
            ),
            gap: MaybeGap,
          }),
        ),
        gap: Nullable(
          Type.Object(
            { code: GapCodeSchema, message: Type.String(), startedAt: Timestamp },
            { description: 'Why the account cannot be read at the moment. Null if it can' },
          ),
        ),
      }),
    ),
  }),
)

export const SyncBody = Input({
  workspaceId: Id,
  accountIds: Type.Optional(
    Type.Array(Id, { minItems: 1, maxItems: 100, description: 'All accounts of the workspace by default' }),
  ),
})
export type SyncInput = Static<typeof SyncBody>

export const SyncStatus = States('AnalyticsSyncStatus', 'What came of the request to read an account', {
  queued: 'The platform is asked now',
  waiting: 'An earlier request for it has not ended yet',
  fresh: 'The platform was asked less than five minutes ago. `availableAt` says when it can be asked again',
  not_connected: 'The account cannot be used. Connect it again',
  not_reported: 'The platform gives no figures to other programs',
})

export const SyncResult = named(
  'AnalyticsSync',
  Type.Object({
    accounts: Type.Array(
      Type.Object({
        ...accountFields,
        status: SyncStatus,
        collectedAt: Nullable(Type.String({ format: 'date-time', description: 'When the platform last replied' })),
        availableAt: Nullable(Type.String({ format: 'date-time', description: 'When it can be asked again' })),
      }),
    ),
  }),
)
export type SyncResultData = Static<typeof SyncResult>
