import type { Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Services } from '../../../core/services.ts'
import type { Sql } from '../../../core/sql.ts'
import type { TurnRunner } from '../../../core/system-turn.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf } from '../../../db/condition.ts'
import type { Foundation } from '../../../foundation.ts'
import { textsFor } from '../../../language/texts.ts'
import { sendMail } from '../../../mail/jobs.ts'
import type { MailLimits } from '../../../mail/limits.ts'
import { plainName, quotedName } from '../../../mail/user-text.ts'
import { findReaders, findUserByEmail, normalizeEmail } from '../../identity/users/index.ts'
import { findMembership, findNames } from '../../workspace/workspaces/index.ts'
import type { LinkPurpose, ReportLinks } from './links.ts'
import { invalidPage, pageReply } from './page.ts'
import { reportConfirmationMail } from './report-mails.ts'
import { reportRecipients, reportSchedules, type RecipientRow, type ScheduleRow } from './tables.ts'
import { answerRecipient } from './turns.ts'

interface Parts {
  readonly sql: Sql
  readonly clock: Clock
  readonly mailLimits: MailLimits
  readonly turns: TurnRunner
  readonly links: ReportLinks
  readonly branding: Pick<Services['analytics']['branding'], 'linkDomain'>
}

/** The addresses of schedules. Only members, and people who have agreed, get reports. */
export class ReportRecipients {
  readonly #parts: Parts

  constructor({ clock, database, mailLimits, turns }: Foundation, parts: Pick<Parts, 'branding' | 'links'>) {
    this.#parts = { sql: database, clock, mailLimits, turns, ...parts }
  }

  /**
   * Replaces the addresses of a schedule. New addresses of people who are not members are asked by mail. Known addresses keep
   * their answer.
   * @throws AppError too_many_mails
   */
  async replace(turn: Turn, schedule: ScheduleRow, addresses: readonly string[], askedBy: string): Promise<void> {
    const wanted = new Set(addresses.map(normalizeEmail))
    const known = await reportRecipients.find(turn.sql, { scheduleId: schedule.id })
    const gone = known.filter(({ email }) => !wanted.has(email)).map(({ id }) => id)
    if (gone.length > 0) await reportRecipients.delete(turn.sql, { id: anyOf(gone) })
    const before = new Set(known.map(({ email }) => email))
    for (const email of wanted) if (!before.has(email)) await this.#add(turn, schedule, email, askedBy)
  }

  /**
   * The page of a link to confirm or to unsubscribe. It changes nothing: mail scanners open links too.
   * @param accepted the Accept-Language header
   */
  async page(token: string, accepted: string | undefined) {
    const found = await this.#find(token)
    if (found === undefined) return invalidPage(accepted)
    const { names, purpose, texts } = found
    const [question, button] =
      purpose === 'confirm'
        ? (['reportMails.askConfirm', 'reportMails.confirm'] as const)
        : (['reportMails.askUnsubscribe', 'reportMails.unsubscribe'] as const)
    return pageReply(200, texts, texts.say(question, names), texts.say(button))
  }

  /** Confirms or unsubscribes an address. A repetition has no further effect. @param accepted as for `page` */
  async apply(token: string, accepted: string | undefined) {
    const found = await this.#find(token)
    if (found === undefined) return invalidPage(accepted)
    const { purpose, recipient, schedule, texts } = found
    const status = purpose === 'confirm' ? ('confirmed' as const) : ('unsubscribed' as const)
    await this.#parts.turns.system(schedule.workspaceId, answerRecipient, { recipientId: recipient.id, status })
    return pageReply(200, texts, texts.say(`reportMails.${status}`))
  }

  async #add(turn: Turn, schedule: ScheduleRow, email: string, askedBy: string): Promise<void> {
    const now = this.#parts.clock.now()
    const user = await findUserByEmail(turn.sql, email)
    const isMember =
      user?.emailVerified === true && (await findMembership(turn.sql, turn.workspaceId, user.id)) !== undefined
    const status = isMember ? ('confirmed' as const) : ('waiting' as const)
    const row: RecipientRow = {
      id: uuidv7(now),
      scheduleId: schedule.id,
      email,
      status,
      createdAt: new Date(now).toISOString(),
    }
    await reportRecipients.insert(turn.sql, row)
    if (!isMember) await this.#ask(turn, schedule, row, askedBy)
  }

  async #ask(turn: Turn, schedule: ScheduleRow, { email, id }: RecipientRow, askedBy: string): Promise<void> {
    const { branding, links, mailLimits } = this.#parts
    await mailLimits.require(turn.sql, { kind: 'report', to: email, accountId: askedBy, workspaceId: turn.workspaceId })
    const [from] = await findReaders(turn.sql, [askedBy])
    const domain = await branding.linkDomain(turn.workspaceId, turn.sql)
    const mail = reportConfirmationMail({
      to: email,
      texts: textsFor(schedule.language),
      from: from?.name ?? '',
      workspace: (await findNames(turn.sql, [turn.workspaceId])).get(turn.workspaceId) ?? '',
      schedule: schedule.name,
      url: links.url({ purpose: 'confirm', id }, domain),
    })
    turn.job(sendMail, { ...mail })
  }

  async #find(token: string) {
    const { id, purpose } = this.#parts.links.read(token) ?? {}
    if (id === undefined || purpose === undefined || purpose === 'file') return undefined
    const { sql } = this.#parts
    const recipient = await reportRecipients.first(sql, { id })
    if (recipient === undefined) return undefined
    const schedule = await reportSchedules.first(sql, { id: recipient.scheduleId })
    if (schedule === undefined) return undefined
    const names = await findNames(sql, [schedule.workspaceId])
    const texts = textsFor(schedule.language)
    const workspace = quotedName(texts, names.get(schedule.workspaceId) ?? '')
    return {
      recipient,
      schedule,
      texts,
      purpose: purpose satisfies LinkPurpose,
      names: { schedule: plainName(schedule.name), workspace },
    }
  }
}
