import { event } from '../../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../../core/example-ids.ts'
import { SeriesSummary, type SeriesSummaryData } from './schemas.ts'

const EXAMPLE_SERIES: SeriesSummaryData = {
  _id: EXAMPLE.seriesId,
  createdAt: EXAMPLE_TIME,
  updatedAt: EXAMPLE_TIME,
  workspaceId: EXAMPLE.workspaceId,
  version: 1,
  status: 'active',
  statusReason: null,
  recurrence: { rrule: 'FREQ=WEEKLY;BYDAY=FR', exdates: ['2026-12-25'], rdates: [] },
  localTime: '2026-11-27T12:00:00',
  timezone: 'Europe/Berlin',
  startsFrom: null,
  endsBefore: null,
  content: 'We are live on Friday at noon.',
  title: null,
  link: null,
  media: [],
  thread: [],
  firstComment: null,
  tags: [],
  labels: ['launch'],
  lateMinutes: 60,
  targets: [],
  variations: [{ content: 'It is Friday: join us at noon.' }],
  postCount: 5,
  missedCount: 0,
  createdBy: EXAMPLE.userId,
  authorId: EXAMPLE.userId,
  endedAt: null,
}

export const recurringPostCreated = event({
  name: 'recurringPost.created',
  summary: 'A recurring post was created, or the rest of one was split off',
  scope: 'posts:read',
  data: SeriesSummary,
  example: EXAMPLE_SERIES,
})

export const recurringPostUpdated = event({
  name: 'recurringPost.updated',
  summary: 'A recurring post was changed, paused, resumed or ended',
  scope: 'posts:read',
  data: SeriesSummary,
  example: EXAMPLE_SERIES,
})
