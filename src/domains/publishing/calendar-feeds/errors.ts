import { defineError } from '../../../core/error.ts'

export const TooManyCalendarFeeds = defineError({
  code: 'too_many_calendar_feeds',
  status: 409,
  message: 'You have the maximum number of links to this calendar.',
  cause: 'A member can have 20 links to the calendar of a workspace.',
  fix: 'Revoke one that you no longer use with DELETE /api/posts/calendar-feeds/{id}.',
})
