import { NotFound, PlanLimit, PreconditionFailed, ValidationFailed } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { accepted, created, done, FILE, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { TooManyMails } from '../../../mail/limits.ts'
import { ReportNotReady, TooManyReports } from './errors.ts'
import {
  NewReport,
  NewSchedule,
  ReportPath,
  ReportsQuery,
  ReportView,
  ScheduleChange,
  SchedulePath,
  SchedulesQuery,
  ScheduleView,
} from './schemas.ts'

export { answerReportMail, openMailedReport, openReportMail } from './mail-operations.ts'

const { channelId, reportId, reportScheduleId, workspaceId } = EXAMPLE

export const createReport = operation({
  route: 'POST /api/analytics/reports',
  summary: 'Create a report',
  description:
    'A job creates the file, which suits large reports. Follow its progress with `job.progress` events or `percent`. If the same report is already being created, that report is returned. Files are kept for 90 days. To download a small report right away, use GET /api/analytics/report.pdf or GET /api/analytics/report.html.',
  access: 'analytics:read',
  workspace: from.body('workspaceId'),
  turn: true,
  body: NewReport,
  returns: { 202: Envelope(ReportView) },
  errors: [NotFound, ValidationFailed, TooManyReports],
  example: { body: { workspaceId, format: 'pdf' } },
  handle: async ({ body, member, reports, turn }) =>
    accepted('The report is being made', await reports.files.create(turn, member, body)),
})

export const listReports = operation({
  route: 'GET /api/analytics/reports',
  summary: 'List reports',
  description: 'Lists reports requested by members and reports created by schedules, newest first.',
  access: 'analytics:read',
  workspace: from.query('workspaceId'),
  query: ReportsQuery,
  returns: { 200: ListOf(ReportView) },
  example: { query: { workspaceId } },
  handle: async ({ query, reports }) =>
    list('Reports', await reports.files.list(query.workspaceId, query.scheduleId, pageRequest(query))),
})

export const getReport = operation({
  route: 'GET /api/analytics/reports/{id}',
  summary: 'Get a report',
  access: 'analytics:read',
  workspace: owner('reports'),
  path: ReportPath,
  returns: { 200: Envelope(ReportView) },
  errors: [NotFound],
  example: { path: { id: reportId } },
  handle: async ({ member, path, reports }) => ok('Report', await reports.files.get(member.workspaceId, path.id)),
})

export const downloadReport = operation({
  route: 'GET /api/analytics/reports/{id}/file',
  summary: 'Download the file of a report',
  access: 'analytics:read',
  workspace: owner('reports'),
  path: ReportPath,
  returns: { 200: FILE },
  errors: [NotFound, ReportNotReady],
  example: { path: { id: reportId } },
  handle: async ({ member, path, reports }) => reports.files.file(member.workspaceId, path.id),
})

export const deleteReport = operation({
  route: 'DELETE /api/analytics/reports/{id}',
  summary: 'Delete a report',
  description:
    'Deletes the report and its file, and cancels it if it is still being created. Links to it in emails stop working.',
  access: 'analytics:read',
  workspace: owner('reports'),
  turn: true,
  path: ReportPath,
  returns: { 200: Done },
  errors: [NotFound],
  example: { path: { id: reportId } },
  handle: async ({ path, reports, turn }) => {
    await reports.files.delete(turn, path.id)
    return done('Report deleted')
  },
})

export const createReportSchedule = operation({
  route: 'POST /api/analytics/report-schedules',
  summary: 'Create a report schedule',
  description:
    'Sends a report every day, week or month, at a time in the time zone of the workspace, to email addresses and chat channels. Reports contain what you can see, and follow your permissions when they change. After an outage, only the last missed report is sent.',
  access: 'workspace:manage',
  workspace: from.body('workspaceId'),
  turn: true,
  body: NewSchedule,
  returns: { 201: Envelope(ScheduleView) },
  errors: [NotFound, ValidationFailed, PlanLimit, TooManyMails],
  example: {
    body: {
      workspaceId,
      name: 'Weekly report for Acme',
      interval: 'week',
      weekday: 'monday',
      time: '08:00',
      recipientEmails: ['grace@example.com'],
      channelIds: [channelId],
    },
  },
  handle: async ({ body, member, reports, turn }) =>
    created('Schedule created', await reports.schedules.create(turn, member, body)),
})

export const listReportSchedules = operation({
  route: 'GET /api/analytics/report-schedules',
  summary: 'List report schedules',
  access: 'workspace:manage',
  workspace: from.query('workspaceId'),
  query: SchedulesQuery,
  returns: { 200: ListOf(ScheduleView) },
  example: { query: { workspaceId } },
  handle: async ({ query, reports }) =>
    list('Schedules of reports', await reports.schedules.list(query.workspaceId, pageRequest(query))),
})

export const getReportSchedule = operation({
  route: 'GET /api/analytics/report-schedules/{id}',
  summary: 'Get a report schedule',
  access: 'workspace:manage',
  workspace: owner('report_schedules'),
  path: SchedulePath,
  returns: { 200: Envelope(ScheduleView) },
  errors: [NotFound],
  etag: 'edits',
  example: { path: { id: reportScheduleId } },
  handle: async ({ member, path, reports }) =>
    ok('Schedule of reports', await reports.schedules.get(member.workspaceId, path.id)),
})

export const updateReportSchedule = operation({
  route: 'PATCH /api/analytics/report-schedules/{id}',
  summary: 'Update a report schedule',
  description:
    'Changes, pauses or resumes a schedule. Lists replace the previous ones. If you change accounts, recipients or channels, or resume the schedule, you become its `createdBy`. No report is sent for times that pass while the schedule is paused.',
  access: 'workspace:manage',
  workspace: owner('report_schedules'),
  turn: true,
  path: SchedulePath,
  body: ScheduleChange,
  returns: { 200: Envelope(ScheduleView) },
  errors: [NotFound, ValidationFailed, PreconditionFailed, TooManyMails],
  etag: 'edits',
  example: { path: { id: reportScheduleId }, body: { time: '09:30', status: 'active' } },
  handle: async ({ body, ifMatch, member, path, reports, turn }) =>
    ok('Schedule changed', await reports.schedules.update(turn, member, path.id, body, ifMatch)),
})

export const deleteReportSchedule = operation({
  route: 'DELETE /api/analytics/report-schedules/{id}',
  summary: 'Delete a report schedule',
  description: 'Reports that it has created are kept until they expire.',
  access: 'workspace:manage',
  workspace: owner('report_schedules'),
  turn: true,
  path: SchedulePath,
  returns: { 200: Done },
  errors: [NotFound, PreconditionFailed],
  example: { path: { id: reportScheduleId } },
  handle: async ({ ifMatch, path, reports, turn }) => {
    await reports.schedules.delete(turn, path.id, ifMatch)
    return done('Schedule deleted')
  },
})
