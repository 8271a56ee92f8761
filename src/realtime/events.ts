import { event } from '../core/event.ts'
import { EXAMPLE } from '../core/example-ids.ts'
import { PresenceState } from '../core/presence-state.ts'
import { Id, Nullable, Timestamp, Type } from '../core/schema.ts'

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
