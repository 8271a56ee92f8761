import { event } from '../../../../core/event.ts'
import { EXAMPLE } from '../../../../core/example-ids.ts'
import { QueueView } from './schemas.ts'

export const queueUpdated = event({
  name: 'postQueue.updated',
  summary: 'The queue of a workspace was replaced',
  scope: 'posts:read',
  data: QueueView,
  example: {
    workspaceId: EXAMPLE.workspaceId,
    version: 1,
    timezone: null,
    effectiveTimezone: 'Europe/Berlin',
    slots: [{ weekday: 'monday', time: '09:00', label: null, accountIds: [] }],
    blackouts: [],
    minimumGapMinutes: 0,
  },
})
