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
  summary: 'Something was said or changed in a channel; numbered per channel without a gap',
  description:
    '`type` says what changed and which fields `data` has. If `seq` is not the next number of the channel, get the missed changes with `sync`.',
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
  summary: 'There is a new channel or direct conversation, or the reader was added to one',
  scope: 'chat:read',
  data: ChannelState,
  example: channel,
})

export const channelUpdated = event({
  name: 'channel.updated',
  summary: 'A channel has another name, topic or members, or was archived or taken out of the archive',
  description: 'Replace the channel that you have by `data`.',
  scope: 'chat:read',
  data: ChannelState,
  example: { ...channel, topic: 'Friday at 18:30', version: 2 },
})

export const channelDeleted = event({
  name: 'channel.deleted',
  summary: 'A channel was deleted, with all that was said in it',
  scope: 'chat:read',
  data: Type.Object({ channelId: Id }),
  example: { channelId },
})

export const channelLeft = event({
  name: 'channel.left',
  summary: 'The reader is no longer in a private channel',
  description: 'They left it or were removed. Drop the channel with its messages.',
  scope: 'chat:read',
  data: Type.Object({ channelId: Id }),
  example: { channelId },
})

/** So that the other programs of the same person count alike. */
export const chatRead = event({
  name: 'chat.read',
  summary: 'The reader has marked a channel as read, or muted it, maybe with another program of theirs',
  scope: 'chat:read',
  stored: false,
  data: Type.Object({ workspaceId: Id, ...ReadState.properties }),
  example: { workspaceId, channelId, readSeq: 42, muted: false, unreadCount: 0, mentionCount: 0 },
})
