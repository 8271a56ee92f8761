import type { TOptional, TProperties } from 'typebox'
import { Format } from 'typebox/format'
import { Input, Nullable, OneOf, Text, Type, named, type Static, type TSchema } from '../../../core/schema.ts'
import { TimeZone } from '../../../core/time-zone.ts'

/**
 * What a user can set, with a default for everything. Stored is only what differs: a default that is changed later
 * reaches everybody who never chose.
 */

/** Whether a text is a language tag (BCP 47) that can be spelled canonically. */
export function isLocale(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1
  } catch {
    return false
  }
}

Format.Set('bcp-47', isLocale)

/** A language tag as callers send it. */
export const Locale = Type.String({
  format: 'bcp-47',
  maxLength: 35,
  description: 'a language tag (BCP 47) such as en or pt-BR',
})

const TimeOfDay = Type.String({ pattern: '^([01]\\d|2[0-3]):[0-5]\\d$', description: 'a time of day such as 09:30' })
const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const

const QueueSlot = Input({ weekday: OneOf(WEEKDAYS), time: TimeOfDay })

const utm = {
  enabled: Type.Boolean({ description: 'Add campaign parameters to links' }),
  source: Text(0, 100),
  medium: Text(0, 100),
  campaign: Text(0, 100),
  term: Text(0, 100),
  content: Text(0, 100),
}
const autoRetry = {
  enabled: Type.Boolean({ description: 'Try again by itself after an error that may pass' }),
  maxAttempts: Type.Integer({ minimum: 1, maximum: 10 }),
}
const linkShortening = {
  enabled: Type.Boolean(),
  domain: Nullable(
    Type.String({
      pattern: '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,63}$',
      maxLength: 253,
      description: 'a host name such as go.example.com',
    }),
  ),
}
const publishing = {
  defaultTimezone: Nullable(TimeZone),
  queueSlots: Type.Array(QueueSlot, {
    maxItems: 168,
    uniqueItems: true,
    description: 'When queued posts go out; replaced as a whole',
  }),
  defaultFirstComment: Text(0, 2_200),
}

/** The things that a user can be told of, by area. */
export const NOTIFICATION_KINDS = [
  'postPublished',
  'postFailed',
  'approvalRequested',
  'approvalDecided',
  'mention',
  'comment',
  'streamStarted',
  'streamInterrupted',
  'streamEnded',
  'streamingMinutesLow',
  'accountDisconnected',
  'teamInvitation',
  'billing',
  'supportReply',
] as const
export type NotificationKind = (typeof NOTIFICATION_KINDS)[number]

const channels = { inApp: Type.Boolean(), email: Type.Boolean(), push: Type.Boolean() }
const quietHours = {
  enabled: Type.Boolean({ description: 'Hold back push and e-mail between these times' }),
  start: TimeOfDay,
  end: TimeOfDay,
  timezone: Nullable(TimeZone),
}

const ui = {
  theme: OneOf(['system', 'light', 'dark'] as const),
  density: OneOf(['comfortable', 'compact'] as const),
  calendarStartDay: OneOf(['monday', 'saturday', 'sunday'] as const),
  language: Nullable(Locale),
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
  Type.Object({ kinds: Type.Object(eachKind(Type.Object(channels))), quietHours: Type.Object(quietHours) }),
)
export const UiPreferences = named('UiPreferences', Type.Object(ui))

/** An object of which any part may be absent, and nothing else present. (`Type.Partial` would let anything pass.) */
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
export const NotificationChange = part({ kinds: part(eachKind(part(channels))), quietHours: part(quietHours) })
export const UiChange = part(ui)

export interface Settings {
  readonly publishing: Static<typeof PublishingSettings>
  readonly notifications: Static<typeof NotificationSettings>
  readonly ui: Static<typeof UiPreferences>
}

/** What is stored: the parts that were set. */
export type StoredSettings = { readonly [section: string]: unknown }

const told = (inApp: boolean, email: boolean, push: boolean) => ({ inApp, email, push })

export const DEFAULT_SETTINGS: Settings = {
  publishing: {
    defaultTimezone: null,
    queueSlots: [],
    defaultFirstComment: '',
    utm: { enabled: false, source: 'crier', medium: 'social', campaign: '', term: '', content: '' },
    autoRetry: { enabled: true, maxAttempts: 3 },
    linkShortening: { enabled: false, domain: null },
  },
  notifications: {
    kinds: {
      postPublished: told(true, false, false),
      postFailed: told(true, true, true),
      approvalRequested: told(true, true, true),
      approvalDecided: told(true, false, true),
      mention: told(true, true, true),
      comment: told(true, false, false),
      streamStarted: told(true, false, false),
      streamInterrupted: told(true, false, true),
      streamEnded: told(true, false, false),
      streamingMinutesLow: told(true, true, true),
      accountDisconnected: told(true, true, true),
      teamInvitation: told(true, true, false),
      billing: told(true, true, false),
      supportReply: told(true, true, true),
    },
    quietHours: { enabled: false, start: '22:00', end: '07:00', timezone: null },
  },
  ui: { theme: 'system', density: 'comfortable', calendarStartDay: 'monday', language: null },
}

type Plain = { readonly [key: string]: unknown }

const isPlain = (value: unknown): value is Plain => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Lays `change` over `base`: objects are merged, everything else (lists too) is replaced. Changes neither. */
export function mergeDeep<T>(base: T, change: unknown): T {
  if (!isPlain(base) || !isPlain(change)) return change as T
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(change)) merged[key] = key in merged ? mergeDeep(merged[key], value) : value
  return merged as T
}

/** Everything a user's settings say, defaults included. */
export function completeSettings(stored: StoredSettings): Settings {
  return mergeDeep(DEFAULT_SETTINGS, stored)
}
