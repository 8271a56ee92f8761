import type { Readable } from 'node:stream'
import type { Caller } from '../../../core/caller.ts'
import { AppError } from '../../../core/error.ts'
import type { Services } from '../../../core/services.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Foundation } from '../../../foundation.ts'
import { textsFor } from '../../../language/texts.ts'
import { MailRefusedError, type Mail, type Mailer } from '../../../mail/mailer.ts'
import { findNames, requireStillMember } from '../../workspace/workspaces/index.ts'
import { reportWords } from '../analytics/index.ts'
import type { ReportLinks } from './links.ts'
import { invalidPage } from './page.ts'
import { reportMail } from './report-mails.ts'
import { fileKey, fileName, fileReply, type ReportFiles } from './report-files.ts'
import {
  reportDeliveries,
  reportRecipients,
  reports,
  reportSchedules,
  type DeliveryRow,
  type ReportRow,
} from './tables.ts'
import { postReport, recordDelivery } from './turns.ts'

/** Characters of the summary in a message. */
const MAX_CHARACTERS = 4_000

interface Parts {
  readonly chat: Services['chat']
  readonly workspaces: Services['workspaces']
  readonly links: ReportLinks
  readonly files: ReportFiles
  readonly branding: Pick<Services['analytics']['branding'], 'linkDomain'>
}

interface Attempt {
  readonly jobId: string
  readonly last: boolean
  readonly mailer: Mailer
}

/** Sends reports of schedules to addresses and channels. */
export class ReportCourier {
  readonly #foundation: Foundation
  readonly #parts: Parts

  constructor(foundation: Foundation, parts: Parts) {
    this.#foundation = foundation
    this.#parts = parts
  }

  /** @throws while another attempt can help */
  async deliver(id: string, attempt: Attempt): Promise<void> {
    const { database, turns } = this.#foundation
    const delivery = await reportDeliveries.first(database, { id, status: 'waiting' })
    const row = delivery && (await reports.first(database, { id: delivery.reportId }))
    if (delivery === undefined || row === undefined || row.fileId === null) return
    const { workspaceId } = row
    try {
      if (delivery.channelId !== null) return await this.#toChannel(row, delivery)
      const mail = await this.#mail(row, delivery)
      if (mail !== undefined) await attempt.mailer.send(mail, attempt.jobId)
      const error = mail === undefined ? 'The address was removed, or does not want the reports any more.' : null
      await turns.system(workspaceId, recordDelivery, { deliveryId: id, error })
    } catch (error) {
      const isFinal =
        attempt.last || error instanceof MailRefusedError || (error instanceof AppError && error.status < 500)
      if (!isFinal) throw error
      const reason = error instanceof AppError ? error.message : 'The mail server does not take the mail.'
      await turns.system(workspaceId, recordDelivery, { deliveryId: id, error: reason })
    }
  }

  /** Posts a report, and marks it as sent in the same turn. @throws AppError */
  async post(turn: Turn, deliveryId: string, attachmentId: string): Promise<void> {
    const delivery = await reportDeliveries.first(turn.sql, { id: deliveryId, status: 'waiting' })
    const row = delivery && (await reports.first(turn.sql, { id: delivery.reportId, workspaceId: turn.workspaceId }))
    if (delivery?.channelId == null || row === undefined) return
    const member = await requireStillMember(turn, row.createdBy, 'chat:write')
    const caller: Caller = { userId: row.createdBy, email: '', isAdmin: false, emailVerified: true, via: 'ticket' }
    const name = await this.#nameOf(row)
    const span = reportWords(row.language).span(row.fromDay, row.toDay)
    const body = [`${name}: ${span}`, ...row.summary].join('\n')
    await this.#parts.chat.messages.send(turn, caller, member, delivery.channelId, {
      // Texts of posts must not mention anyone.
      body: Array.from(body.replaceAll(/<(?=[@!])/g, '‹'))
        .slice(0, MAX_CHARACTERS)
        .join(''),
      attachments: [attachmentId],
      clientId: `report-${deliveryId}`,
    })
    await this.#parts.files.delivered(turn, deliveryId, null)
  }

  /** The file behind a link of a mail. @param accepted the Accept-Language header */
  async open(token: string, accepted: string | undefined) {
    const { database } = this.#foundation
    const link = this.#parts.links.read(token)
    const delivery = link?.purpose === 'file' ? await reportDeliveries.first(database, { id: link.id }) : undefined
    const row = delivery && (await reports.first(database, { id: delivery.reportId }))
    if (row === undefined || row.fileId === null || row.size === null) return invalidPage(accepted)
    return fileReply(this.#foundation, { ...row, fileId: row.fileId, size: row.size })
  }

  async #toChannel(row: ReportRow, { id }: DeliveryRow): Promise<void> {
    const { storage, turns } = this.#foundation
    const member = await this.#parts.workspaces.memberships.find(row.workspaceId, row.createdBy)
    const content = row.fileId === null ? undefined : await storage.get(fileKey({ ...row, fileId: row.fileId }))
    if (member === undefined || content === undefined) {
      const error = member === undefined ? 'The member who posts it has left the workspace.' : 'The file was deleted.'
      return turns.system(row.workspaceId, recordDelivery, { deliveryId: id, error })
    }
    const attachment = await this.#parts.chat.attachments.take(member, uploadOf(content, fileName(row)))
    await turns.system(row.workspaceId, postReport, { deliveryId: id, attachmentId: attachment._id })
  }

  async #mail(row: ReportRow, { addressId, email, id }: DeliveryRow): Promise<Mail | undefined> {
    const { database } = this.#foundation
    if (email === null || addressId === null) return undefined
    if (!(await reportRecipients.exists(database, { id: addressId, status: 'confirmed' }))) return undefined
    const names = await findNames(database, [row.workspaceId])
    const { branding, links } = this.#parts
    const domain = await branding.linkDomain(row.workspaceId)
    return reportMail({
      to: email,
      texts: textsFor(row.language),
      schedule: await this.#nameOf(row),
      workspace: names.get(row.workspaceId) ?? '',
      fromDay: row.fromDay,
      toDay: row.toDay,
      until: row.expiresAt.slice(0, 10),
      url: links.url({ purpose: 'file', id }, domain),
      unsubscribeUrl: links.url({ purpose: 'unsubscribe', id: addressId }, domain),
    })
  }

  async #nameOf({ language, scheduleId }: ReportRow): Promise<string> {
    const schedule =
      scheduleId === null ? undefined : await reportSchedules.first(this.#foundation.database, { id: scheduleId })
    return schedule?.name ?? reportWords(language).say('title')
  }
}

/** A stored file as an upload. */
function uploadOf(stream: Readable, name: string) {
  return { stream, blocks: stream, name, type: '', announced: undefined, contentRange: '' }
}
