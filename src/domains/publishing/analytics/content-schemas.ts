import { pageFields } from '../../../core/page.ts'
import { Id, Input, named, Nullable, OneOf, Timestamp, Type, type Static } from '../../../core/schema.ts'
import { Several } from '../../../core/several.ts'
import { PlatformKey } from '../../social/accounts/index.ts'
import { CONTENT_FIGURES } from './figures.ts'
import {
  accountFields,
  accountsField,
  count,
  intervalField,
  MaybeGap,
  Point,
  spanFields,
  SpanView,
  value,
  Zone,
} from './schemas.ts'

export const SORTS = ['publishedAt', 'engagements', ...CONTENT_FIGURES] as const
export const ContentQuery = Input({
  workspaceId: Id,
  ...accountsField,
  ...spanFields,
  platform: Several(PlatformKey),
  origin: Several(OneOf(['crier', 'elsewhere'] as const), { description: 'Where it was published from' }),
  sort: Type.Optional(
    OneOf(SORTS, {
      default: 'publishedAt',
      description:
        'What is highest or newest comes first. Posts without the figure come last. `publishedAt` by default',
    }),
  ),
  ...pageFields,
})
export type ContentFilter = Static<typeof ContentQuery>
export const ContentPath = Input({ id: Id })
export const PostPath = Input({ postId: Id })

export const ContentSeriesQuery = Input({
  figure: Type.Optional(
    OneOf(CONTENT_FIGURES, {
      description: 'The figure. By default the first of `views`, `likes` and `comments` that the platform reports',
    }),
  ),
  ...spanFields,
  ...intervalField,
})
export type ContentSeriesFilter = Static<typeof ContentSeriesQuery>

const ContentFigure = Type.Object({
  figure: OneOf(CONTENT_FIGURES),
  value: value('What the platform last reported'),
  gap: MaybeGap,
})

export const ContentRecord = named(
  'ContentRecord',
  Type.Object({
    _id: Id,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    ...accountFields,
    origin: OneOf(['crier', 'elsewhere'] as const, {
      description: '`elsewhere`: it was published without Crier, and imported from the list of the platform',
    }),
    postId: Nullable(Type.String({ ...Id, description: 'Null if it was published elsewhere' })),
    targetId: Nullable(
      Type.String({ ...Id, description: 'The post at this account. Null if it was published elsewhere' }),
    ),
    text: Type.String({ description: 'The beginning of the text, or the title. At most 500 characters' }),
    url: Nullable(Type.String()),
    publishedAt: Timestamp,
    figures: Type.Array(ContentFigure),
    engagements: value('The sum of `likes`, `comments`, `shares` and `saves` that are reported. Null if none is'),
    engagementRateByReach: value('`engagements` / `reach`. Null if one of them is missing or `reach` is 0'),
    collectedAt: Nullable(Type.String({ format: 'date-time', description: 'When the platform last reported it' })),
    nextCollectionAt: Nullable(
      Type.String({
        format: 'date-time',
        description:
          'When it is asked for next: hourly on the first day, then ever more rarely. Null after a year, and if it is gone',
      }),
    ),
    goneReason: Nullable(
      Type.String({ description: 'Why the platform does not report it any more. Null while it does' }),
    ),
  }),
)
export type ContentRecordData = Static<typeof ContentRecord>

export const ContentSeries = named(
  'ContentSeries',
  Type.Object({
    contentId: Id,
    timezone: Zone,
    figure: OneOf(CONTENT_FIGURES),
    interval: Type.String(),
    span: SpanView,
    points: Type.Array(Point),
    halfLifeHours: value(
      'How fast the interest decays: hours from the publication to the first report of at least half of the newest value, over the whole time. Null without a report, if the newest value is 0, or if the first reports are no longer kept',
    ),
    halfLifeGap: MaybeGap,
  }),
)

export const PostAcross = named(
  'PostAcrossPlatforms',
  Type.Object({
    postId: Id,
    targets: Type.Array(
      Type.Object({
        targetId: Id,
        accountId: Id,
        platform: PlatformKey,
        status: Type.String({ description: 'The status of the target' }),
        contentRecord: Nullable(ContentRecord),
        gap: MaybeGap,
      }),
    ),
    totals: Type.Array(
      Type.Object({
        figure: OneOf(CONTENT_FIGURES),
        value: value('The sum over the targets that report it. Null if none does'),
        targetCount: count('How many targets report it'),
      }),
    ),
  }),
)
