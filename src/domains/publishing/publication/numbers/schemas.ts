import { pageFields } from '../../../../core/page.ts'
import {
  Id,
  Input,
  InstantInput,
  named,
  Nullable,
  OneOf,
  States,
  Timestamp,
  Type,
  type Static,
} from '../../../../core/schema.ts'
import { PlatformKey } from '../../../social/accounts/index.ts'
import { PostView, TargetStatusSchema } from '../../posts/index.ts'

export const UpcomingQuery = Input({
  workspaceId: Id,
  days: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 90, default: 7, description: 'How far to look ahead. 7 by default' }),
  ),
  ...pageFields,
})

export const UpcomingPost = named(
  'UpcomingPost',
  Type.Object({
    _id: Type.String({ ...Id, description: 'The id of the first of the targets' }),
    scheduledFor: Timestamp,
    targetIds: Type.Array(Id, { description: 'The targets of the post that go out at this time' }),
    post: PostView,
  }),
)
export type UpcomingPostData = Static<typeof UpcomingPost>

export const MetricsQuery = Input({
  workspaceId: Id,
  from: Type.Optional(InstantInput),
  to: Type.Optional(InstantInput),
})

const count = (description: string) => Type.Integer({ description })

export const DashboardMetrics = named(
  'PostMetrics',
  Type.Object({
    from: Timestamp,
    to: Timestamp,
    timezone: Type.String({ description: 'The zone of the workspace, by which days are counted' }),
    count: count('Targets that were or are scheduled in this time. A target is a post at one account'),
    byStatus: Type.Array(Type.Object({ status: TargetStatusSchema, count: Type.Integer() }), {
      description: 'Only states that occur',
    }),
    byPlatform: Type.Array(
      Type.Object({ platform: PlatformKey, count: Type.Integer(), publishedCount: Type.Integer() }),
      { description: 'Only platforms that occur' },
    ),
    byDay: Type.Array(
      Type.Object({
        day: Type.String({ format: 'date', description: 'The day in the zone of the workspace' }),
        startsAt: Timestamp,
        endsAt: Timestamp,
        count: Type.Integer(),
        publishedCount: Type.Integer(),
        failedCount: count('Failed, missed or published in part'),
      }),
      { description: 'Each day of the time, also those without posts. The first and the last one may be cut' },
    ),
    successRate: Nullable(
      Type.Number({
        description:
          'The share of targets that were published completely, of those that are published, partial, failed or missed. Cancelled ones, and ones that have not ended, do not count. Null if none counts',
      }),
    ),
    unscheduledCount: count('Posts without a time, whenever they were created'),
    nextUp: Type.Array(UpcomingPost, { description: 'The next five that go out' }),
  }),
)
export type MetricsData = Static<typeof DashboardMetrics>

export const FIGURES = ['views', 'reach', 'likes', 'comments', 'shares', 'saves', 'clicks', 'watchSeconds'] as const
export type Figure = (typeof FIGURES)[number]

const FigureName = OneOf(FIGURES, {
  description: 'What is counted. `watchSeconds` is the time for which a video was watched',
})

const Gap = Type.Object({
  code: States('AnalyticsGap', 'Why figures of a target are missing or old', {
    not_published: 'It is not published',
    removed: 'It was deleted at the platform',
    not_supported: 'The platform does not give figures to other programs',
    partly_reported: 'The platform does not report all figures',
    unavailable: 'The platform did not answer as expected. `message` says why',
  }),
  message: Type.String(),
})

export const PostAnalytics = named(
  'PostAnalytics',
  Type.Object({
    postId: Id,
    targets: Type.Array(
      Type.Object({
        targetId: Id,
        accountId: Id,
        platform: PlatformKey,
        status: TargetStatusSchema,
        figures: Type.Array(Type.Object({ figure: FigureName, value: Nullable(Type.Number()) }), {
          description: 'Of the first part of the post. A value is null if it is not known, never 0 instead',
        }),
        fetchedAt: Nullable(Type.String({ format: 'date-time', description: 'When the platform reported them' })),
        gap: Nullable(Gap),
      }),
    ),
    totals: Type.Array(
      Type.Object({
        figure: FigureName,
        value: Nullable(Type.Number({ description: 'The sum over the targets that report it. Null if none does' })),
        targetCount: Type.Integer({ description: 'How many targets report it' }),
      }),
    ),
  }),
)
export type PostAnalyticsData = Static<typeof PostAnalytics>
export type TargetFigures = PostAnalyticsData['targets'][number]
