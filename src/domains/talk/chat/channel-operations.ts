import { Conflict, Forbidden, PlanLimit, PreconditionFailed, ValidationFailed } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { from, operation } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { created, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { ChannelArchived, ChannelNameTaken, NotOfThisKind } from './errors.ts'
import {
  ChannelChange,
  ChannelMemberPath,
  ChannelPath,
  ChannelsPath,
  ChannelsQuery,
  ChannelState,
  ChannelView,
  NewChannel,
  NewChannelMembers,
  ReadMarker,
  ReadState,
  SyncPage,
  SyncQuery,
} from './schemas.ts'

const { workspaceId, channelId, userId } = EXAMPLE

export const listChannels = operation({
  route: 'GET /api/team/{workspaceId}/channels',
  summary: 'List channels',
  description:
    'Newest first. Public channels, private channels that you are a member of, and your direct conversations, each with its last message and your unread count. If you have marked nothing as read, the count starts when you joined the workspace.',
  access: 'chat:read',
  workspace: from.path('workspaceId'),
  socket: true,
  path: ChannelsPath,
  query: ChannelsQuery,
  returns: { 200: ListOf(ChannelView) },
  example: { path: { workspaceId }, query: { limit: 30 } },
  handle: async ({ member, query, chat }) =>
    list('Channels', await chat.channelList.list(member, query, pageRequest(query))),
})

export const createChannel = operation({
  route: 'POST /api/team/{workspaceId}/channels',
  summary: 'Create a channel or a direct conversation',
  description:
    'A channel’s name is unique in the workspace. Only its members see a private channel. A direct conversation has the caller and 1 to 8 others; if one with the same people exists, it is returned with 200. A workspace has at most 500 channels, including archived ones.',
  access: 'chat:write',
  workspace: from.path('workspaceId'),
  turn: true,
  socket: true,
  path: ChannelsPath,
  body: NewChannel,
  etag: true,
  returns: { 200: Envelope(ChannelState), 201: Envelope(ChannelState) },
  errors: [ChannelNameTaken, Conflict, PlanLimit, ValidationFailed],
  example: { path: { workspaceId }, body: { kind: 'channel', name: 'launch-week', topic: 'Who posts what' } },
  handle: async ({ turn, caller, body, chat }) => {
    const { channel, isNew } = await chat.channels.create(turn, caller, body)
    return isNew ? created('Channel created', channel) : ok('The conversation is there already', channel)
  },
})

export const getChannel = operation({
  route: 'GET /api/team/{workspaceId}/channels/{channelId}',
  summary: 'Get a channel',
  access: 'chat:read',
  workspace: from.path('workspaceId'),
  socket: true,
  path: ChannelPath,
  returns: { 200: Envelope(ChannelView) },
  example: { path: { workspaceId, channelId } },
  handle: async ({ member, path, chat }) => ok('Channel', await chat.channelList.get(member, path.channelId)),
})

export const updateChannel = operation({
  route: 'PATCH /api/team/{workspaceId}/channels/{channelId}',
  summary: 'Update a channel',
  description:
    'Everyone who can write in the channel can change its name and topic, and archive it. An archived channel is read-only until it is restored.',
  access: 'chat:write',
  workspace: from.path('workspaceId'),
  turn: true,
  socket: true,
  path: ChannelPath,
  body: ChannelChange,
  etag: true,
  returns: { 200: Envelope(ChannelState) },
  errors: [ChannelArchived, ChannelNameTaken, NotOfThisKind, PreconditionFailed],
  example: { path: { workspaceId, channelId }, body: { topic: 'Who posts what, and when' } },
  handle: async ({ turn, caller, path, body, ifMatch, chat }) =>
    ok('Channel changed', await chat.channels.update(turn, caller, path.channelId, body, ifMatch)),
})

export const deleteChannel = operation({
  route: 'DELETE /api/team/{workspaceId}/channels/{channelId}',
  summary: 'Delete a channel',
  description:
    'Deletes the channel with everything in it. A private channel can be deleted by its members. Direct conversations cannot be deleted.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  socket: true,
  path: ChannelPath,
  returns: { 200: Done },
  errors: [NotOfThisKind, PreconditionFailed],
  example: { path: { workspaceId, channelId } },
  handle: async ({ turn, caller, path, ifMatch, chat }) => {
    await chat.channels.delete(turn, caller, path.channelId, ifMatch)
    return done('Channel deleted')
  },
})

export const addChannelMembers = operation({
  route: 'POST /api/team/{workspaceId}/channels/{channelId}/members',
  summary: 'Add members to a channel',
  description:
    'New members see all earlier messages. Members who are already in the channel are ignored. A channel has at most 500 members.',
  access: 'chat:write',
  workspace: from.path('workspaceId'),
  turn: true,
  socket: true,
  path: ChannelPath,
  body: NewChannelMembers,
  returns: { 200: Envelope(ChannelState) },
  errors: [ChannelArchived, Conflict, NotOfThisKind, ValidationFailed],
  example: { path: { workspaceId, channelId }, body: { userIds: [userId] } },
  handle: async ({ turn, caller, path, body, chat }) =>
    ok('Members added', await chat.channelMembers.add(turn, caller, path.channelId, body.userIds)),
})

export const removeChannelMember = operation({
  route: 'DELETE /api/team/{workspaceId}/channels/{channelId}/members/{userId}',
  summary: 'Remove a member from a channel',
  description:
    'You can leave a private channel. The channel’s creator and members with team:manage can remove others. Open sockets are updated at once.',
  access: 'chat:write',
  workspace: from.path('workspaceId'),
  turn: true,
  socket: true,
  path: ChannelMemberPath,
  returns: { 200: Done },
  errors: [Conflict, Forbidden, NotOfThisKind],
  example: { path: { workspaceId, channelId, userId } },
  handle: async ({ turn, caller, member, path, chat }) => {
    await chat.channelMembers.remove(turn, caller, member, path.channelId, path.userId)
    return done('Member removed')
  },
})

export const markChannelRead = operation({
  route: 'POST /api/team/{workspaceId}/channels/{channelId}/read',
  summary: 'Mark a channel as read, or mute it',
  description: 'The marker never moves back, regardless of the order of requests. Only you can see `muted`.',
  access: 'chat:read',
  workspace: from.path('workspaceId'),
  turn: true,
  audit: false,
  socket: true,
  path: ChannelPath,
  body: ReadMarker,
  returns: { 200: Envelope(ReadState) },
  example: { path: { workspaceId, channelId }, body: { seq: 42 } },
  handle: async ({ turn, member, path, body, chat }) =>
    ok('Read', await chat.reads.mark(turn, member, path.channelId, body)),
})

export const syncChannel = operation({
  route: 'GET /api/team/{workspaceId}/channels/{channelId}/changes',
  summary: 'List changes of a channel',
  description:
    'Every change of a channel (message, edit, deletion, reaction, pin, the channel itself) has a number, without gaps. Apply the changes after the last number you have, page by page while `hasMore` is true, and you have the same state as a client that never left. The newest 1,000 changes are kept, for up to 90 days. If you are behind them, or ahead of the channel or of another `generation` (after a restored backup), you get a snapshot instead. An edit has the current text of the message.',
  access: 'chat:read',
  workspace: from.path('workspaceId'),
  socket: 'sync',
  path: ChannelPath,
  query: SyncQuery,
  returns: { 200: Envelope(SyncPage) },
  example: { path: { workspaceId, channelId }, query: { after: 0 } },
  handle: async ({ member, path, query, chat }) =>
    ok('Changes', await chat.log.changesAfter(member, path.channelId, query)),
})
