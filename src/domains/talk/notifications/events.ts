import { personalEvent } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Nullable, Timestamp, Type } from '../../../core/schema.ts'
import { NotificationView, UnreadCount } from './schemas.ts'

const notification = {
  _id: EXAMPLE.notificationId,
  type: 'comment.added',
  kind: 'comment' as const,
  title: 'Ada and 3 others commented on “Launch day”',
  text: 'Shall we move it to Monday?',
  workspaceId: EXAMPLE.workspaceId,
  resourceKind: 'post',
  resourceId: EXAMPLE.postId,
  actors: [{ _id: EXAMPLE.userId, name: 'Ada Lovelace' }],
  count: 4,
  readAt: null,
  createdAt: EXAMPLE_TIME,
  updatedAt: EXAMPLE_TIME,
}

const state = {
  ...UnreadCount.properties,
  notification: Type.Object(NotificationView.properties, { description: 'As the list has it' }),
}

export const notificationCreated = personalEvent({
  name: 'notification.created',
  summary: 'You have a new notification',
  data: Type.Object(state),
  example: { unreadCount: 3, version: 17, notification: { ...notification, count: 1 } },
})

export const notificationUpdated = personalEvent({
  name: 'notification.updated',
  summary: 'A similar event was added to an unread notification',
  data: Type.Object(state),
  example: { unreadCount: 3, version: 18, notification },
})

export const notificationsRead = personalEvent({
  name: 'notification.read',
  summary: 'You have read notifications, on this device or another one',
  data: Type.Object({
    ...UnreadCount.properties,
    notificationId: Nullable(Type.String({ ...Id, description: 'Null if several were read: load the list again' })),
    at: Timestamp,
  }),
  example: { unreadCount: 2, version: 19, notificationId: EXAMPLE.notificationId, at: EXAMPLE_TIME },
})
