import { TimeOfDay, WEEKDAYS } from '../../../core/local-times.ts'
import { pageFields } from '../../../core/page.ts'
import {
  Id,
  Input,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  States,
  Text,
  Timestamp,
  Type,
  type Static,
} from '../../../core/schema.ts'
import { Several } from '../../../core/several.ts'
import { EmailInput } from '../../identity/users/index.ts'
import { accountsField, ReportLanguage, spanFields } from '../analytics/index.ts'

export const FORMATS = ['pdf', 'html'] as const
export type ReportFormat = (typeof FORMATS)[number]

const Format = OneOf(FORMATS, { description: '`pdf`, or `html` for a page without scripts' })

const ReportStatus = States('ReportStatus', 'The progress of a report', {
  waiting: 'It has not been started. It can wait for other reports',
  running: 'It is being made. `percent` is its progress',
  done: 'It can be downloaded until `expiresAt`',
  failed: 'It could not be made. `error` says why',
})
export type ReportStatusName = Static<typeof ReportStatus>

const DeliveryStatus = States('ReportDeliveryStatus', 'Whether a report has reached an address or a channel', {
  waiting: 'It is not sent yet',
  sent: 'The mail server has accepted the mail, or the message is in the channel',
  failed: 'It could not be sent. `error` says why',
})
export type DeliveryStatusName = Static<typeof DeliveryStatus>

const DeliveryView = Type.Object({
  email: Nullable(Type.String({ description: 'The address. Null for a channel' })),
  channelId: Nullable(Type.String({ ...Id, description: 'The chat channel. Null for an address' })),
  status: DeliveryStatus,
  error: Nullable(Type.String({ description: 'Why it could not be sent' })),
})

export const ReportView = named(
  'Report',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    scheduleId: Nullable(Type.String({ ...Id, description: 'The schedule that asked for it. Null if a member did' })),
    createdBy: Nullable(
      Type.String({
        ...Id,
        description: 'The member whose permissions decide what it contains. Null if the account was deleted',
      }),
    ),
    from: Type.String({ format: 'date', description: 'The first day' }),
    to: Type.String({ format: 'date', description: 'The last day' }),
    accountIds: Nullable(Type.Array(Id, { description: 'Only these accounts. Null for all of the workspace' })),
    format: Format,
    language: ReportLanguage('The language of the file'),
    status: ReportStatus,
    percent: Type.Number({ description: 'How much of it is made, from 0 to 100' }),
    jobId: Nullable(Type.String({ ...Id, description: 'The job that makes it. `job.progress` reports its progress' })),
    error: Nullable(Type.String({ description: 'Why it could not be made' })),
    size: Nullable(Type.Integer({ description: 'Bytes of the file. Null until it is made' })),
    expiresAt: Type.String({ ...Timestamp, description: 'When it is deleted' }),
    reportDeliveries: Type.Array(DeliveryView, { description: 'Where a schedule sends it' }),
  }),
)
export type ReportData = Static<typeof ReportView>

export const NewReport = Input({
  workspaceId: Id,
  ...accountsField,
  ...spanFields,
  format: Type.Optional(Format),
  language: Type.Optional(ReportLanguage('By default the language of your settings')),
})
export type NewReportInput = Static<typeof NewReport>
export const ReportsQuery = Input({
  workspaceId: Id,
  scheduleId: Several(Id, { description: 'Only the reports of this schedule' }),
  ...pageFields,
})
export const ReportPath = Input({ id: Id })

const SchedulePause = States('ReportSchedulePause', 'Why a schedule makes no reports', {
  by_member: 'A member has paused it',
  no_access: 'Its `createdBy` has left the workspace, or can no longer see analytics',
})
export type SchedulePauseReason = Static<typeof SchedulePause>

const RecipientStatus = States('ReportRecipientStatus', 'Whether an address gets the reports of a schedule', {
  waiting: 'Its owner was asked by mail and has not confirmed yet. It gets no reports until then',
  confirmed: 'It gets the reports',
  unsubscribed: 'Its owner does not want them. Only the owner can change that, by a new confirmation',
})
export type RecipientStatusName = Static<typeof RecipientStatus>

export const MAX_RECIPIENTS = 20
export const MAX_CHANNELS = 5

const ScheduleStatus = States('ReportScheduleStatus', 'Whether a schedule makes reports', {
  active: 'The next report is made at `nextReportAt`',
  paused: 'It makes no reports until it is resumed. `pausedReason` says why',
})

const scheduleFields = {
  name: Text(1, 100, { description: 'A name for members, such as “Weekly report for Acme”' }),
  interval: OneOf(['day', 'week', 'month'] as const, {
    description:
      'A report each day is about the day before, each week about the seven days before, and each month about the month before',
  }),
  weekday: OneOf(WEEKDAYS, { description: 'The day of a weekly report. Monday by default' }),
  monthDay: Type.Integer({ minimum: 1, maximum: 28, description: 'The day of a monthly report. 1 by default' }),
  time: Type.String({ ...TimeOfDay, description: 'The time in the zone of the workspace, such as 08:00' }),
  format: Format,
  language: ReportLanguage(
    'The language of the reports, their mails and the pages of their links. By default that of the settings of the member who creates the schedule',
  ),
  recipientEmails: Type.Array(EmailInput, {
    maxItems: MAX_RECIPIENTS,
    uniqueItems: true,
    description:
      'Addresses that get a mail with a link to each report. People who are not members of the workspace must agree first, and can unsubscribe by a link in each mail',
  }),
  channelIds: Type.Array(Id, {
    maxItems: MAX_CHANNELS,
    uniqueItems: true,
    description: 'Channels that get each report as a message with the file, from `createdBy`',
  }),
}

export const NewSchedule = Input({
  workspaceId: Id,
  name: scheduleFields.name,
  interval: scheduleFields.interval,
  weekday: Type.Optional(scheduleFields.weekday),
  monthDay: Type.Optional(scheduleFields.monthDay),
  time: Type.Optional(scheduleFields.time),
  ...accountsField,
  format: Type.Optional(scheduleFields.format),
  language: Type.Optional(scheduleFields.language),
  recipientEmails: Type.Optional(scheduleFields.recipientEmails),
  channelIds: Type.Optional(scheduleFields.channelIds),
})
export type NewScheduleInput = Static<typeof NewSchedule>

export const ScheduleChange = Input(
  {
    name: Type.Optional(scheduleFields.name),
    interval: Type.Optional(scheduleFields.interval),
    weekday: Type.Optional(scheduleFields.weekday),
    monthDay: Type.Optional(scheduleFields.monthDay),
    time: Type.Optional(scheduleFields.time),
    accountIds: Type.Optional(Nullable(accountsField.accountIds)),
    format: Type.Optional(scheduleFields.format),
    language: Type.Optional(scheduleFields.language),
    recipientEmails: Type.Optional(scheduleFields.recipientEmails),
    channelIds: Type.Optional(scheduleFields.channelIds),
    status: Type.Optional(ScheduleStatus),
  },
  { minProperties: 1 },
)
export type ScheduleChangeInput = Static<typeof ScheduleChange>

export const ScheduleView = named(
  'ReportSchedule',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    name: Type.String({ description: 'The name for members' }),
    interval: scheduleFields.interval,
    weekday: scheduleFields.weekday,
    monthDay: scheduleFields.monthDay,
    time: Type.String({ description: 'The time in `timezone`' }),
    timezone: Type.String({ description: 'The zone of the workspace' }),
    accountIds: Nullable(Type.Array(Id, { description: 'Only these accounts. Null for all of the workspace' })),
    format: Format,
    language: ReportLanguage('The language of the reports, their mails and the pages of their links'),
    recipients: Type.Array(
      Type.Object({ email: Type.String({ description: 'The address' }), status: RecipientStatus }),
      {
        description: 'Who gets the reports by mail',
      },
    ),
    channelIds: scheduleFields.channelIds,
    status: ScheduleStatus,
    pausedReason: Nullable(SchedulePause),
    createdBy: Nullable(
      Type.String({ ...Id, description: 'The member whose permissions reports use. Null if the account was deleted' }),
    ),
    nextReportAt: Nullable(Type.String({ ...Timestamp, description: 'Null while it is paused' })),
    lastReport: Nullable(
      Type.Object(
        {
          reportId: Id,
          status: ReportStatus,
          error: ReportView.properties.error,
          failedDeliveryCount: Type.Integer({ description: 'How many addresses and channels it could not be sent to' }),
        },
        { description: 'Null before the first one, and when it was deleted' },
      ),
    ),
    version: Type.Integer({ description: 'Increases with every change by a member. Use it in If-Match' }),
  }),
)
export type ScheduleData = Static<typeof ScheduleView>

export const SchedulesQuery = Input({ workspaceId: Id, ...pageFields })
export const SchedulePath = Input({ id: Id })
export const TokenPath = Input({
  token: Type.String({ minLength: 1, maxLength: 300, description: 'The end of the link of a mail' }),
})
