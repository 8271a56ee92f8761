import type { Member } from '../../../core/caller.ts'
import { DAY, HOUR } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import { file, type PageResult } from '../../../core/reply.ts'
import type { Services } from '../../../core/services.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf, lessThan, oneOf } from '../../../db/condition.ts'
import type { Foundation } from '../../../foundation.ts'
import { contentOf } from '../../../storage/stored-file.ts'
import { findReaders } from '../../identity/users/index.ts'
import { notify } from '../../talk/notifications/index.ts'
import { reportLanguage, type ReportLanguageName } from '../analytics/index.ts'
import { ReportNotReady, TooManyReports } from './errors.ts'
import { reportCreated, reportDeleted, reportUpdated } from './events.ts'
import { deliverReport, makeReport } from './jobs.ts'
import { reportFailedNotification } from './notifications.ts'
import type { NewReportInput, ReportData } from './schemas.ts'
import {
  reportDeliveries,
  reportRecipients,
  reports,
  reportSchedules,
  type DeliveryRow,
  type ReportRow,
  type ScheduleRow,
} from './tables.ts'
import { reportView, reportViews } from './views.ts'

/** How long reports are kept. */
const KEPT_MS = 90 * DAY
/** How many reports that members have requested can be open in a workspace. */
const MAX_OPEN = 10
/** Longer than all attempts take. The job of an older open report was lost. */
const LOST_MS = HOUR

const TYPES = { pdf: 'application/pdf', html: 'text/html; charset=utf-8' } as const
const OPEN = ['waiting', 'running'] as const

/** The outcome of making a report. */
export type ReportOutcome =
  | { readonly fileId: string; readonly size: number; readonly summary: readonly string[] }
  | { readonly error: string }

interface Request extends Pick<ReportRow, 'accountIds' | 'format' | 'language' | 'createdBy' | 'readerScopes'> {
  readonly from: string
  readonly to: string
  readonly schedule?: { readonly id: string; readonly dueAt: string }
}

/** Reports as files: requested, made by a job, kept for a while. */
export class ReportFiles {
  readonly #foundation: Foundation
  readonly #analytics: Services['analytics']

  constructor(foundation: Foundation, analytics: Services['analytics']) {
    this.#foundation = foundation
    this.#analytics = analytics
  }

  /**
   * Requests a report. Returns the open report of the member with the same days, accounts, format and language, if
   * there is one.
   * @throws AppError not_found, validation_failed, too_many_reports
   */
  async create(
    turn: Turn,
    member: Member,
    { format = 'pdf', language, ...filter }: NewReportInput,
  ): Promise<ReportData> {
    const days = await this.#analytics.reports.daysOf(filter)
    const accountIds = filter.accountIds ? [...filter.accountIds] : null
    const where = { workspaceId: turn.workspaceId, status: anyOf(OPEN), scheduleId: null }
    const open = await reports.find(turn.sql, where)
    const request: Request = {
      ...days,
      accountIds,
      format,
      language: language ?? (await languageOf(turn, member)),
      createdBy: member.userId,
      readerScopes: member.key === 'limited' ? [...member.scopes] : null,
    }
    const same = open.find((row) => keyOf({ ...row, from: row.fromDay, to: row.toDay }) === keyOf(request))
    if (same !== undefined) {
      turn.audit({ kind: 'report', id: same.id })
      return reportView(same, [])
    }
    if (open.length >= MAX_OPEN) throw TooManyReports()
    const row = await this.request(turn, request)
    turn.audit({ kind: 'report', id: row.id })
    return reportView(row, [])
  }

  /** Adds a report and the job that makes it. */
  async request(turn: Turn, { from, schedule, to, ...asked }: Request): Promise<ReportRow> {
    const now = this.#foundation.clock.now()
    const at = new Date(now).toISOString()
    const id = uuidv7(now)
    const row: ReportRow = {
      id,
      workspaceId: turn.workspaceId,
      scheduleId: schedule?.id ?? null,
      dueAt: schedule?.dueAt ?? null,
      ...asked,
      fromDay: from,
      toDay: to,
      status: 'waiting',
      percent: 0,
      jobId: turn.job(makeReport, { reportId: id }),
      error: null,
      fileId: null,
      size: null,
      summary: [],
      expiresAt: new Date(now + KEPT_MS).toISOString(),
      createdAt: at,
      updatedAt: at,
    }
    await reports.insert(turn.sql, row)
    turn.emit(reportCreated, reportView(row, []))
    return row
  }

  async list(
    workspaceId: string,
    scheduleId: readonly string[] | undefined,
    page: PageRequest,
  ): Promise<PageResult<ReportData>> {
    const sql = this.#foundation.database
    const rows = await reports.page(
      sql,
      { workspaceId, ...(scheduleId !== undefined && { scheduleId: oneOf<string | null>(scheduleId) }) },
      page,
    )
    const views = await reportViews(sql, rows)
    return pageOf(
      views,
      page.limit,
      ({ _id, createdAt }) => ({ createdAt, id: _id }),
      (view) => view,
    )
  }

  /** @throws AppError not_found */
  async get(workspaceId: string, id: string): Promise<ReportData> {
    const row = await reports.first(this.#foundation.database, { id, workspaceId })
    const [view] = row === undefined ? [] : await reportViews(this.#foundation.database, [row])
    if (view === undefined) throw NotFound()
    return view
  }

  /** @throws AppError not_found, report_not_ready */
  async file(workspaceId: string, id: string) {
    const row = await reports.first(this.#foundation.database, { id, workspaceId })
    if (row === undefined) throw NotFound()
    if (row.fileId === null || row.size === null) {
      throw ReportNotReady(row.error === null ? {} : { message: `The report could not be made. ${row.error}` })
    }
    return fileReply(this.#foundation, { ...row, fileId: row.fileId, size: row.size })
  }

  /** Deletes a report. If a job is making it, the job has no effect. @throws AppError not_found */
  async delete(turn: Turn, id: string): Promise<void> {
    if ((await reports.delete(turn.sql, { id, workspaceId: turn.workspaceId })) === 0) throw NotFound()
    turn.audit({ kind: 'report', id })
    turn.emit(reportDeleted, { reportId: id })
  }

  /** Ends a report, and starts the deliveries of its schedule. Has no effect if the report has ended. */
  async record(turn: Turn, id: string, outcome: ReportOutcome): Promise<void> {
    const row = await reports.first(turn.sql, { id, workspaceId: turn.workspaceId, status: anyOf(OPEN) })
    if (row === undefined) return
    const at = new Date(this.#foundation.clock.now()).toISOString()
    const changes =
      'error' in outcome
        ? ({ status: 'failed', error: outcome.error, updatedAt: at } as const)
        : ({ status: 'done', percent: 100, ...outcome, updatedAt: at } as const)
    await reports.update(turn.sql, { id }, changes)
    const schedule = row.scheduleId === null ? undefined : await reportSchedules.first(turn.sql, { id: row.scheduleId })
    const deliveries = schedule === undefined || 'error' in outcome ? [] : await this.#send(turn, row, schedule, at)
    turn.emit(reportUpdated, reportView({ ...row, ...changes }, deliveries))
    if (schedule !== undefined && 'error' in outcome) notifyFailed(turn, row, schedule, outcome.error)
  }

  /** Ends a delivery. @param error why it failed; null if it was sent */
  async delivered(turn: Turn, deliveryId: string, error: string | null): Promise<void> {
    const delivery = await reportDeliveries.first(turn.sql, { id: deliveryId, status: 'waiting' })
    if (delivery === undefined) return
    const row = await reports.first(turn.sql, { id: delivery.reportId, workspaceId: turn.workspaceId })
    if (row === undefined) return
    const status = error === null ? ('sent' as const) : ('failed' as const)
    const updatedAt = new Date(this.#foundation.clock.now())
    await reportDeliveries.update(turn.sql, { id: deliveryId }, { status, error, updatedAt })
    const [view] = await reportViews(turn.sql, [row])
    if (view !== undefined) turn.emit(reportUpdated, view)
    const schedule = row.scheduleId === null ? undefined : await reportSchedules.first(turn.sql, { id: row.scheduleId })
    if (error === null || schedule === undefined) return
    const where = delivery.email ?? 'A chat channel'
    notifyFailed(turn, row, schedule, `${where}: ${error}`)
  }

  /** Reports whose job was lost. */
  lost(): Promise<Pick<ReportRow, 'id' | 'workspaceId'>[]> {
    const updatedAt = lessThan(new Date(this.#foundation.clock.now() - LOST_MS))
    return reports.find(
      this.#foundation.database,
      { status: anyOf(OPEN), updatedAt },
      { columns: ['id', 'workspaceId'], limit: 100 },
    )
  }

  /** Deletes reports that have expired. The sweep of the storage deletes their files. */
  prune(): Promise<number> {
    return reports.delete(this.#foundation.database, { expiresAt: lessThan(new Date(this.#foundation.clock.now())) })
  }

  async #send(turn: Turn, row: ReportRow, schedule: ScheduleRow, at: string): Promise<DeliveryRow[]> {
    const recipients = await reportRecipients.find(turn.sql, { scheduleId: schedule.id, status: 'confirmed' })
    const targets = [
      ...recipients.map(({ email, id }) => ({ addressId: id, email, channelId: null })),
      ...schedule.channelIds.map((channelId) => ({ addressId: null, email: null, channelId })),
    ]
    const deliveries = targets.map((target): DeliveryRow => ({
      id: uuidv7(Date.parse(at)),
      reportId: row.id,
      ...target,
      status: 'waiting',
      error: null,
      createdAt: at,
      updatedAt: at,
    }))
    await reportDeliveries.insertAll(turn.sql, deliveries)
    for (const { id } of deliveries) turn.job(deliverReport, { deliveryId: id })
    return deliveries
  }
}

/** The reply with the file of a report. */
export function fileReply(
  { storage }: Pick<Foundation, 'storage'>,
  row: ReportRow & { readonly fileId: string; readonly size: number },
) {
  return file({
    contentType: TYPES[row.format],
    size: row.size,
    etag: row.fileId,
    name: fileName(row),
    disposition: row.format === 'pdf' ? 'inline' : 'attachment',
    modifiedAt: row.updatedAt,
    cache: 'private',
    open: contentOf(storage, fileKey(row)),
  })
}

export function fileName({ format, fromDay, toDay }: Pick<ReportRow, 'format' | 'fromDay' | 'toDay'>): string {
  return `report-${fromDay}-${toDay}.${format}`
}

export function fileKey({ fileId, workspaceId }: { readonly fileId: string; readonly workspaceId: string }): string {
  return `${workspaceId}/${fileId}`
}

/** Which of some files are reports. */
export async function findReportFiles(sql: Sql, ids: readonly string[]): Promise<string[]> {
  const rows = await reports.find(sql, { fileId: anyOf(ids) }, { columns: ['fileId'] })
  return rows.flatMap(({ fileId }) => fileId ?? [])
}

/** The language of the settings of a member. */
export async function languageOf(turn: Turn, { userId }: Member): Promise<ReportLanguageName> {
  const [reader] = await findReaders(turn.sql, [userId])
  return reportLanguage(reader?.language ?? 'en')
}

function notifyFailed(turn: Turn, row: ReportRow, schedule: ScheduleRow, reason: string): void {
  notify(turn, reportFailedNotification, {
    to: [schedule.createdBy],
    data: { reportId: row.id, schedule: schedule.name, reason },
  })
}

function keyOf({ accountIds, createdBy, format, from, language, readerScopes, to }: Request): string {
  return JSON.stringify([from, to, accountIds?.toSorted(), format, language, createdBy, readerScopes?.toSorted()])
}
