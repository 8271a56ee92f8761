import { EXAMPLE } from '../../../../core/example-ids.ts'
import { Conflict, NotFound, PreconditionFailed, ValidationFailed } from '../../../../core/errors.ts'
import { from, operation, owner } from '../../../../core/operation.ts'
import { pageRequest } from '../../../../core/page.ts'
import { list, ok } from '../../../../core/reply.ts'
import { Envelope, ListOf } from '../../../../core/schema.ts'
import { PostNotPossible, SCHEDULING_ERRORS } from '../../posts/index.ts'
import { SeriesPath } from '../../calendar/index.ts'
import {
  OccurrencePath,
  PreviewedOccurrences,
  RecurrencePreview,
  SeriesChange,
  SeriesEnd,
  SeriesListQuery,
  SeriesSummary,
  SeriesView,
} from './schemas.ts'

const { seriesId, workspaceId } = EXAMPLE
const PATH = { path: { seriesId } }
const CHANGING = [NotFound, PreconditionFailed, Conflict] as const

export const listPostSeries = operation({
  route: 'GET /api/posts/series',
  summary: 'List recurring posts',
  description:
    'Newest first. A recurring post is created with `recurrence` in POST /api/posts or PATCH /api/posts/{id}.',
  access: 'posts:read',
  workspace: from.query('workspaceId'),
  query: SeriesListQuery,
  returns: { 200: ListOf(SeriesSummary) },
  example: { query: { workspaceId } },
  handle: async ({ query, writing }) =>
    list('Recurring posts', await writing.series.reader.list(query, pageRequest(query))),
})

export const previewRecurrence = operation({
  route: 'POST /api/posts/series/preview',
  summary: 'List the occurrences of a rule',
  description:
    'Stores nothing. `timeAdjustment` shows where daylight saving time or a short month moves an occurrence.',
  access: 'posts:read',
  workspace: from.body('workspaceId'),
  body: RecurrencePreview,
  returns: { 200: Envelope(PreviewedOccurrences) },
  errors: [ValidationFailed],
  example: {
    body: {
      workspaceId,
      recurrence: { rrule: 'FREQ=MONTHLY;BYMONTHDAY=31' },
      scheduledFor: '2026-12-31T09:00',
      timezone: 'Europe/Berlin',
      count: 3,
    },
  },
  handle: async ({ body, writing }) => ok('Occurrences', await writing.series.reader.preview(body)),
})

export const getPostSeries = operation({
  route: 'GET /api/posts/series/{seriesId}',
  summary: 'Get a recurring post with its next occurrences',
  access: 'posts:read',
  workspace: owner('post_series', 'seriesId'),
  path: SeriesPath,
  etag: 'edits',
  returns: { 200: Envelope(SeriesView) },
  errors: [NotFound],
  example: PATH,
  handle: async ({ path, writing }) => ok('Recurring post', await writing.series.reader.get(path.seriesId)),
})

export const updatePostSeries = operation({
  route: 'PATCH /api/posts/series/{seriesId}',
  summary: 'Change a recurring post',
  description:
    'Changes all occurrences that are still to come, or with `from` that one and those after it, which become a separate series. To change one occurrence, change its post. Posts that were changed by themselves (`isEdited`), or whose publication has begun, stay as they are. If one of the posts cannot be changed, nothing is.',
  access: 'posts:write',
  workspace: owner('post_series', 'seriesId'),
  turn: true,
  path: SeriesPath,
  body: SeriesChange,
  etag: 'edits',
  returns: { 200: Envelope(SeriesView) },
  errors: [...CHANGING, ...SCHEDULING_ERRORS],
  example: { ...PATH, body: { content: 'We are live on Friday at one.' } },
  handle: async ({ body, caller: { userId }, ifMatch, path, turn, writing }) =>
    ok('Recurring post changed', await writing.series.changes.update(turn, path.seriesId, body, { userId, ifMatch })),
})

export const endPostSeries = operation({
  route: 'POST /api/posts/series/{seriesId}/end',
  summary: 'End a recurring post',
  description:
    'No more posts are made, or with `from` none from that occurrence on. Posts that are made and whose publication has not begun are deleted, unless `keepPosts` is true.',
  access: 'posts:write',
  workspace: owner('post_series', 'seriesId'),
  turn: true,
  path: SeriesPath,
  body: SeriesEnd,
  returns: { 200: Envelope(SeriesView) },
  errors: [...CHANGING, ValidationFailed],
  example: { ...PATH, body: {} },
  handle: async ({ body, ifMatch, path, turn, writing }) =>
    ok('Recurring post ended', await writing.series.actions.end(turn, path.seriesId, body, ifMatch)),
})

export const resumePostSeries = operation({
  route: 'POST /api/posts/series/{seriesId}/resume',
  summary: 'Resume a paused recurring post',
  description:
    'A series is paused when its author loses access. The caller becomes the new author. Occurrences during the pause are missed. The latest of them becomes a post with the status `missed`, so that a member can decide what to do with it.',
  access: 'posts:write',
  workspace: owner('post_series', 'seriesId'),
  turn: true,
  path: SeriesPath,
  returns: { 200: Envelope(SeriesView) },
  errors: [...CHANGING],
  example: PATH,
  handle: async ({ caller: { userId }, ifMatch, path, turn, writing }) =>
    ok('Recurring post resumed', await writing.series.actions.resume(turn, path.seriesId, { userId, ifMatch })),
})

export const skipPostOccurrence = operation({
  route: 'DELETE /api/posts/series/{seriesId}/occurrences/{occurrence}',
  summary: 'Leave out one occurrence of a recurring post',
  description: 'Deletes its post, if it is made already. An occurrence whose publication has begun cannot be left out.',
  access: 'posts:write',
  workspace: owner('post_series', 'seriesId'),
  turn: true,
  path: OccurrencePath,
  returns: { 200: Envelope(SeriesView) },
  errors: [...CHANGING, ValidationFailed, PostNotPossible],
  example: { path: { seriesId, occurrence: '2026-12-25T12:00:00' } },
  handle: async ({ ifMatch, path, turn, writing }) =>
    ok('Occurrence left out', await writing.series.actions.skip(turn, path, ifMatch)),
})
