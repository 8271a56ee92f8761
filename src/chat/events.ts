import { event } from '../core/event.ts'
import { Id, Type } from '../core/schema.ts'
import { Change, ChannelState, ReadState } from './schemas.ts'

/** Every change of a channel has a number of the channel's own; what was missed is asked for by `sync`. */
export const chatChange = event({
  name: 'chat.change',
  summary: 'Something was said or changed in a channel; numbered per channel without a gap',
  scope: 'chat:read',
  stored: false,
  data: Change,
})

export const channelCreated = event({
  name: 'channel.created',
  summary: 'There is a new channel or direct conversation, or the reader was added to one',
  scope: 'chat:read',
  data: ChannelState,
})

export const channelUpdated = event({
  name: 'channel.updated',
  summary: 'A channel has another name, topic or members, or was archived or taken out of the archive',
  scope: 'chat:read',
  data: ChannelState,
})

export const channelDeleted = event({
  name: 'channel.deleted',
  summary: 'A channel was deleted, with all that was said in it',
  scope: 'chat:read',
  data: Type.Object({ channelId: Id }),
})

export const channelLeft = event({
  name: 'channel.left',
  summary: 'The reader is no longer in a private channel',
  scope: 'chat:read',
  data: Type.Object({ channelId: Id }),
})

/** So that the other programs of the same person count alike. */
export const chatRead = event({
  name: 'chat.read',
  summary: 'The reader has marked a channel as read, or muted it, maybe with another program of theirs',
  scope: 'chat:read',
  stored: false,
  data: Type.Object({ workspaceId: Id, ...ReadState.properties }),
})
