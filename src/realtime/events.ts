import { event } from '../core/event.ts'
import { Id, Nullable, OneOf, Timestamp, Type } from '../core/schema.ts'

/** Whether somebody is there: `away` when every program of theirs has said so, `offline` without a socket. */
export const PRESENCE_STATES = ['online', 'away', 'offline'] as const
export type PresenceState = (typeof PRESENCE_STATES)[number]

export const chatTyping = event({
  name: 'chat.typing',
  summary: 'Somebody is writing in a channel',
  scope: 'chat:read',
  stored: false,
  data: Type.Object({
    workspaceId: Id,
    channelId: Id,
    userId: Id,
    expiresInSeconds: Type.Integer({ description: 'Show it no longer than this, unless it comes again' }),
  }),
})

export const presenceChanged = event({
  name: 'presence.changed',
  summary: 'A member has come, gone away or left',
  scope: 'team:read',
  stored: false,
  data: Type.Object({
    workspaceId: Id,
    userId: Id,
    presence: OneOf(PRESENCE_STATES),
    lastSeenAt: Nullable(Timestamp),
  }),
})
