import { defineEntity, p } from '@mikro-orm/postgresql'
import type { NotificationKind } from '../../../core/notification.ts'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { User } from '../../identity/users/index.ts'
import { Workspace } from '../../workspace/workspaces/index.ts'

/** Fields of a notification's data. */
export type NotificationFields = Readonly<Record<string, string | number>>

/** What a user was told. Later events of its group change it until it is read. */
export const Notification = defineEntity({
  name: 'Notification',
  tableName: 'notifications',
  indexes: [
    { name: 'notifications_by_person', properties: ['userId', 'id'] },
    {
      name: 'notifications_by_user',
      expression: 'create index notifications_by_user on notifications (user_id, latest_at desc, id desc) where in_app',
    },
    {
      name: 'notifications_unread',
      expression: 'create index notifications_unread on notifications (user_id) where in_app and read_at is null',
    },
    {
      name: 'notifications_open_group',
      expression:
        'create unique index notifications_open_group on notifications (user_id, group_key) where read_at is null and group_key is not null',
    },
    { name: 'notifications_by_workspace', properties: ['workspaceId'] },
    { name: 'notifications_by_user_and_age', properties: ['userId', 'latestAt', 'id'] },
    { name: 'notifications_by_age', properties: ['latestAt'] },
  ],
  properties: {
    id: p.uuid().primary(),
    userId: references(User, { name: 'notifications_user_id_fkey', onDelete: 'cascade' }),
    /** Null for what concerns the account of the user. */
    workspaceId: references(Workspace, { name: 'notifications_workspace_id_fkey', onDelete: 'cascade' }).nullable(),
    type: p.text(),
    kind: p.text().$type<NotificationKind>(),
    data: p.json<NotificationFields>(),
    groupKey: p.text().nullable(),
    /** Who caused it, the latest first, without duplicates. At most `ACTORS`. */
    actorIds: p.array().columnType('uuid[]'),
    /** How many events it stands for. */
    count: p.integer(),
    /** False if the user wants this kind by mail or push only. */
    inApp: p.boolean(),
    readAt: timestamp().nullable(),
    /** When the last mail about it was or will be sent. */
    mailedAt: timestamp().nullable(),
    createdAt: timestamp(),
    latestAt: timestamp(),
  },
})

/**
 * One row for each user who was ever notified. Every change of a user's notifications locks it, so that `version`
 * orders the unread counts that clients receive.
 */
export const NotificationBox = defineEntity({
  name: 'NotificationBox',
  tableName: 'notification_boxes',
  properties: {
    userId: references(User, { name: 'notification_boxes_user_id_fkey', onDelete: 'cascade' }).primary(),
    version: p.bigint('number'),
  },
})

/** A notification that waits for its mail. */
export const NotificationMail = defineEntity({
  name: 'NotificationMail',
  tableName: 'notification_mails',
  indexes: [{ name: 'notification_mails_by_batch', properties: ['userId', 'batch'] }],
  properties: {
    notificationId: references(Notification, {
      name: 'notification_mails_notification_id_fkey',
      onDelete: 'cascade',
    }).primary(),
    userId: references(User, { name: 'notification_mails_user_id_fkey', onDelete: 'cascade' }),
    /** Notifications of a batch are sent in one mail. */
    batch: p.text(),
    createdAt: timestamp(),
  },
})

/** What a socket shows its user, so that they are not notified of it. */
export const UserScreen = defineEntity({
  name: 'UserScreen',
  tableName: 'user_screens',
  indexes: [{ name: 'user_screens_by_user', properties: ['userId'] }],
  properties: {
    socketId: p.text().primary(),
    userId: p.uuid(),
    /** `<kind>:<id>` of each resource. */
    resources: p.array().columnType('text[]'),
    until: timestamp(),
  },
})

export const notifications = table(Notification)
export const notificationBoxes = table(NotificationBox)
export const notificationMails = table(NotificationMail)
export const userScreens = table(UserScreen)
export type NotificationRow = Row<typeof Notification>
