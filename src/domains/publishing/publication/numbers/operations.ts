import { EXAMPLE } from '../../../../core/example-ids.ts'
import { NotFound, ValidationFailed } from '../../../../core/errors.ts'
import { from, operation, owner } from '../../../../core/operation.ts'
import { pageRequest } from '../../../../core/page.ts'
import { list, ok } from '../../../../core/reply.ts'
import { Envelope, ListOf } from '../../../../core/schema.ts'
import { PostPath } from '../../posts/index.ts'
import { CalendarQuery, CalendarView } from './calendar-schemas.ts'
import { DashboardMetrics, MetricsQuery, PostAnalytics, UpcomingPost, UpcomingQuery } from './schemas.ts'

const { postId, workspaceId } = EXAMPLE

export const listUpcomingPosts = operation({
  route: 'GET /api/posts/upcoming',
  summary: 'List what is published next',
  description:
    'By time, soonest first: what is scheduled, and what has a time and waits for its approval or release. A post whose accounts publish at different times is listed once for each time.',
  access: 'posts:read',
  workspace: from.query('workspaceId'),
  query: UpcomingQuery,
  returns: { 200: ListOf(UpcomingPost) },
  example: { query: { workspaceId } },
  handle: async ({ publication, query: { days = 7, ...query } }) =>
    list('Upcoming posts', await publication.upcoming.list(query.workspaceId, days, pageRequest(query))),
})

export const getCalendar = operation({
  route: 'GET /api/posts/calendar',
  summary: 'Get the calendar of posts',
  description:
    'What a calendar shows of up to 62 days: short entries of posts, the free slots of the queue, and how many posts of each account use its budgets. A post whose accounts publish at different times has an entry for each time. Days are those of `timezone`, and have 23 or 25 hours when clocks change. With `accountId`, slots are those that are free for all of these accounts. Counts of days follow the filters and cover all pages. Read it again after `post.created`, `post.updated`, `post.deleted`, `post.restored` and `postQueue.updated`.',
  access: 'posts:read',
  workspace: from.query('workspaceId'),
  query: CalendarQuery,
  returns: { 200: Envelope(CalendarView) },
  errors: [ValidationFailed],
  example: { query: { workspaceId, from: '2026-12-01', to: '2026-12-31' } },
  handle: async ({ publication, query }) => ok('Calendar', await publication.calendar.of(query)),
})

export const getDashboardMetrics = operation({
  route: 'GET /api/posts/dashboard',
  summary: 'Get numbers of posts',
  description:
    'Counts targets, which are posts at one account, by the time for which they were or are scheduled. The last 30 days by default, at most 92. Days are those of the workspace’s time zone.',
  access: 'posts:read',
  workspace: from.query('workspaceId'),
  query: MetricsQuery,
  returns: { 200: Envelope(DashboardMetrics) },
  errors: [ValidationFailed],
  example: { query: { workspaceId } },
  handle: async ({ publication, query }) => ok('Metrics', await publication.metrics.of(query)),
})

export const getPostAnalytics = operation({
  route: 'GET /api/posts/{id}/analytics',
  summary: 'Get the figures of a post',
  description:
    'What the platforms report of the post now, kept for five minutes. A figure that a platform does not report is null. Totals are sums over the targets that report a figure.',
  access: 'analytics:read',
  workspace: owner('posts'),
  path: PostPath,
  returns: { 200: Envelope(PostAnalytics) },
  errors: [NotFound],
  example: { path: { id: postId } },
  handle: async ({ path, publication }) => ok('Figures', await publication.figures.of(path.id)),
})
