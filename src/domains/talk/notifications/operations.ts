import { EXAMPLE } from '../../../core/example-ids.ts'
import { NotFound } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { list, ok, reply } from '../../../core/reply.ts'
import { Envelope } from '../../../core/schema.ts'
import { NotificationList, NotificationPath, NotificationQuery, ReadAll, UnreadCount } from './schemas.ts'

export const listNotifications = operation({
  route: 'GET /api/notifications',
  summary: 'List your notifications',
  description:
    'The notifications of all your workspaces and of your account, by their latest event, newest first. Kinds that your settings do not show in the app are left out. Notifications are kept for 90 days, and at most 1,000 of them.',
  access: 'user',
  query: NotificationQuery,
  returns: { 200: NotificationList },
  example: { query: { status: ['unread'] } },
  handle: async ({ caller, notifications, query }) => {
    const { page, ...unread } = await notifications.inbox.list(caller.userId, pageRequest(query), query)
    return reply(200, { ...list('Notifications', page).body, ...unread })
  },
})

export const getUnreadCount = operation({
  route: 'GET /api/notifications/unread-count',
  summary: 'Count your unread notifications',
  description:
    'Sockets get the count with each `notification.created`, `notification.updated` and `notification.read`.',
  access: 'user',
  returns: { 200: Envelope(UnreadCount) },
  example: {},
  handle: async ({ caller, notifications }) =>
    ok('Unread notifications', await notifications.inbox.unread(caller.userId)),
})

export const markNotificationRead = operation({
  route: 'POST /api/notifications/{id}/read',
  summary: 'Mark a notification as read',
  description: 'A later similar event makes a new notification. No mail is sent any more if it still waits.',
  access: 'user',
  path: NotificationPath,
  returns: { 200: Envelope(UnreadCount) },
  errors: [NotFound],
  example: { path: { id: EXAMPLE.notificationId } },
  handle: async ({ caller, notifications, path }) =>
    ok('Marked as read', await notifications.inbox.read(caller.userId, path.id)),
})

export const markAllNotificationsRead = operation({
  route: 'POST /api/notifications/read-all',
  summary: 'Mark all your notifications as read',
  access: 'user',
  body: ReadAll,
  bodyOptional: true,
  returns: { 200: Envelope(UnreadCount) },
  example: { body: {} },
  handle: async ({ body, caller, notifications }) =>
    ok('Marked as read', await notifications.inbox.readAll(caller.userId, body ?? {})),
})
