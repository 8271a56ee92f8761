import { IntlMessageFormat } from 'intl-messageformat'
import type { NotificationType } from '../../src/core/notification.ts'
import { reportConfirmationMail, reportMail } from '../../src/domains/publishing/reports/report-mails.ts'
import { notificationMail } from '../../src/domains/talk/notifications/notification-mail.ts'
import { render } from '../../src/domains/talk/notifications/render.ts'
import { ticketMail, type TicketMailText } from '../../src/domains/talk/support/ticket-mail.ts'
import { invitationMail } from '../../src/domains/workspace/team/mail.ts'
import { rawTexts, textsFor, type Texts, type TextValues } from '../../src/language/texts.ts'
import type { Mail } from '../../src/mail/mailer.ts'
import {
  accountDeletionMail,
  confirmedElsewhereMail,
  passwordResetMail,
  securityMail,
  verificationMail,
  welcomeMail,
  type SecurityEvent,
} from '../../src/mail/templates.ts'
import { notificationTypes } from '../../src/registry/notifications.ts'

/** Sample user text: in neither language of the mails, with a word that is wider than a phone. */
const WRITTEN = `Lorem ipsum ${'dolorsitamet'.repeat(8)}`
const URL_OF_SERVER = 'https://crier.example.com'
const LINK = `${URL_OF_SERVER}/links?token=`.padEnd(400, 'x')
const AT = new Date('2026-12-01T10:00:00Z')

export interface MailSample {
  readonly name: string
  readonly mail: Mail
}

/** Every mail that this server sends, in one language. Notifications come from the registry, in each variant of their text. */
export function mailSamples(language: string): MailSample[] {
  return [...notificationMails(language), digest(language), ...accountMails(language), ...otherMails(language)]
}

function notificationMails(language: string): MailSample[] {
  const mailed = [...notificationTypes.values()].filter(({ ownMail }) => ownMail !== true)
  return mailed.flatMap((type) =>
    choicesOf(type).map((choices) => ({
      name: [type.name, ...Object.values(choices)].join(' '),
      mail: mailAbout(textsFor(language), [[type, choices]]),
    })),
  )
}

function digest(language: string): MailSample {
  const types = [...notificationTypes.values()].slice(0, 4)
  return {
    name: 'digest',
    mail: mailAbout(
      textsFor(language),
      types.map((type) => [type, {}]),
    ),
  }
}

type Choices = Readonly<Record<string, string>>

function mailAbout(texts: Texts, told: readonly (readonly [NotificationType, Choices])[]): Mail {
  const kinds = [...new Set(told.map(([{ kind }]) => texts.say(`kind.${kind}`)))]
  const mandatory = told.some(([type]) => type.mandatory === true)
  return notificationMail({
    to: 'ada@example.com',
    texts,
    notifications: told.map(([type, choices]) => ({
      ...render(texts, { type: type.name, data: dataOf(type, choices), actors: [WRITTEN], people: 3, count: 3 }),
      workspace: WRITTEN,
      link: type.page && { link: `${URL_OF_SERVER}${type.page}`, label: texts.find(`${type.name}.link`) },
    })),
    ...(!mandatory && { unsubscribe: { url: LINK, label: texts.say('mail.unsubscribe', { kind: kinds.join(', ') }) } }),
  })
}

/** The example data of a notification type, with its user-written text replaced by `WRITTEN`. */
function dataOf({ example }: NotificationType, choices: Choices): Record<string, string | number> {
  const entries = Object.entries(example as Record<string, string | number>).map(([name, value]) => {
    const isWritten = typeof value === 'string' && name !== 'day' && name !== 'until'
    return [name, choices[name] ?? (isWritten ? WRITTEN : value)] as const
  })
  return Object.fromEntries(entries)
}

/** Values for the fields that select a variant of the text, one set per variant. */
function choicesOf({ name }: NotificationType): Choices[] {
  const texts = rawTexts('en')
  const found = new Map<string, Set<string>>()
  for (const text of [texts[`${name}.title`], texts[`${name}.text`]]) collectChoices(text ?? '', found)
  const most = Math.max(1, ...[...found.values()].map(({ size }) => size))
  return Array.from({ length: most }, (_, index) =>
    Object.fromEntries([...found].map(([field, values]) => [field, [...values][index % values.size] ?? ''])),
  )
}

function collectChoices(text: string, found: Map<string, Set<string>>): void {
  for (const part of new IntlMessageFormat(text, 'en').getAst()) {
    // Plurals have options too, and an offset.
    if (!('options' in part) || 'offset' in part) continue
    const values = found.get(part.value) ?? new Set()
    for (const value of Object.keys(part.options)) values.add(value)
    found.set(part.value, values)
  }
}

function accountMails(locale: string): MailSample[] {
  const to = { email: 'ada@example.com', name: WRITTEN, locale }
  const security = Object.keys(rawTexts('en')).flatMap((key) => /^mail\.security\.(\w+)\.subject$/.exec(key)?.[1] ?? [])
  const details = { key: WRITTEN, provider: 'Google', device: 'Firefox 130', passkey: WRITTEN, left: 2 }
  const keys = [AT.toISOString(), null].map((lastUsedAt) => ({ name: WRITTEN, prefix: 'crier_ab', lastUsedAt }))
  return [
    { name: 'code', mail: verificationMail(to, '042137') },
    { name: 'welcome', mail: welcomeMail(to, URL_OF_SERVER) },
    { name: 'elsewhere', mail: confirmedElsewhereMail(to, URL_OF_SERVER, 'x'.repeat(43)) },
    { name: 'reset', mail: passwordResetMail(to, URL_OF_SERVER, 'x'.repeat(43)) },
    { name: 'deletion', mail: accountDeletionMail(to, AT) },
    ...security.map((kind) => ({
      name: `security ${kind}`,
      mail: securityMail(to, { kind, ...details } as unknown as SecurityEvent),
    })),
    ...[[], keys].map((kept) => ({
      name: `password changed ${kept.length} keys`,
      mail: securityMail(to, { kind: 'password_changed', keys: kept }),
    })),
  ]
}

function otherMails(language: string): MailSample[] {
  const to = 'ada@example.com'
  const texts = textsFor(language)
  const invitation = {
    to,
    language,
    workspaceName: WRITTEN,
    inviter: { name: WRITTEN, email: 'grace@example.com' },
    role: 'editor',
    message: WRITTEN,
    token: 'x'.repeat(43),
    expiresAt: AT,
    publicUrl: URL_OF_SERVER,
  }
  const report = { to, texts, workspace: WRITTEN, schedule: WRITTEN, url: LINK }
  const days = { fromDay: '2026-11-01', toDay: '2026-11-30', until: '2026-12-30' }
  const unverified = { address: `${'a'.repeat(60)}@example.com` }
  const tickets: Readonly<Record<TicketMailText, TextValues | undefined>> = {
    'mail.support.created': undefined,
    'mail.support.createdUnverified': unverified,
    'mail.support.repliedByTeam': undefined,
    'mail.support.repliedToUnverified': undefined,
    'mail.support.repliedByUser': undefined,
    'mail.support.addedUnverified': unverified,
    'mail.support.assigned': undefined,
    'mail.support.closed': undefined,
  }
  return [
    { name: 'invitation', mail: invitationMail(invitation) },
    { name: 'report confirmation', mail: reportConfirmationMail({ ...report, from: WRITTEN }) },
    { name: 'report', mail: reportMail({ ...report, ...days, unsubscribeUrl: LINK }) },
    ...(Object.keys(tickets) as TicketMailText[]).map((text) => ({
      name: `ticket ${text.replace('mail.support.', '')}`,
      mail: ticketMail({
        to,
        texts,
        text,
        values: tickets[text],
        ticket: WRITTEN,
        content: `${WRITTEN}\n${WRITTEN}`,
        replyTo: 'reply@example.com',
      }),
    })),
  ]
}
