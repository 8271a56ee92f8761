import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Type, type Static } from '../../../core/schema.ts'
import { Change, ChannelState, ReadState } from './schemas.ts'

const { channelId, messageId, userId, workspaceId } = EXAMPLE

const channel: Static<typeof ChannelState> = {
  _id: channelId,
  createdAt: EXAMPLE_TIME,
  updatedAt: EXAMPLE_TIME,
  workspaceId,
  kind: 'channel',
  name: 'general',
  topic: 'Everything about the show',
  private: false,
  archivedAt: null,
  createdBy: userId,
  memberIds: [],
  version: 1,
}

/** Every change of a channel has a sequence number per channel. `sync` returns missed changes. */
export const chatChange = event({
  name: 'chat.change',
  summary: 'A channel changed. Changes are numbered per channel, without gaps',
  description:
    '`type` is the kind of change and determines the fields of `data`. If `seq` is not the next number of the channel, get the missed changes with `sync`.',
  scope: 'chat:read',
  stored: false,
  data: Change,
  example: {
    workspaceId,
    channelId,
    seq: 42,
    type: 'edit',
    at: EXAMPLE_TIME,
    actorId: userId,
    data: { messageId, body: 'Live in five minutes', mentions: { userIds: [], everyone: false }, edits: 1 },
  },
})

export const channelCreated = event({
  name: 'channel.created',
  summary: 'A channel or direct conversation was created, or the user was added to one',
  scope: 'chat:read',
  data: ChannelState,
  example: channel,
})

export const channelUpdated = event({
  name: 'channel.updated',
  summary: 'The name, topic or members of a channel changed, or it was archived or restored',
  description: 'Replace your copy of the channel with `data`.',
  scope: 'chat:read',
  data: ChannelState,
  example: { ...channel, topic: 'Friday at 18:30', version: 2 },
})

export const channelDeleted = event({
  name: 'channel.deleted',
  summary: 'A channel was deleted, with all its messages',
  scope: 'chat:read',
  data: Type.Object({ channelId: Id }),
  example: { channelId },
})

export const channelLeft = event({
  name: 'channel.left',
  summary: 'The user is no longer in a private channel',
  description: 'They left or were removed. Discard the channel and its messages.',
  scope: 'chat:read',
  data: Type.Object({ channelId: Id }),
  example: { channelId },
})

/** Keeps the unread counts of a user's clients in sync. */
export const chatRead = event({
  name: 'chat.read',
  summary: 'The user marked a channel as read or muted it, possibly in another client',
  scope: 'chat:read',
  stored: false,
  data: Type.Object({ workspaceId: Id, ...ReadState.properties }),
  example: { workspaceId, channelId, readSeq: 42, muted: false, unreadCount: 0, mentionCount: 0 },
})
