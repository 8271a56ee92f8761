import type { Member } from '../../../core/caller.ts'
import { AppError } from '../../../core/error.ts'
import { NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Services } from '../../../core/services.ts'
import type { Turn } from '../../../core/turn.ts'
import { atMost } from '../../../db/condition.ts'
import type { Foundation } from '../../../foundation.ts'
import { writableChannel } from '../../talk/chat/index.ts'
import { notify } from '../../talk/notifications/index.ts'
import { ownerIds, requireStillMember, timeZoneOf } from '../../workspace/workspaces/index.ts'
import { reportScheduleCreated, reportScheduleDeleted, reportScheduleUpdated } from './events.ts'
import { reportSchedulePausedNotification } from './notifications.ts'
import type { ReportRecipients } from './recipients.ts'
import { languageOf, type ReportFiles } from './report-files.ts'
import { lastTime, spanBefore, timeAfter, type Rhythm } from './rhythm.ts'
import type { NewScheduleInput, ScheduleChangeInput, ScheduleData, SchedulePauseReason } from './schemas.ts'
import { reportRecipients, reportSchedules, type ScheduleRow } from './tables.ts'
import { scheduleViews } from './views.ts'

interface Parts {
  readonly analytics: Services['analytics']
  readonly plans: Services['plans']
  readonly recipients: ReportRecipients
  readonly files: ReportFiles
}

/** How many due schedules are read at once. */
const AT_ONCE = 500

/** Report schedules: which report is sent, its recipients, and when. */
export class ReportSchedules {
  readonly #foundation: Foundation
  readonly #parts: Parts

  constructor(foundation: Foundation, parts: Parts) {
    this.#foundation = foundation
    this.#parts = parts
  }

  /** @throws AppError plan_limit_reached, not_found, validation_failed, too_many_mails */
  async create(turn: Turn, member: Member, body: NewScheduleInput): Promise<ScheduleData> {
    const count = await reportSchedules.count(turn.sql, { workspaceId: turn.workspaceId })
    await this.#parts.plans.requireRoom(turn.workspaceId, 'reportSchedules', count)
    await this.#check(turn, member, body)
    const now = this.#foundation.clock.now()
    const at = new Date(now).toISOString()
    const rhythm: Rhythm = {
      interval: body.interval,
      weekday: body.weekday ?? 'monday',
      monthDay: body.monthDay ?? 1,
      time: body.time ?? '08:00',
      zone: await timeZoneOf(turn.sql, turn.workspaceId),
    }
    const row: ScheduleRow = {
      id: uuidv7(now),
      workspaceId: turn.workspaceId,
      name: body.name,
      ...rhythm,
      accountIds: body.accountIds ? [...body.accountIds] : null,
      format: body.format ?? 'pdf',
      language: body.language ?? (await languageOf(turn, member)),
      channelIds: [...(body.channelIds ?? [])],
      ...readerOf(member),
      pausedReason: null,
      nextAt: new Date(timeAfter(rhythm, now)).toISOString(),
      version: 1,
      createdAt: at,
      updatedAt: at,
    }
    await reportSchedules.insert(turn.sql, row)
    await this.#parts.recipients.replace(turn, row, body.recipientEmails ?? [], member.userId)
    turn.audit({ kind: 'report_schedule', id: row.id, details: { recipientEmails: body.recipientEmails ?? [] } })
    const view = await this.#view(turn, row)
    turn.emit(reportScheduleCreated, view)
    return view
  }

  async list(workspaceId: string, page: PageRequest): Promise<PageResult<ScheduleData>> {
    const rows = await reportSchedules.page(this.#foundation.database, { workspaceId }, page)
    const views = new Map((await scheduleViews(this.#foundation.database, rows)).map((view) => [view._id, view]))
    const shown = rows.flatMap((row) => views.get(row.id) ?? [])
    return pageOf(
      shown,
      page.limit,
      ({ _id, createdAt }) => ({ createdAt, id: _id }),
      (view) => view,
    )
  }

  /** @throws AppError not_found */
  async get(workspaceId: string, id: string): Promise<ScheduleData> {
    const row = await reportSchedules.first(this.#foundation.database, { id, workspaceId })
    const [view] = row === undefined ? [] : await scheduleViews(this.#foundation.database, [row])
    if (view === undefined) throw NotFound()
    return view
  }

  /** @throws AppError not_found, precondition_failed, validation_failed, too_many_mails */
  async update(
    turn: Turn,
    member: Member,
    id: string,
    body: ScheduleChangeInput,
    ifMatch: IfMatch,
  ): Promise<ScheduleData> {
    const row = await reportSchedules.first(turn.sql, { id, workspaceId: turn.workspaceId })
    if (row === undefined) throw NotFound()
    requireVersion(ifMatch, row.version)
    await this.#check(turn, member, body)
    const { recipientEmails, status, ...fields } = body
    const isPaused = status === undefined ? row.pausedReason !== null : status === 'paused'
    // A member who changes what reports contain or where they go is responsible for them.
    const isTakenOver =
      (status === 'active' && row.pausedReason !== null) ||
      [fields.accountIds, fields.channelIds, recipientEmails].some((field) => field !== undefined)
    const next: ScheduleRow = {
      ...row,
      ...fields,
      ...(isTakenOver && readerOf(member)),
      pausedReason: isPaused ? (row.pausedReason ?? 'by_member') : null,
    }
    const now = this.#foundation.clock.now()
    const rhythm = { ...next, zone: await timeZoneOf(turn.sql, turn.workspaceId) }
    const isMoved = (['interval', 'weekday', 'monthDay', 'time', 'zone'] as const).some(
      (name) => rhythm[name] !== row[name],
    )
    const keepsTime = !isPaused && !isMoved && row.nextAt !== null
    const changed: ScheduleRow = {
      ...rhythm,
      nextAt: isPaused ? null : keepsTime ? row.nextAt : new Date(timeAfter(rhythm, now)).toISOString(),
      version: row.version + 1,
      updatedAt: new Date(now).toISOString(),
    }
    const { createdAt: _created, id: _id, workspaceId: _workspace, ...changes } = changed
    await reportSchedules.update(turn.sql, { id }, changes)
    if (recipientEmails !== undefined) {
      await this.#parts.recipients.replace(turn, changed, recipientEmails, member.userId)
    }
    turn.audit({ kind: 'report_schedule', id, ...(recipientEmails !== undefined && { details: { recipientEmails } }) })
    return this.#announce(turn, changed)
  }

  /** @throws AppError not_found, precondition_failed */
  async delete(turn: Turn, id: string, ifMatch: IfMatch): Promise<void> {
    const row = await reportSchedules.first(turn.sql, { id, workspaceId: turn.workspaceId }, { columns: ['version'] })
    if (row === undefined) throw NotFound()
    requireVersion(ifMatch, row.version)
    await reportSchedules.delete(turn.sql, { id })
    turn.audit({ kind: 'report_schedule', id })
    turn.emit(reportScheduleDeleted, { reportScheduleId: id })
  }

  /** The schedules that are due. */
  due(): Promise<Pick<ScheduleRow, 'id' | 'workspaceId'>[]> {
    const nextAt = atMost(new Date(this.#foundation.clock.now()))
    return reportSchedules.find(
      this.#foundation.database,
      { nextAt },
      { columns: ['id', 'workspaceId'], orderBy: ['nextAt asc'], limit: AT_ONCE },
    )
  }

  /**
   * Requests the report of a due schedule once: the report and the next time commit together, in the actor of the workspace.
   * After several missed times, only the last one makes a report.
   */
  async start(turn: Turn, id: string): Promise<void> {
    const row = await reportSchedules.first(turn.sql, { id, workspaceId: turn.workspaceId, pausedReason: null })
    const now = this.#foundation.clock.now()
    if (row === undefined || row.nextAt === null || Date.parse(row.nextAt) > now) return
    if (!(await canRead(turn, row.createdBy))) return this.#pause(turn, row, 'no_access')
    const dueAt = lastTime(row, Date.parse(row.nextAt), now)
    await this.#parts.files.request(turn, {
      ...spanBefore(row, dueAt),
      accountIds: row.accountIds,
      format: row.format,
      language: row.language,
      createdBy: row.createdBy,
      readerScopes: row.readerScopes,
      schedule: { id, dueAt: new Date(dueAt).toISOString() },
    })
    const zone = await timeZoneOf(turn.sql, turn.workspaceId)
    await reportSchedules.update(turn.sql, { id }, { zone, nextAt: new Date(timeAfter({ ...row, zone }, now)) })
  }

  /** Moves the times of a workspace to its zone. */
  async moveToZone(turn: Turn): Promise<void> {
    const zone = await timeZoneOf(turn.sql, turn.workspaceId)
    for (const row of await reportSchedules.find(turn.sql, { workspaceId: turn.workspaceId })) {
      if (row.zone === zone) continue
      const now = this.#foundation.clock.now()
      const nextAt = row.nextAt === null ? null : new Date(timeAfter({ ...row, zone }, now)).toISOString()
      const changes = { zone, nextAt }
      await reportSchedules.update(turn.sql, { id: row.id }, changes)
      await this.#announce(turn, { ...row, ...changes })
    }
  }

  /** Stores the answer of a recipient. */
  async answer(turn: Turn, recipientId: string, status: 'confirmed' | 'unsubscribed'): Promise<void> {
    const recipient = await reportRecipients.first(turn.sql, { id: recipientId })
    if (recipient === undefined || recipient.status === status) return
    const row = await reportSchedules.first(turn.sql, { id: recipient.scheduleId, workspaceId: turn.workspaceId })
    if (row === undefined) return
    await reportRecipients.update(turn.sql, { id: recipientId }, { status })
    await this.#announce(turn, row)
  }

  async #pause(turn: Turn, row: ScheduleRow, pausedReason: SchedulePauseReason): Promise<void> {
    const updatedAt = new Date(this.#foundation.clock.now()).toISOString()
    const changes = { pausedReason, nextAt: null, version: row.version + 1, updatedAt }
    await reportSchedules.update(turn.sql, { id: row.id }, changes)
    notify(turn, reportSchedulePausedNotification, {
      to: await ownerIds(turn.sql, turn.workspaceId),
      data: { reportScheduleId: row.id, schedule: row.name },
    })
    await this.#announce(turn, { ...row, ...changes })
  }

  /** @throws AppError not_found for an unknown account; validation_failed for channels that the member cannot write in */
  async #check(
    turn: Turn,
    member: Member,
    body: Pick<ScheduleChangeInput, 'accountIds' | 'channelIds'>,
  ): Promise<void> {
    const { accountIds, channelIds = [] } = body
    if (accountIds) await this.#parts.analytics.reports.daysOf({ workspaceId: turn.workspaceId, accountIds })
    if (channelIds.length === 0) return
    const errors = []
    for (const [index, channelId] of channelIds.entries()) {
      const message = await this.#channelFault(turn, member, channelId)
      if (message !== undefined) errors.push({ path: `/body/channelIds/${index}`, code: 'unusable', message })
    }
    if (errors.length > 0) throw ValidationFailed({ errors })
  }

  async #channelFault(turn: Turn, member: Member, channelId: string): Promise<string | undefined> {
    if (!member.scopes.has('chat:write')) return 'needs the scope chat:write, because reports are posted in your name'
    try {
      await writableChannel(turn, member, channelId)
      return undefined
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return error.code === 'not_found' ? 'must be a channel that you can see' : error.message
    }
  }

  async #announce(turn: Turn, row: ScheduleRow): Promise<ScheduleData> {
    const view = await this.#view(turn, row)
    turn.emit(reportScheduleUpdated, view)
    return view
  }

  async #view(turn: Turn, row: ScheduleRow): Promise<ScheduleData> {
    const [view] = await scheduleViews(turn.sql, [row])
    if (view === undefined) throw NotFound()
    return view
  }
}

/** The member whose permissions reports use, with the limits of the API key. */
export function readerOf(member: Member): Pick<ScheduleRow, 'createdBy' | 'readerScopes'> {
  return { createdBy: member.userId, readerScopes: member.key === 'limited' ? [...member.scopes] : null }
}

async function canRead(turn: Turn, userId: string): Promise<boolean> {
  try {
    await requireStillMember(turn, userId, 'analytics:read')
    return true
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}
