import type { Texts } from '../../../language/texts.ts'
import { renderMail } from '../../../mail/layout.ts'
import type { Mail } from '../../../mail/mailer.ts'
import { plainName, quotedName } from '../../../mail/user-text.ts'

interface ReportConfirmation {
  readonly to: string
  readonly texts: Texts
  /** The name of the member who asks. */
  readonly from: string
  readonly workspace: string
  readonly schedule: string
  readonly url: string
}

/** Asks the owner of an address whether they want the reports of a schedule. */
export function reportConfirmationMail({ texts, to, url, ...names }: ReportConfirmation): Mail {
  const about = {
    from: quotedName(texts, names.from),
    workspace: quotedName(texts, names.workspace),
    schedule: plainName(names.schedule),
  }
  const blocks = [
    texts.say('mail.hello'),
    texts.say('mail.reportConfirm.text', about),
    { link: url, label: texts.say('mail.reportConfirm.link') },
    texts.say('mail.reportConfirm.ignore'),
  ]
  return renderMail(to, texts.say('mail.reportConfirm.subject', about), blocks, { texts })
}

interface ReportMailContents {
  readonly to: string
  readonly texts: Texts
  readonly schedule: string
  readonly workspace: string
  /** The first and the last day, and the day until which the link works: ISO 8601. */
  readonly fromDay: string
  readonly toDay: string
  readonly until: string
  readonly url: string
  readonly unsubscribeUrl: string
}

/** The mail with the link to a report. */
export function reportMail({ texts, to, unsubscribeUrl, url, ...contents }: ReportMailContents): Mail {
  const day = (date: string) => texts.day(Date.parse(date))
  const about = {
    fromDay: day(contents.fromDay),
    toDay: day(contents.toDay),
    until: day(contents.until),
    schedule: plainName(contents.schedule),
    workspace: quotedName(texts, contents.workspace),
  }
  const blocks = [
    texts.say('mail.hello'),
    texts.say('mail.report.text', about),
    { link: url, label: texts.say('mail.report.link') },
    texts.say('mail.report.until', about),
  ]
  const unsubscribe = { url: unsubscribeUrl, label: texts.say('mail.report.unsubscribe') }
  return renderMail(to, texts.say('mail.report.subject', about), blocks, { texts, unsubscribe })
}
