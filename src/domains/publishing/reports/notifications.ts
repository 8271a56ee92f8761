import { EXAMPLE } from '../../../core/example-ids.ts'
import { notificationType } from '../../../core/notification.ts'
import { Type } from '../../../core/schema.ts'

export const reportFailedNotification = notificationType({
  name: 'report.failed',
  kind: 'reportFailed',
  summary: 'A report of a schedule could not be made or sent. Sent to the member who is `createdBy` of the schedule',
  scope: 'analytics:read',
  data: Type.Object({ reportId: Type.String(), schedule: Type.String(), reason: Type.String() }),
  example: { reportId: EXAMPLE.reportId, schedule: 'Weekly report for Acme', reason: 'The channel was archived.' },
  resource: ({ reportId }) => ({ kind: 'report', id: reportId }),
  group: ({ reportId }) => reportId,
})

export const reportSchedulePausedNotification = notificationType({
  name: 'reportSchedule.paused',
  kind: 'reportFailed',
  summary:
    'A schedule of reports is paused, because its `createdBy` can no longer see analytics. Sent to the owners of the workspace',
  scope: 'workspace:manage',
  data: Type.Object({ reportScheduleId: Type.String(), schedule: Type.String() }),
  example: { reportScheduleId: EXAMPLE.reportScheduleId, schedule: 'Weekly report for Acme' },
  resource: ({ reportScheduleId }) => ({ kind: 'report_schedule', id: reportScheduleId }),
})
