import { EXAMPLE } from '../../../core/example-ids.ts'
import { NotFound } from '../../../core/errors.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { created, done, list } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { TooManyCalendarFeeds } from './errors.ts'
import { ICS } from './feed.ts'
import {
  CalendarFeedView,
  CreatedCalendarFeed,
  FeedListQuery,
  FeedPath,
  FeedTokenPath,
  NewCalendarFeed,
} from './schemas.ts'

const { workspaceId } = EXAMPLE

export const createCalendarFeed = operation({
  route: 'POST /api/posts/calendar-feeds',
  summary: 'Create a link to the calendar of posts',
  description:
    'Subscribe to the link in a calendar program to see the posts of the workspace. The link shows what you are allowed to see, and stops working when you leave the workspace or lose `posts:read`. It is returned only once. Whoever has it can read the posts, so revoke it if it gets into other hands.',
  access: 'posts:read',
  workspace: from.body('workspaceId'),
  turn: true,
  body: NewCalendarFeed,
  returns: { 201: Envelope(CreatedCalendarFeed) },
  errors: [TooManyCalendarFeeds],
  example: { body: { workspaceId, name: 'Phone' } },
  handle: async ({ body, calendarFeeds, caller, turn }) =>
    created('Link created', await calendarFeeds.links.create(turn, body, caller.userId)),
})

export const listCalendarFeeds = operation({
  route: 'GET /api/posts/calendar-feeds',
  summary: 'List your links to the calendar of posts',
  description: 'Newest first. The links of other members are not shown.',
  access: 'posts:read',
  workspace: from.query('workspaceId'),
  query: FeedListQuery,
  returns: { 200: ListOf(CalendarFeedView) },
  example: { query: { workspaceId } },
  handle: async ({ calendarFeeds, caller: { userId }, query }) =>
    list('Links', await calendarFeeds.links.list({ workspaceId: query.workspaceId, userId }, pageRequest(query))),
})

export const revokeCalendarFeed = operation({
  route: 'DELETE /api/posts/calendar-feeds/{id}',
  summary: 'Revoke a link to the calendar of posts',
  description: 'The link replies 404 from then on. Only your own links can be revoked.',
  access: 'posts:read',
  workspace: owner('calendar_feeds'),
  turn: true,
  path: FeedPath,
  returns: { 200: Done },
  errors: [NotFound],
  example: { path: { id: EXAMPLE.postId } },
  handle: async ({ calendarFeeds, caller: { userId }, path: { id }, turn }) => {
    await calendarFeeds.links.revoke(turn, { id, userId })
    return done('Link revoked')
  },
})

export const readCalendarFeed = operation({
  route: 'GET /api/calendar-feeds/{token}',
  summary: 'Read the calendar of posts as iCalendar',
  description:
    'For calendar programs (RFC 5545). Returns up to 1,000 events, starting 30 days ago: one for each post, and another for each account that has its own time. Times are in UTC. An event keeps its UID when its post is rescheduled, and has a higher SEQUENCE. A cancelled post, and for 30 days a deleted one, is an event with the status CANCELLED. Send If-None-Match to get 304 while nothing has changed.',
  access: 'public',
  limit: 'auth',
  path: FeedTokenPath,
  returns: { 200: { contentType: ICS } },
  etag: true,
  headers: ['Cache-Control', 'X-Robots-Tag'],
  errors: [NotFound],
  example: { path: { token: 'EXAMPLE-EXAMPLE-EXAMPLE-EXAMPLE.ics' } },
  handle: async ({ calendarFeeds, path: { token } }) => calendarFeeds.reader.read(token),
})
