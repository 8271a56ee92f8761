import { event } from '../core/event.ts'
import { EXAMPLE } from '../core/example-ids.ts'
import { PresenceState } from '../core/presence-state.ts'
import { Id, Nullable, OneOf, States, Timestamp, Type, type Static } from '../core/schema.ts'

const { channelId, userId, workspaceId } = EXAMPLE

export const chatTyping = event({
  name: 'chat.typing',
  summary: 'A user is typing in a channel',
  scope: 'chat:read',
  stored: false,
  data: Type.Object({
    workspaceId: Id,
    channelId: Id,
    userId: Id,
    expiresInSeconds: Type.Integer({ description: 'Stop showing it after this time, unless the event is sent again' }),
  }),
  example: { workspaceId, channelId, userId, expiresInSeconds: 6 },
})

export const presenceChanged = event({
  name: 'presence.updated',
  summary: 'A member came online, went away or went offline',
  scope: 'team:read',
  stored: false,
  data: Type.Object({
    workspaceId: Id,
    userId: Id,
    presence: PresenceState,
    lastSeenAt: Nullable(
      Type.String({ ...Timestamp, description: 'When they last had an open socket. Null while they have one' }),
    ),
  }),
  example: { workspaceId, userId, presence: 'online', lastSeenAt: null },
})

const Status = States('ViewerStatus', 'What a user does with a post, a stream or a file', {
  viewing: 'They have it open',
  typing: 'They are writing in it',
  gone: 'They have left it',
})
export type ViewerStatus = Static<typeof Status>

export const viewerUpdated = event({
  name: 'viewer.updated',
  summary: 'A member has opened or left a post, a stream or a file, or is writing in it',
  scope: 'posts:read',
  stored: false,
  data: Type.Object({
    workspaceId: Id,
    kind: OneOf(['post', 'stream', 'asset'], {
      description: 'Members need the scope `posts:read`, `streams:read` or `media:read` to get it',
    }),
    resourceId: Id,
    userId: Id,
    status: Status,
    expiresInSeconds: Type.Integer({
      description: 'Take them for gone after this time, unless the event is sent again; 0 for `gone`',
    }),
  }),
  example: { workspaceId, kind: 'post', resourceId: EXAMPLE.postId, userId, status: 'typing', expiresInSeconds: 6 },
})
