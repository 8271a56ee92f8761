import { NOTIFICATION_KINDS } from '../../../core/notification.ts'
import { pageFields } from '../../../core/page.ts'
import {
  Id,
  Input,
  InstantInput,
  ListOf,
  Nullable,
  OneOf,
  Timestamp,
  Type,
  named,
  type Static,
} from '../../../core/schema.ts'
import { Several } from '../../../core/several.ts'
import { PICTURE_URL } from '../../identity/users/index.ts'

export const KindSchema = OneOf(NOTIFICATION_KINDS, {
  description: 'What your settings choose the channels of (`PATCH /api/users/me/settings/notifications`)',
})

export const NotificationView = named(
  'Notification',
  Type.Object({
    _id: Id,
    type: Type.String({ description: 'What has happened, such as `post.failed`. Later versions can add others' }),
    kind: KindSchema,
    title: Type.String({ description: 'One line, in your language' }),
    text: Type.String({ description: 'More about it, in your language. Paragraphs are separated by an empty line' }),
    workspaceId: Nullable(Type.String({ ...Id, description: 'Null for what concerns your account' })),
    resourceKind: Nullable(Type.String({ description: 'What it is about, such as `post` or `channel`' })),
    resourceId: Nullable(Id),
    actors: Type.Array(
      Type.Object({
        _id: Id,
        name: Type.String(),
        pictureUrl: Type.Optional(Type.String({ description: PICTURE_URL })),
      }),
      { description: 'Who caused it, the latest first. At most ten. Users without an account any more are left out' },
    ),
    count: Type.Integer({ description: 'How many events it stands for. Similar events are added until it is read' }),
    readAt: Nullable(Timestamp),
    createdAt: Timestamp,
    updatedAt: Type.String({ ...Timestamp, description: 'When its latest event happened' }),
  }),
)
export type NotificationData = Static<typeof NotificationView>

const unread = {
  unreadCount: Type.Integer({ description: 'How many of your notifications are unread' }),
  version: Type.Integer({
    description:
      'Grows with each change of your notifications. Ignore counts with a lower version than one you have seen',
  }),
}

export const UnreadCount = named('UnreadCount', Type.Object(unread))
export type UnreadData = Static<typeof UnreadCount>

export const NotificationList = Type.Object({ ...ListOf(NotificationView).properties, ...unread })

export const NotificationQuery = Input({
  ...pageFields,
  status: Several(OneOf(['unread', 'read'] as const), { description: 'Only unread or only read ones' }),
  kind: Several(KindSchema),
  workspaceId: Several(Id),
})
export type NotificationFilter = Pick<Static<typeof NotificationQuery>, 'status' | 'kind' | 'workspaceId'>

export const NotificationPath = Input({ id: Id })

export const ReadAll = Input({
  workspaceId: Type.Optional(Type.String({ ...Id, description: 'Only those of this workspace' })),
  upTo: Type.Optional({
    ...InstantInput,
    description: 'Only those whose `updatedAt` is not later. Send that of the newest one you show',
  }),
})
export type ReadAllData = Static<typeof ReadAll>
