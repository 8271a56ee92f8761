import type { TOptional, TProperties } from 'typebox'
import { Format } from 'typebox/format'
import { TimeOfDay, WEEKDAYS } from '../../../core/local-times.ts'
import { NOTIFICATION_KINDS, type NotificationKind } from '../../../core/notification.ts'
import { Input, Nullable, OneOf, Text, Type, named, type Static, type TSchema } from '../../../core/schema.ts'
import { TimeZone } from '../../../core/time-zone.ts'

/**
 * The settings of a user, with a default for each. Only settings that the user has set are stored, so a default that
 * changes later applies to everybody else.
 */

/** Whether a text is a valid language tag (BCP 47). */
export function isLocale(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1
  } catch {
    return false
  }
}

Format.Set('bcp-47', isLocale)

/** A language tag in a request. */
export const Locale = Type.String({
  format: 'bcp-47',
  maxLength: 35,
  description: 'a language tag (BCP 47) such as en or pt-BR',
})

const QueueSlot = Input({ weekday: OneOf(WEEKDAYS), time: TimeOfDay })

const utm = {
  enabled: Type.Boolean({
    description: 'Add campaign parameters to the links of your new posts, except links that already have some',
  }),
  source: Text(0, 100),
  medium: Text(0, 100),
  campaign: Text(0, 100),
  term: Text(0, 100),
  content: Text(0, 100),
}
const autoRetry = {
  enabled: Type.Boolean({ description: 'Retry your posts automatically after a temporary error of a platform' }),
  maxAttempts: Nullable(
    Type.Integer({
      minimum: 1,
      maximum: 10,
      description: 'How often a post is tried at an account. Null for no limit until it is too late (`lateMinutes`)',
    }),
  ),
}
const linkShortening = {
  enabled: Type.Boolean({ description: 'Always false: this server has no link shortener' }),
  domain: Nullable(
    Type.String({
      pattern: '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,63}$',
      maxLength: 253,
      description: 'a host name such as go.example.com',
    }),
  ),
}
const publishing = {
  defaultTimezone: Nullable(
    Type.String({ ...TimeZone, description: 'Time zone of your new posts. Null for the time zone of the workspace' }),
  ),
  queueSlots: Type.Array(QueueSlot, {
    maxItems: 168,
    uniqueItems: true,
    description: 'When your queued posts go out, in workspaces that have no queue. Replaced as a whole',
  }),
  defaultFirstComment: Text(0, 2_200, {
    description: 'First comment of your new posts, at accounts that take comments',
  }),
}

const channels = { inApp: Type.Boolean(), email: Type.Boolean(), push: Type.Boolean() }
const quietHours = {
  enabled: Type.Boolean({ description: 'Hold back push and email between these times' }),
  start: TimeOfDay,
  end: TimeOfDay,
  timezone: Nullable(TimeZone),
}

const DIGESTS = ['immediate', 'hourly', 'daily'] as const

const digest = OneOf(DIGESTS, {
  description:
    'When mails about notifications are sent: `immediate`, or together, `hourly` or `daily` at 08:00 in your time zone. Mails about billing are always immediate.',
})

/** The days that weeks can begin on. */
export const WEEK_STARTS = ['monday', 'saturday', 'sunday'] as const

const ui = {
  theme: OneOf(['system', 'light', 'dark'] as const, {
    description:
      'Colors of the pages of this server while they know you: after you have signed in there, and those that links in your mails open. `system` follows the browser. Mails follow the mail program',
  }),
  density: OneOf(['comfortable', 'compact'] as const, {
    description: 'Spacing of the same pages',
  }),
  calendarStartDay: OneOf(WEEK_STARTS, {
    description: 'The first day of weeks in your analytics with `interval=week`, unless the request names another',
  }),
  language: Nullable(Locale),
  views: Type.Array(
    Input({
      name: Text(1, 60, { description: 'As the user calls it' }),
      screen: Text(1, 60, { description: 'The page that it is for, as named by the front end' }),
      filters: Text(0, 1_000, {
        description: 'The filters of the page as a query string, such as `status=draft&label=spring`',
      }),
    }),
    { maxItems: 30, description: 'Saved views. A change replaces the list' },
  ),
  layout: Type.Array(
    Input({
      name: Text(1, 60, { description: 'A part of the front end, such as a panel' }),
      setting: Text(0, 200, { description: 'Its size, place or state' }),
    }),
    { maxItems: 50, description: 'How the front end is arranged. A change replaces the list' },
  ),
  dismissedHints: Type.Array(Text(1, 60), {
    maxItems: 200,
    description:
      'The hints that the user does not want to see again, as named by the front end. A change replaces the list',
  }),
}

function eachKind<S extends TSchema>(schema: S): Record<NotificationKind, S> {
  return Object.fromEntries(NOTIFICATION_KINDS.map((kind) => [kind, schema])) as Record<NotificationKind, S>
}

export const PublishingSettings = named(
  'PublishingSettings',
  Type.Object({
    ...publishing,
    utm: Type.Object(utm),
    autoRetry: Type.Object(autoRetry),
    linkShortening: Type.Object(linkShortening),
  }),
)
export const NotificationSettings = named(
  'NotificationSettings',
  Type.Object({
    kinds: Type.Object(eachKind(Type.Object(channels))),
    quietHours: Type.Object(quietHours),
    digest,
  }),
)
export const UiPreferences = named('UiPreferences', Type.Object(ui))

/** An object whose properties are all optional, without others. (`Type.Partial` would accept others.) */
function part<P extends TProperties>(properties: P) {
  const optional = Object.entries(properties).map(([name, schema]) => [name, Type.Optional(schema)])
  return Input(Object.fromEntries(optional) as { [K in keyof P]: TOptional<P[K]> })
}

export const PublishingChange = part({
  ...publishing,
  utm: part(utm),
  autoRetry: part(autoRetry),
  linkShortening: part(linkShortening),
})
export const NotificationChange = part({
  kinds: part(eachKind(part(channels))),
  quietHours: part(quietHours),
  digest,
})
export const UiChange = part(ui)

export interface Settings {
  readonly publishing: Static<typeof PublishingSettings>
  readonly notifications: Static<typeof NotificationSettings>
  readonly ui: Static<typeof UiPreferences>
}

/** The settings that the user has set. */
export type StoredSettings = { readonly [section: string]: unknown }

const channelsOf = (inApp: boolean, email: boolean, push: boolean) => ({ inApp, email, push })

export const DEFAULT_SETTINGS: Settings = {
  publishing: {
    defaultTimezone: null,
    queueSlots: [],
    defaultFirstComment: '',
    utm: { enabled: false, source: 'crier', medium: 'social', campaign: '', term: '', content: '' },
    autoRetry: { enabled: true, maxAttempts: null },
    linkShortening: { enabled: false, domain: null },
  },
  notifications: {
    kinds: {
      postPublished: channelsOf(true, false, false),
      postFailed: channelsOf(true, true, true),
      approvalRequested: channelsOf(true, true, true),
      approvalDecided: channelsOf(true, false, true),
      mention: channelsOf(true, true, true),
      comment: channelsOf(true, false, false),
      directMessage: channelsOf(true, true, true),
      streamStarted: channelsOf(true, false, false),
      streamInterrupted: channelsOf(true, false, true),
      streamEnded: channelsOf(true, false, false),
      streamingMinutesLow: channelsOf(true, true, true),
      accountDisconnected: channelsOf(true, true, true),
      teamInvitation: channelsOf(true, false, true),
      memberJoined: channelsOf(true, false, false),
      webhookDisabled: channelsOf(true, true, false),
      reportFailed: channelsOf(true, true, false),
      billing: channelsOf(true, true, false),
      supportReply: channelsOf(true, true, true),
    },
    quietHours: { enabled: false, start: '22:00', end: '07:00', timezone: null },
    digest: 'immediate',
  },
  ui: {
    theme: 'system',
    density: 'comfortable',
    calendarStartDay: 'monday',
    language: null,
    views: [],
    layout: [],
    dismissedHints: [],
  },
}

type Plain = { readonly [key: string]: unknown }

const isPlain = (value: unknown): value is Plain => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Merges `change` into a copy of `base`: objects are merged, all other values, lists too, are replaced. */
export function mergeDeep<T>(base: T, change: unknown): T {
  if (!isPlain(base) || !isPlain(change)) return change as T
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(change)) merged[key] = key in merged ? mergeDeep(merged[key], value) : value
  return merged as T
}

/** All settings of a user, with defaults. */
export function completeSettings(stored: StoredSettings): Settings {
  return mergeDeep(DEFAULT_SETTINGS, stored)
}
