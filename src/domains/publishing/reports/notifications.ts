import { EXAMPLE } from '../../../core/example-ids.ts'
import { notificationType } from '../../../core/notification.ts'
import { Type } from '../../../core/schema.ts'

export const reportFailedNotification = notificationType({
  name: 'report.failed',
  kind: 'reportFailed',
  summary: 'A report of a schedule could not be made or sent. To whom it belongs',
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
    'A schedule makes no more reports, because the member in whose name it did cannot see analytics. To the owners',
  scope: 'workspace:manage',
  data: Type.Object({ reportScheduleId: Type.String(), schedule: Type.String() }),
  example: { reportScheduleId: EXAMPLE.reportScheduleId, schedule: 'Weekly report for Acme' },
  resource: ({ reportScheduleId }) => ({ kind: 'report_schedule', id: reportScheduleId }),
})
