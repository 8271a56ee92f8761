import { defineEntity, p } from '@mikro-orm/postgresql'
import { keyReferences, references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import type { RemotePost } from '../../../platforms/publishing.ts'
import { SocialAccount } from '../../social/accounts/index.ts'
import { Workspace } from '../../workspace/workspaces/index.ts'
import type { ContentOrigin, FigureName, GapCode } from './figures.ts'

const inWorkspace = (name: string) => references(Workspace, { name, onDelete: 'cascade' })
const ofAccount = (name: string) => references(SocialAccount, { name, onDelete: 'cascade' })
const figure = () => p.double().$type<number>().nullable()

/** What is known of the collection of an account. */
export const AnalyticsAccount = defineEntity({
  name: 'AnalyticsAccount',
  tableName: 'analytics_accounts',
  indexes: [
    { name: 'analytics_accounts_due', properties: ['nextAt'] },
    { name: 'analytics_accounts_by_workspace', properties: ['workspaceId'] },
  ],
  properties: {
    accountId: keyReferences(SocialAccount, { name: 'analytics_accounts_account_id_fkey', onDelete: 'cascade' }),
    workspaceId: inWorkspace('analytics_accounts_workspace_id_fkey'),
    platform: p.text(),
    /** The zone of the days that its samples are rolled up to. */
    zone: p.text(),
    /** When the first sample was taken. Null before. */
    startedAt: timestamp().nullable(),
    /** When the platform last replied. */
    collectedAt: timestamp().nullable(),
    /** When a user asked for fresh figures. Null when the reading has ended. */
    askedAt: timestamp().nullable(),
    nextAt: timestamp(),
    failureCount: p.integer().default(0),
    /** Where the import of older content continues. Null if it has not begun, or has ended. */
    importCursor: p.text().nullable(),
    importedAt: timestamp().nullable(),
    /** Samples from before are no longer kept: the start of a day. Null while all are. */
    keptSince: timestamp().nullable(),
    updatedAt: timestamp(),
  },
})

export const analyticsAccounts = table(AnalyticsAccount)
export type AnalyticsAccountRow = Row<typeof AnalyticsAccount>

/** For how many days a workspace keeps samples. A smaller plan shortens it after a grace period. */
export const AnalyticsRetention = defineEntity({
  name: 'AnalyticsRetention',
  tableName: 'analytics_retention',
  properties: {
    workspaceId: keyReferences(Workspace, { name: 'analytics_retention_workspace_id_fkey', onDelete: 'cascade' }),
    days: p.integer(),
    /** What a smaller plan allows, from `shortensAt` on. */
    nextDays: p.integer().nullable(),
    shortensAt: timestamp().nullable(),
  },
})

export const analyticsRetention = table(AnalyticsRetention)
export type RetentionRow = Row<typeof AnalyticsRetention>

/** A time in which an account could not be asked. */
export const AnalyticsGap = defineEntity({
  name: 'AnalyticsGap',
  tableName: 'analytics_gaps',
  indexes: [{ name: 'analytics_gaps_by_account', properties: ['accountId', 'startedAt'] }],
  properties: {
    id: p.uuid().primary(),
    accountId: ofAccount('analytics_gaps_account_id_fkey'),
    code: p.text().$type<GapCode>(),
    message: p.text(),
    startedAt: timestamp(),
    /** Null while it lasts. */
    endedAt: timestamp().nullable(),
  },
})

export const analyticsGaps = table(AnalyticsGap)
export type AnalyticsGapRow = Row<typeof AnalyticsGap>

/** A published post, as its platform reports it: of Crier, or published elsewhere. */
export const AnalyticsContent = defineEntity({
  name: 'AnalyticsContent',
  tableName: 'analytics_content',
  uniques: [{ name: 'analytics_content_remote_key', properties: ['accountId', 'remoteId'] }],
  indexes: [
    {
      name: 'analytics_content_by_time',
      expression:
        'create index analytics_content_by_time on analytics_content (workspace_id, published_at, id) where deleted_at is null',
    },
    { name: 'analytics_content_by_workspace', properties: ['workspaceId'] },
    {
      name: 'analytics_content_due',
      expression:
        'create index analytics_content_due on analytics_content (account_id, next_at) where deleted_at is null and next_at is not null',
    },
    {
      name: 'analytics_content_by_post',
      expression: 'create index analytics_content_by_post on analytics_content (post_id) where post_id is not null',
    },
    {
      name: 'analytics_content_by_picture',
      expression:
        'create index analytics_content_by_picture on analytics_content (picture_id) where picture_id is not null',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: inWorkspace('analytics_content_workspace_id_fkey'),
    accountId: ofAccount('analytics_content_account_id_fkey'),
    platform: p.text(),
    remoteId: p.text(),
    remote: p.json<RemotePost>(),
    origin: p.text().$type<ContentOrigin>(),
    /** The post and its target at this account, if Crier published it. */
    postId: p.uuid().nullable(),
    targetId: p.uuid().nullable(),
    text: p.text(),
    url: p.text().nullable(),
    /** The file of its small picture, if it was published elsewhere. */
    pictureId: p.uuid().nullable(),
    publishedAt: timestamp(),
    /** The newest figures. Null: never reported. */
    views: figure(),
    reach: figure(),
    likes: figure(),
    comments: figure(),
    shares: figure(),
    saves: figure(),
    clicks: figure(),
    watchSeconds: figure(),
    collectedAt: timestamp().nullable(),
    /** When it is asked for next. Null: no more. */
    nextAt: timestamp().nullable(),
    /** Why the platform no longer reports it. */
    goneReason: p.text().nullable(),
    /** When a user deleted the record. It stays, so that it is not imported again. */
    deletedAt: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const analyticsContent = table(AnalyticsContent)
export type AnalyticsContentRow = Row<typeof AnalyticsContent>

/** One figure of an account or of a post over time. */
export const AnalyticsSeries = defineEntity({
  name: 'AnalyticsSeries',
  tableName: 'analytics_series',
  uniques: [{ name: 'analytics_series_figure_key', properties: ['subjectId', 'figure'] }],
  indexes: [
    { name: 'analytics_series_by_account', properties: ['accountId', 'figure'] },
    {
      name: 'analytics_series_by_content',
      expression:
        'create index analytics_series_by_content on analytics_series (content_id) where content_id is not null',
    },
  ],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    accountId: ofAccount('analytics_series_account_id_fkey'),
    /** Null for a figure of the account. */
    contentId: references(AnalyticsContent, {
      name: 'analytics_series_content_id_fkey',
      onDelete: 'cascade',
    }).nullable(),
    /** The post, or the account. */
    subjectId: p.uuid(),
    figure: p.text().$type<FigureName>(),
    /** Whether it began at zero while the account was watched, so that its first value is a gain. */
    fromZero: p.boolean(),
  },
})

export const analyticsSeries = table(AnalyticsSeries)

/**
 * What a platform reported. Never updated. Partitioned by month: the partitions follow from the times of the rows
 * (`partitions.ts`), so the entity names none.
 */
export const AnalyticsSample = defineEntity({
  name: 'AnalyticsSample',
  tableName: 'analytics_samples',
  properties: {
    seriesId: keyReferences(AnalyticsSeries, { name: 'analytics_samples_series_id_fkey', onDelete: 'cascade' }),
    /** The time of the figure: the platform's own, or when the platform replied. */
    at: timestamp().primary(),
    /** When it arrived. Of several for one time the last one counts, as a correction. */
    receivedAt: timestamp().primary(),
    value: p.double().$type<number>(),
    /** What was asked: `account`, `list` or `post`. */
    source: p.text().$type<SampleSource>(),
  },
})

export const analyticsSamples = table(AnalyticsSample)
export type SampleSource = 'account' | 'list' | 'post'

/** The last value of a series on a day in the zone of its account. */
export const AnalyticsDay = defineEntity({
  name: 'AnalyticsDay',
  tableName: 'analytics_days',
  properties: {
    seriesId: keyReferences(AnalyticsSeries, { name: 'analytics_days_series_id_fkey', onDelete: 'cascade' }),
    /** Days since 1970-01-01. */
    day: p.integer().primary(),
    value: p.double().$type<number>(),
    /** The difference to the last earlier day with a value. Null if there is none. */
    gained: p.double().$type<number>().nullable(),
  },
})

export const analyticsDays = table(AnalyticsDay)

/** What the posts of an account gained on a day: the sum of `gained` of their series. */
export const AnalyticsAccountDay = defineEntity({
  name: 'AnalyticsAccountDay',
  tableName: 'analytics_account_days',
  properties: {
    accountId: keyReferences(SocialAccount, { name: 'analytics_account_days_account_id_fkey', onDelete: 'cascade' }),
    figure: p.text().primary().$type<FigureName>(),
    day: p.integer().primary(),
    gained: p.double().$type<number>(),
    /** How many posts were reported. */
    contentCount: p.integer(),
  },
})

export const analyticsAccountDays = table(AnalyticsAccountDay)

/**
 * The weeks and months of an account: the last value of each account figure, and what the account or its posts gained.
 * Posts only have days: they are read less and less often, so weeks would not save rows.
 */
export const AnalyticsAccountPeriod = defineEntity({
  name: 'AnalyticsAccountPeriod',
  tableName: 'analytics_account_periods',
  properties: {
    accountId: keyReferences(SocialAccount, { name: 'analytics_account_periods_account_id_fkey', onDelete: 'cascade' }),
    figure: p.text().primary().$type<FigureName>(),
    unit: p.text().primary().$type<'week' | 'month'>(),
    /** The first day, also if it has no report. */
    first: p.integer().primary(),
    /** Null for figures of posts. */
    value: figure(),
    /** The sum of `gained` of the days. Null if none has one. */
    gained: figure(),
  },
})

export const analyticsAccountPeriods = table(AnalyticsAccountPeriod)

/** What a platform reported of the followers of an account. Never updated. */
export const AnalyticsAudience = defineEntity({
  name: 'AnalyticsAudience',
  tableName: 'analytics_audience',
  properties: {
    accountId: keyReferences(SocialAccount, { name: 'analytics_audience_account_id_fkey', onDelete: 'cascade' }),
    dimension: p.text().primary(),
    at: timestamp().primary(),
    groups: p.json<readonly { readonly group: string; readonly count: number }[]>(),
  },
})

export const analyticsAudience = table(AnalyticsAudience)

/** How the reports of a workspace look. */
export const ReportBrandingRow = defineEntity({
  name: 'ReportBranding',
  tableName: 'report_brandings',
  properties: {
    workspaceId: keyReferences(Workspace, { name: 'report_brandings_workspace_id_fkey', onDelete: 'cascade' }),
    logoAssetId: p.uuid().nullable(),
    accentColor: p.text().nullable(),
    companyName: p.text().nullable(),
    website: p.text().nullable(),
    linkDomain: p.text().nullable(),
    footerText: p.text().nullable(),
    updatedAt: timestamp(),
  },
})

export const reportBrandings = table(ReportBrandingRow)
export type BrandingRow = Row<typeof ReportBrandingRow>

export const analyticsEntities = [
  ReportBrandingRow,
  AnalyticsAccount,
  AnalyticsRetention,
  AnalyticsGap,
  AnalyticsContent,
  AnalyticsSeries,
  AnalyticsSample,
  AnalyticsDay,
  AnalyticsAccountDay,
  AnalyticsAccountPeriod,
  AnalyticsAudience,
]
