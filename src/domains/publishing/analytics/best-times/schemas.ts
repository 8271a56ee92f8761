import { Id, Input, named, Nullable, OneOf, States, Timestamp, Type, type Static } from '../../../../core/schema.ts'
import { Several } from '../../../../core/several.ts'
import { TimeZone } from '../../../../core/time-zone.ts'
import { PlatformKey } from '../../../social/accounts/index.ts'
import { CONTENT_FIGURES } from '../figures.ts'
import { accountsField, MaybeGap } from '../schemas.ts'

const FIGURE = ['engagements', ...CONTENT_FIGURES] as const

export const BestTimesQuery = Input({
  workspaceId: Id,
  ...accountsField,
  platform: Several(PlatformKey),
  figure: Type.Optional(
    OneOf(FIGURE, { default: 'engagements', description: 'What makes a post successful. `engagements` by default' }),
  ),
  timezone: Type.Optional({
    ...TimeZone,
    description: 'The zone of the hours. By default that of `timezoneOf`',
  }),
  timezoneOf: Type.Optional(
    OneOf(['workspace', 'audience'] as const, {
      default: 'workspace',
      description:
        '`audience`: the zone of the country that most followers live in, where platforms report it. `workspace` by default',
    }),
  ),
  days: Type.Optional(
    Type.Integer({ minimum: 28, maximum: 365, default: 180, description: 'How far to look back. 180 by default' }),
  ),
})
export type BestTimesFilter = Static<typeof BestTimesQuery>

const Cell = Type.Object({
  weekday: OneOf(['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const),
  hour: Type.Integer({ minimum: 0, maximum: 23, description: 'The hour that begins then' }),
  postCount: Type.Integer({ description: 'Posts that were published in the hour' }),
  weight: Type.Number({ description: 'Posts that the score rests on. Those of the hours beside count half' }),
  score: Nullable(
    Type.Number({
      description:
        'How much better posts of the hour do than the mean of their account: 1.5 is 50 % more. Shrunk towards 1: exp(sum / (weight + noise / spread)), with sums of logarithms, and the variances of posts and of hours. Null without posts',
    }),
  ),
  low: Nullable(
    Type.Number({
      description:
        'The lower end of the interval that has the true value with 90 %. It lies around the mean of the posts, before it is shrunk',
    }),
  ),
  high: Nullable(Type.Number({ description: 'Its upper end' })),
})

export const BestTimesView = named(
  'BestTimes',
  Type.Object({
    status: States('BestTimesStatus', 'Whether the posts show better times', {
      found: 'There are better times. `best` lists them',
      too_few_posts: 'Not enough: fewer posts than `neededCount`',
      no_difference: 'Not enough: the hours differ no more than by chance',
    }),
    timezone: Type.String({ description: 'The zone of the hours' }),
    /** Why the hours are those of the workspace although those of the audience were asked for. */
    timezoneGap: MaybeGap,
    figure: OneOf(FIGURE),
    publishedFrom: Timestamp,
    publishedUntil: Type.String({
      format: 'date-time',
      description: 'Two days ago. Younger posts have not had most of their engagements',
    }),
    postCount: Type.Integer({ description: 'Posts with the figure in this time, at most the 2,000 newest' }),
    neededCount: Type.Integer({ description: 'How many posts are needed' }),
    best: Type.Array(Cell, {
      description:
        'Up to five hours, the best first. Each is better than the best hour of 99 % of the weeks in which the same posts are shuffled. Empty unless `status` is `found`',
    }),
    cells: Type.Array(Cell, { description: 'All 168 hours, from Monday 0 o’clock on' }),
  }),
)
export type BestTimesData = Static<typeof BestTimesView>
