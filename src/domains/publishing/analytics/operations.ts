import { NotFound, ValidationFailed } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { accepted, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { BrandingBody, BrandingQuery, BrandingView } from './branding/schemas.ts'
import { BestTimesQuery, BestTimesView } from './best-times/schemas.ts'
import {
  ContentPath,
  ContentQuery,
  ContentRecord,
  ContentSeries,
  ContentSeriesQuery,
  PostAcross,
  PostPath,
} from './content-schemas.ts'
import {
  Audience,
  AudienceQuery,
  FollowersQuery,
  FollowerTrend,
  PlatformSeries,
  PlatformStats,
  ReportData,
  ReportDataQuery,
  ReportQuery,
  SeriesQuery,
  StatsQuery,
  SyncBody,
  SyncResult,
} from './schemas.ts'

const { contentRecordId, postId, workspaceId } = EXAMPLE
const READ = { access: 'analytics:read', workspace: from.query('workspaceId') } as const

export const getPlatformStats = operation({
  ...READ,
  route: 'GET /api/analytics/platforms',
  summary: 'Get the figures of accounts in a span',
  description:
    'The last 30 days by default, at most 800. With `compare`, also the span of as many days directly before. Figures are what the platforms reported. A figure without a report is null, with the reason in `gap`.',
  query: StatsQuery,
  returns: { 200: Envelope(PlatformStats) },
  errors: [NotFound, ValidationFailed],
  example: { query: { workspaceId, compare: true } },
  handle: async ({ analytics, query }) => ok('Figures of accounts', await analytics.stats.of(query)),
})

export const getPlatformTimeSeries = operation({
  ...READ,
  route: 'GET /api/analytics/platforms/series',
  summary: 'Get a figure of accounts over time',
  description:
    'Each day, week or month of the span has a point. A time without a report is a point without a value, with the reason in `gap`.',
  query: SeriesQuery,
  returns: { 200: Envelope(PlatformSeries) },
  errors: [NotFound, ValidationFailed],
  example: { query: { workspaceId, figure: 'followers', interval: 'week' } },
  handle: async ({ analytics, caller, query }) =>
    ok('Figure over time', await analytics.series.ofAccounts(query, caller.userId)),
})

export const getFollowerTrend = operation({
  ...READ,
  route: 'GET /api/analytics/followers',
  summary: 'Get how followers changed',
  description:
    'For each account, and combined. The change is that of the whole span, the points are those of each day, week or month. A time without a report is a point without a value, with the reason in `gap`.',
  query: FollowersQuery,
  returns: { 200: Envelope(FollowerTrend) },
  errors: [NotFound, ValidationFailed],
  example: { query: { workspaceId, interval: 'week' } },
  handle: async ({ analytics, caller, query }) =>
    ok('Followers', await analytics.series.followers(query, caller.userId)),
})

export const getAudience = operation({
  ...READ,
  route: 'GET /api/analytics/audience',
  summary: 'Get who follows accounts',
  description: 'Groups by age, gender, country and city, where the platform reports them: its newest report.',
  query: AudienceQuery,
  returns: { 200: Envelope(Audience) },
  errors: [NotFound],
  example: { query: { workspaceId } },
  handle: async ({ analytics, query }) => ok('Audience', await analytics.audiences.of(query)),
})

export const listContentAnalytics = operation({
  ...READ,
  route: 'GET /api/analytics/content',
  summary: 'List posts with their figures',
  description:
    'Posts that were published in the span, the last 30 days by default: by Crier, and elsewhere where the platform lists them.',
  query: ContentQuery,
  returns: { 200: ListOf(ContentRecord) },
  errors: [NotFound, ValidationFailed],
  example: { query: { workspaceId, sort: 'likes', limit: 20 } },
  handle: async ({ analytics, query }) => list('Posts with figures', await analytics.content.list(query)),
})

export const getContentAnalytics = operation({
  route: 'GET /api/analytics/content/{id}',
  summary: 'Get the figures of a published post',
  access: 'analytics:read',
  workspace: owner('analytics_content'),
  path: ContentPath,
  returns: { 200: Envelope(ContentRecord) },
  errors: [NotFound],
  example: { path: { id: contentRecordId } },
  handle: async ({ analytics, path }) => ok('Post with figures', await analytics.content.one(path.id)),
})

export const deleteContentRecord = operation({
  route: 'DELETE /api/analytics/content/{id}',
  summary: 'Delete the record of a published post',
  description:
    'Deletes the figures that were collected, and takes them out of the sums of the account. The post stays, here and at its platform. It is not imported again.',
  access: 'analytics:read',
  workspace: owner('analytics_content'),
  turn: true,
  path: ContentPath,
  returns: { 200: Done },
  errors: [NotFound],
  example: { path: { id: contentRecordId } },
  handle: async ({ analytics, path, turn }) => {
    await analytics.actions.deleteRecord(turn, path.id)
    return done('Record deleted')
  },
})

export const getContentTimeSeries = operation({
  route: 'GET /api/analytics/content/{id}/series',
  summary: 'Get a figure of a post over time',
  description: 'From the publication to today by default.',
  access: 'analytics:read',
  workspace: owner('analytics_content'),
  path: ContentPath,
  query: ContentSeriesQuery,
  returns: { 200: Envelope(ContentSeries) },
  errors: [NotFound, ValidationFailed],
  example: { path: { id: contentRecordId }, query: { figure: 'likes' } },
  handle: async ({ analytics, caller, path, query }) =>
    ok('Figure over time', await analytics.series.ofContent(path.id, query, caller.userId)),
})

export const getPostAcrossPlatforms = operation({
  route: 'GET /api/analytics/posts/{postId}',
  summary: 'Compare a post at its platforms',
  description:
    'The figures that were collected. GET /api/posts/{id}/analytics asks the platforms for those of this moment.',
  access: 'analytics:read',
  workspace: owner('posts', 'postId'),
  path: PostPath,
  returns: { 200: Envelope(PostAcross) },
  errors: [NotFound],
  example: { path: { postId } },
  handle: async ({ analytics, member, path }) =>
    ok('Post at its platforms', await analytics.content.ofPost(member.workspaceId, path.postId)),
})

export const getReportData = operation({
  ...READ,
  route: 'GET /api/analytics/report-data',
  summary: 'Get what reports can be built of',
  description:
    'For report builders: the figures with their units, the formulas of derived figures, the dimensions, and which account reports which figure since when, with the reason if it does not. `retention` says how long the plan keeps single reports. Each `example` is a request that returns the figure; add `workspaceId` to it.',
  query: ReportDataQuery,
  returns: { 200: Envelope(ReportData) },
  example: { query: { workspaceId } },
  handle: async ({ analytics, query }) => ok('Report data', await analytics.catalogue.of(query.workspaceId)),
})

export const syncAnalytics = operation({
  route: 'POST /api/analytics/sync',
  summary: 'Read accounts at their platforms now',
  description:
    'Figures are read by themselves: of accounts every six hours or more often, of posts hourly on their first day. This asks now, at most every five minutes for each account, and once a day at platforms that charge for it. `analyticsAccount.updated` reports the end.',
  access: 'analytics:read',
  workspace: from.body('workspaceId'),
  turn: true,
  body: SyncBody,
  returns: { 202: Envelope(SyncResult) },
  errors: [NotFound],
  example: { body: { workspaceId } },
  handle: async ({ analytics, body, turn }) => accepted('Accounts are read', await analytics.actions.sync(turn, body)),
})

export const getBestTimes = operation({
  ...READ,
  route: 'GET /api/analytics/best-times',
  summary: 'Get the hours of the week in which posts do best',
  description:
    'From the workspace’s own posts, of Crier and elsewhere, that are at least two days old. Says so when they are not enough.',
  query: BestTimesQuery,
  returns: { 200: Envelope(BestTimesView) },
  errors: [NotFound],
  example: { query: { workspaceId } },
  handle: async ({ analytics, query }) => ok('Best times', await analytics.bestTimes.of(query)),
})

export const getReportBranding = operation({
  ...READ,
  route: 'GET /api/analytics/report-branding',
  summary: 'Get report branding',
  query: BrandingQuery,
  returns: { 200: Envelope(BrandingView) },
  example: { query: { workspaceId } },
  handle: async ({ analytics, query }) => ok('Look of reports', await analytics.branding.get(query.workspaceId)),
})

export const setReportBranding = operation({
  route: 'PUT /api/analytics/report-branding',
  summary: 'Update report branding',
  description:
    'Sets the logo, color, name, domain and footer of PDF and HTML reports, and the domain of links in their mails, for reports that go to clients. Fields that are missing or null are removed.',
  access: 'workspace:manage',
  workspace: from.body('workspaceId'),
  turn: true,
  body: BrandingBody,
  returns: { 200: Envelope(BrandingView) },
  errors: [ValidationFailed],
  example: {
    body: {
      workspaceId,
      accentColor: '#0b5cad',
      companyName: 'Acme',
      website: 'acme.example',
      footerText: 'Confidential',
    },
  },
  handle: async ({ analytics, body, turn }) => ok('Look of reports set', await analytics.branding.set(turn, body)),
})

const REPORT_HEADERS = [
  'Content-Disposition',
  'Cache-Control',
  'Content-Language',
  'Vary',
  'Content-Security-Policy',
] as const

export const exportReportHtml = operation({
  ...READ,
  route: 'GET /api/analytics/report.html',
  summary: 'Download a report as a page',
  description:
    'One file without scripts and without addresses of other files: summary, charts with their numbers, accounts, posts, missing figures and method. For phones, and for printing.',
  query: ReportQuery,
  returns: { 200: { contentType: 'text/html; charset=utf-8' } },
  headers: REPORT_HEADERS,
  errors: [NotFound, ValidationFailed],
  languages: true,
  example: { query: { workspaceId } },
  handle: async ({ acceptLanguage, analytics, member, query }) => analytics.reports.html(query, member, acceptLanguage),
})

export const exportReportPdf = operation({
  ...READ,
  route: 'GET /api/analytics/report.pdf',
  summary: 'Download a report as PDF',
  description:
    'The same as the page, with bookmarks and text that can be selected. The numbers of the charts are at the end.',
  query: ReportQuery,
  returns: { 200: { contentType: 'application/pdf' } },
  headers: REPORT_HEADERS,
  errors: [NotFound, ValidationFailed],
  languages: true,
  example: { query: { workspaceId } },
  handle: async ({ acceptLanguage, analytics, member, query }) => analytics.reports.pdf(query, member, acceptLanguage),
})
