import { defineEntity, p } from '@mikro-orm/postgresql'
import type { Weekday } from '../../../core/local-times.ts'
import type { Scope } from '../../../core/scope.ts'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { Workspace } from '../../workspace/workspaces/index.ts'
import type { ReportLanguageName } from '../analytics/index.ts'
import type { Rhythm } from './rhythm.ts'
import type {
  DeliveryStatusName,
  RecipientStatusName,
  ReportFormat,
  ReportStatusName,
  SchedulePauseReason,
} from './schemas.ts'

const inWorkspace = (name: string) => references(Workspace, { name, onDelete: 'cascade' })
/** Which accounts a report is about. Null for all. */
const accounts = () => p.array().columnType('uuid[]').nullable()
/** The scopes of the limited API key that asked. Null without such a limit. */
const scopes = () =>
  p
    .array<Scope>((text) => text as Scope)
    .columnType('text[]')
    .nullable()

/** When reports are made, and where they are sent. */
export const ReportSchedule = defineEntity({
  name: 'ReportSchedule',
  tableName: 'report_schedules',
  indexes: [
    { name: 'report_schedules_by_creator', properties: ['createdBy', 'id'] },
    { name: 'report_schedules_by_workspace', properties: ['workspaceId', 'id'] },
    {
      name: 'report_schedules_due',
      expression: 'create index report_schedules_due on report_schedules (next_at) where next_at is not null',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: inWorkspace('report_schedules_workspace_id_fkey'),
    name: p.text(),
    interval: p.text().$type<Rhythm['interval']>(),
    weekday: p.text().$type<Weekday>(),
    monthDay: p.integer(),
    time: p.text(),
    /** The zone of the workspace that `nextAt` follows from. */
    zone: p.text(),
    accountIds: accounts(),
    format: p.text().$type<ReportFormat>(),
    language: p.text().$type<ReportLanguageName>(),
    channelIds: p.array().columnType('uuid[]'),
    createdBy: p.uuid(),
    readerScopes: scopes(),
    pausedReason: p.text().$type<SchedulePauseReason>().nullable(),
    /** Null while it is paused. */
    nextAt: timestamp().nullable(),
    version: p.integer(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const reportSchedules = table(ReportSchedule)
export type ScheduleRow = Row<typeof ReportSchedule>

/** An address that gets the reports of a schedule. */
export const ReportRecipient = defineEntity({
  name: 'ReportRecipient',
  tableName: 'report_recipients',
  uniques: [{ name: 'report_recipients_email_key', properties: ['scheduleId', 'email'] }],
  properties: {
    id: p.uuid().primary(),
    scheduleId: references(ReportSchedule, { name: 'report_recipients_schedule_id_fkey', onDelete: 'cascade' }),
    email: p.text(),
    status: p.text().$type<RecipientStatusName>(),
    createdAt: timestamp(),
  },
})

export const reportRecipients = table(ReportRecipient)
export type RecipientRow = Row<typeof ReportRecipient>

/** A report as a file. */
export const Report = defineEntity({
  name: 'Report',
  tableName: 'reports',
  // A schedule makes one report for each of its times, on any number of nodes.
  uniques: [{ name: 'reports_due_key', properties: ['scheduleId', 'dueAt'] }],
  indexes: [
    { name: 'reports_by_creator', properties: ['createdBy', 'id'] },
    { name: 'reports_by_workspace', properties: ['workspaceId', 'id'] },
    { name: 'reports_expiring', properties: ['expiresAt'] },
    {
      name: 'reports_open',
      expression: "create index reports_open on reports (updated_at) where status in ('waiting', 'running')",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: inWorkspace('reports_workspace_id_fkey'),
    scheduleId: references(ReportSchedule, { name: 'reports_schedule_id_fkey', onDelete: 'set null' }).nullable(),
    /** The time of the schedule. */
    dueAt: timestamp().nullable(),
    createdBy: p.uuid(),
    readerScopes: scopes(),
    fromDay: p.text(),
    toDay: p.text(),
    accountIds: accounts(),
    format: p.text().$type<ReportFormat>(),
    language: p.text().$type<ReportLanguageName>(),
    status: p.text().$type<ReportStatusName>(),
    percent: p.integer(),
    jobId: p.uuid().nullable(),
    error: p.text().nullable(),
    /** The stored file. */
    fileId: p.uuid().nullable(),
    size: p.integer().nullable(),
    /** The sentences of its summary, for mails and messages. */
    summary: p.json<readonly string[]>(),
    expiresAt: timestamp(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const reports = table(Report)
export type ReportRow = Row<typeof Report>

/** A report on its way to an address or a channel. */
export const ReportDelivery = defineEntity({
  name: 'ReportDelivery',
  tableName: 'report_deliveries',
  indexes: [
    { name: 'report_deliveries_by_report', properties: ['reportId'] },
    { name: 'report_deliveries_by_address', properties: ['addressId'] },
  ],
  properties: {
    id: p.uuid().primary(),
    reportId: references(Report, { name: 'report_deliveries_report_id_fkey', onDelete: 'cascade' }),
    /** Null for a channel, and when the address was removed. */
    addressId: references(ReportRecipient, {
      name: 'report_deliveries_address_id_fkey',
      onDelete: 'set null',
    }).nullable(),
    email: p.text().nullable(),
    channelId: p.uuid().nullable(),
    status: p.text().$type<DeliveryStatusName>(),
    error: p.text().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const reportDeliveries = table(ReportDelivery)
export type DeliveryRow = Row<typeof ReportDelivery>

export const reportEntities = [ReportSchedule, ReportRecipient, Report, ReportDelivery]
