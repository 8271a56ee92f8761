import type { Static, TObject } from 'typebox'
import type { Scope } from './scope.ts'
import type { Sql } from './sql.ts'

/**
 * The kinds of notifications. Users choose the channels of each kind in their settings. One kind can have several
 * types.
 */
export const NOTIFICATION_KINDS = [
  'postPublished',
  'postFailed',
  'approvalRequested',
  'approvalDecided',
  'mention',
  'comment',
  'directMessage',
  'streamStarted',
  'streamInterrupted',
  'streamEnded',
  'streamingMinutesLow',
  'accountDisconnected',
  'teamInvitation',
  'memberJoined',
  'webhookDisabled',
  'reportFailed',
  'billing',
  'supportReply',
] as const
export type NotificationKind = (typeof NOTIFICATION_KINDS)[number]

/** What a notification is about, for links of clients. */
export interface NotifiedResource {
  readonly kind: string
  readonly id: string
}

/**
 * A notification that a domain sends to users. Its texts are `<name>.title` and `<name>.text` of each file in
 * `src/language/languages`. They can use the fields of `data`, and `actors`, `people` and `count`.
 */
export interface NotificationType<S extends TObject = TObject> {
  readonly name: `${string}.${string}`
  readonly kind: NotificationKind
  /** When it is sent, and to which users. */
  readonly summary: string
  /** Members without this scope are not notified. Absent if it does not depend on a workspace. */
  readonly scope?: Scope
  /** Texts and numbers. */
  readonly data: S
  readonly example: Static<S>
  readonly resource?: (data: Static<S>) => NotifiedResource
  /** The path of a page of this server that its mail links to. The text of the link is `<name>.link`. */
  readonly page?: `/${string}`
  /** Notifications with the same key are one until it is read: “Ada and 3 others”. */
  readonly group?: (data: Static<S>) => string
  /** Whether a user has seen it already, or does not want to hear of it. Such a user is not notified. */
  readonly isSeen?: (sql: Sql, userId: string, data: Static<S>) => Promise<boolean>
  /** How long to wait before `isSeen` is asked, so that clients that show it can report that. */
  readonly settleSeconds?: number
  /** Push services deliver it at once, also to a phone that saves power. */
  readonly urgent?: true
  /** How long push services keep it for a device that is off. A day when absent. */
  readonly ttlSeconds?: number
  /** The domain sends the mail itself, to users who want one: a reply to a ticket must continue the thread of mails. */
  readonly ownMail?: true
  /** The mail is always sent at once: it is a part of the contract with the customer. */
  readonly mandatory?: true
}

/** Declares a type of notification. */
export function notificationType<S extends TObject>(declaration: NotificationType<S>): NotificationType<S> {
  return declaration
}
