import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import { timeZoneOf } from '../../workspace/workspaces/index.ts'
import type { ReportData, ScheduleData } from './schemas.ts'
import {
  reportDeliveries,
  reportRecipients,
  reports,
  type DeliveryRow,
  type RecipientRow,
  type ReportRow,
  type ScheduleRow,
} from './tables.ts'

export function reportView(row: ReportRow, deliveries: readonly DeliveryRow[]): ReportData {
  const { id, fromDay, toDay, fileId: _file, readerScopes: _scopes, summary: _summary, dueAt: _due, ...shown } = row
  return {
    _id: id,
    ...shown,
    from: fromDay,
    to: toDay,
    reportDeliveries: deliveries.map(({ channelId, email, error, status }) => ({ email, channelId, status, error })),
  }
}

/** Reports with where they are sent, in the given order. */
export async function reportViews(sql: Sql, rows: readonly ReportRow[]): Promise<ReportData[]> {
  const reportId = anyOf(rows.map(({ id }) => id))
  const all = rows.length === 0 ? [] : await reportDeliveries.find(sql, { reportId }, { orderBy: ['id asc'] })
  const byReport = Map.groupBy(all, (one) => one.reportId)
  return rows.map((row) => reportView(row, byReport.get(row.id) ?? []))
}

/** Schedules of one workspace, in the given order. */
export async function scheduleViews(sql: Sql, rows: readonly ScheduleRow[]): Promise<ScheduleData[]> {
  const [first] = rows
  if (first === undefined) return []
  const scheduleId = anyOf(rows.map(({ id }) => id))
  const [timezone, recipients, newest] = await Promise.all([
    timeZoneOf(sql, first.workspaceId),
    reportRecipients.find(sql, { scheduleId }, { orderBy: ['id asc'] }),
    Promise.all(rows.map(({ id }) => newestReport(sql, id))),
  ])
  const bySchedule = Map.groupBy(recipients, (one) => one.scheduleId)
  return rows.map((row, index) => scheduleView(row, timezone, bySchedule.get(row.id) ?? [], newest[index] ?? null))
}

async function newestReport(sql: Sql, scheduleId: string): Promise<ScheduleData['lastReport']> {
  const [row] = await reports.find(sql, { scheduleId }, { orderBy: ['id desc'], limit: 1 })
  if (row === undefined) return null
  const failedDeliveryCount = await reportDeliveries.count(sql, { reportId: row.id, status: 'failed' })
  return { reportId: row.id, status: row.status, error: row.error, failedDeliveryCount }
}

function scheduleView(
  row: ScheduleRow,
  timezone: string,
  recipients: readonly RecipientRow[],
  lastReport: ScheduleData['lastReport'],
): ScheduleData {
  const { id, nextAt, readerScopes: _scopes, zone: _zone, pausedReason, ...shown } = row
  return {
    _id: id,
    ...shown,
    timezone,
    recipients: recipients.map(({ email, status }) => ({ email, status })),
    status: pausedReason === null ? 'active' : 'paused',
    pausedReason,
    nextReportAt: nextAt,
    lastReport,
  }
}
