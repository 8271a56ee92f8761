import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Type } from '../../../core/schema.ts'
import { ReportView, ScheduleView, type ReportData, type ScheduleData } from './schemas.ts'

const { accountId, channelId, jobId, reportId, reportScheduleId, userId, workspaceId } = EXAMPLE
const times = { createdAt: EXAMPLE_TIME, updatedAt: EXAMPLE_TIME }

const report: ReportData = {
  _id: reportId,
  ...times,
  workspaceId,
  scheduleId: reportScheduleId,
  createdBy: userId,
  from: '2026-11-14',
  to: '2026-11-20',
  accountIds: [accountId],
  format: 'pdf',
  language: 'en',
  status: 'done',
  percent: 100,
  jobId,
  error: null,
  size: 84_210,
  expiresAt: '2027-02-19T18:30:00.000Z',
  reportDeliveries: [{ email: 'grace@example.com', channelId: null, status: 'waiting', error: null }],
}

const schedule: ScheduleData = {
  _id: reportScheduleId,
  ...times,
  workspaceId,
  name: 'Weekly report for Acme',
  interval: 'week',
  weekday: 'monday',
  monthDay: 1,
  time: '08:00',
  timezone: 'Europe/Berlin',
  accountIds: [accountId],
  format: 'pdf',
  language: 'en',
  recipients: [{ email: 'grace@example.com', status: 'waiting' }],
  channelIds: [channelId],
  status: 'active',
  pausedReason: null,
  createdBy: userId,
  nextReportAt: '2026-11-23T07:00:00.000Z',
  lastReport: null,
  version: 1,
}

export const reportCreated = event({
  name: 'report.created',
  summary: 'A report was requested, by a member or by a schedule',
  description: 'While it is made, `job.progress` reports its progress.',
  scope: 'analytics:read',
  data: ReportView,
  example: { ...report, status: 'waiting', percent: 0, size: null, reportDeliveries: [] },
})

export const reportUpdated = event({
  name: 'report.updated',
  summary: 'A report is done or has failed, or was sent to an address or a channel',
  scope: 'analytics:read',
  data: ReportView,
  example: report,
})

export const reportDeleted = event({
  name: 'report.deleted',
  summary: 'A report was deleted',
  scope: 'analytics:read',
  data: Type.Object({ reportId: Type.String({ ...Id, description: 'The report' }) }),
  example: { reportId },
})

export const reportScheduleCreated = event({
  name: 'reportSchedule.created',
  summary: 'A schedule of reports was created',
  scope: 'workspace:manage',
  data: ScheduleView,
  example: schedule,
})

export const reportScheduleUpdated = event({
  name: 'reportSchedule.updated',
  summary: 'A schedule of reports has changed, was paused, or an address was confirmed or has unsubscribed',
  scope: 'workspace:manage',
  data: ScheduleView,
  example: { ...schedule, recipients: [{ email: 'grace@example.com', status: 'confirmed' }], version: 2 },
})

export const reportScheduleDeleted = event({
  name: 'reportSchedule.deleted',
  summary: 'A schedule of reports was deleted',
  scope: 'workspace:manage',
  data: Type.Object({ reportScheduleId: Type.String({ ...Id, description: 'The schedule' }) }),
  example: { reportScheduleId },
})
