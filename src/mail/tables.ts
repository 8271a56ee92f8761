import { defineEntity, p } from '@mikro-orm/postgresql'
import { timestamp } from '../db/columns.ts'
import { table } from '../db/table.ts'
import type { LimitedMail } from './limits.ts'

/** Mails sent to addresses that users entered. Rows are kept while they count towards a limit. */
export const MailLog = defineEntity({
  name: 'MailLog',
  tableName: 'mail_log',
  indexes: [
    { name: 'mail_log_by_person', properties: ['accountId', 'id'] },
    { name: 'mail_log_by_recipient', properties: ['recipient', 'sentAt'] },
    { name: 'mail_log_by_account', properties: ['accountId', 'sentAt'] },
    { name: 'mail_log_by_workspace', properties: ['workspaceId', 'sentAt'] },
  ],
  properties: {
    id: p.uuid().primary(),
    kind: p.text().$type<LimitedMail>(),
    /** A keyed digest of the address. */
    recipient: p.text(),
    accountId: p.uuid().nullable(),
    workspaceId: p.uuid().nullable(),
    sentAt: timestamp().index('mail_log_by_age'),
  },
})

export const mailLog = table(MailLog)
