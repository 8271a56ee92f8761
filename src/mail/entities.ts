import { defineEntity, p } from '@mikro-orm/postgresql'

/** Mails that were sent to an address that somebody typed, for as long as they count towards a limit. */
export const MailLog = defineEntity({
  name: 'MailLog',
  tableName: 'mail_log',
  indexes: [
    { name: 'mail_log_by_recipient', properties: ['recipient', 'sentAt'] },
    { name: 'mail_log_by_account', properties: ['accountId', 'sentAt'] },
    { name: 'mail_log_by_workspace', properties: ['workspaceId', 'sentAt'] },
  ],
  properties: {
    id: p.uuid().primary(),
    kind: p.text(),
    /** A keyed digest of the address. */
    recipient: p.text(),
    accountId: p.uuid().nullable(),
    workspaceId: p.uuid().nullable(),
    sentAt: p.datetime().columnType('timestamptz').index('mail_log_by_age'),
  },
})

export const mailEntities = [MailLog]
