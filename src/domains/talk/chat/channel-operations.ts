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
  summary: 'List the channels that the caller may see, newest first',
  description:
    'Public channels, private ones of which the caller is a member, and the caller’s direct conversations; each with its last message and what the caller has not read. Where nothing was marked as read, it counts from when the caller joined the workspace.',
  access: 'chat:read',
  workspace: from.path('workspaceId'),
  socket: true,
  path: ChannelsPath,
  query: ChannelsQuery,
  returns: { 200: ListOf(ChannelView) },
  example: { path: { workspaceId }, query: { limit: 30 } },
  handle: async ({ member, query, channelList }) =>
    list('Channels', await channelList.list(member, query, pageRequest(query))),
})

export const createChannel = operation({
  route: 'POST /api/team/{workspaceId}/channels',
  summary: 'Create a channel, or open a direct conversation',
  description:
    'A channel has a name of its own in the workspace; a private one is seen by its members alone. A direct conversation has the caller and 1 to 8 others: the same people always have the same one, which is answered with 200. At most 500 channels a workspace, archived ones included.',
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
  handle: async ({ turn, caller, body, channels }) => {
    const { channel, isNew } = await channels.create(turn, caller, body)
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
  handle: async ({ member, path, channelList }) => ok('Channel', await channelList.get(member, path.channelId)),
})

export const updateChannel = operation({
  route: 'PATCH /api/team/{workspaceId}/channels/{channelId}',
  summary: 'Rename, describe or archive a channel',
  description:
    'Everybody who may write in a channel may do this. An archived channel can be read and nothing else, until it is taken out of the archive.',
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
  handle: async ({ turn, caller, path, body, ifMatch, channels }) =>
    ok('Channel changed', await channels.update(turn, caller, path.channelId, body, ifMatch)),
})

export const deleteChannel = operation({
  route: 'DELETE /api/team/{workspaceId}/channels/{channelId}',
  summary: 'Delete a channel with everything in it',
  description: 'A private channel is deleted by one of its members. Direct conversations cannot be deleted.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  socket: true,
  path: ChannelPath,
  returns: { 200: Done },
  errors: [NotOfThisKind, PreconditionFailed],
  example: { path: { workspaceId, channelId } },
  handle: async ({ turn, caller, path, ifMatch, channels }) => {
    await channels.delete(turn, caller, path.channelId, ifMatch)
    return done('Channel deleted')
  },
})

export const addChannelMembers = operation({
  route: 'POST /api/team/{workspaceId}/channels/{channelId}/members',
  summary: 'Add members to a private channel',
  description: 'They see all that was said before. Who is in it already changes nothing. At most 500 a channel.',
  access: 'chat:write',
  workspace: from.path('workspaceId'),
  turn: true,
  socket: true,
  path: ChannelPath,
  body: NewChannelMembers,
  returns: { 200: Envelope(ChannelState) },
  errors: [ChannelArchived, Conflict, NotOfThisKind, ValidationFailed],
  example: { path: { workspaceId, channelId }, body: { userIds: [userId] } },
  handle: async ({ turn, caller, path, body, channelMembers }) =>
    ok('Members added', await channelMembers.add(turn, caller, path.channelId, body.userIds)),
})

export const removeChannelMember = operation({
  route: 'DELETE /api/team/{workspaceId}/channels/{channelId}/members/{userId}',
  summary: 'Remove a member from a private channel, or leave it',
  description:
    'Members take themselves out; others are removed by whoever made the channel, or with team:manage. It takes effect on open sockets at once.',
  access: 'chat:write',
  workspace: from.path('workspaceId'),
  turn: true,
  socket: true,
  path: ChannelMemberPath,
  returns: { 200: Done },
  errors: [Conflict, Forbidden, NotOfThisKind],
  example: { path: { workspaceId, channelId, userId } },
  handle: async ({ turn, caller, member, path, channelMembers }) => {
    await channelMembers.remove(turn, caller, member, path.channelId, path.userId)
    return done('Member removed')
  },
})

export const markChannelRead = operation({
  route: 'POST /api/team/{workspaceId}/channels/{channelId}/read',
  summary: 'Mark a channel as read up to a number, or mute it',
  description:
    'A marker never goes back, in whatever order two of them come. `muted` is the caller’s own wish and is seen by nobody else.',
  access: 'chat:read',
  workspace: from.path('workspaceId'),
  turn: true,
  audit: false,
  socket: true,
  path: ChannelPath,
  body: ReadMarker,
  returns: { 200: Envelope(ReadState) },
  example: { path: { workspaceId, channelId }, body: { seq: 42 } },
  handle: async ({ turn, member, path, body, chatReads }) =>
    ok('Read', await chatReads.mark(turn, member, path.channelId, body)),
})

export const syncChannel = operation({
  route: 'GET /api/team/{workspaceId}/channels/{channelId}/changes',
  summary: 'Get what changed in a channel after a number',
  description:
    'Every change of a channel (message, edit, deletion, reaction, pin, the channel itself) has the next number of the channel. Whoever was away applies what comes after the last number they saw, page after page while `hasMore`, and ends in exactly the state of one who never left. Kept are the newest 1,000 changes of a channel, none older than 90 days: who is behind them, or ahead of the channel (as after the restore of a backup), gets a snapshot in place of changes. An edit is told with the text that the message has now.',
  access: 'chat:read',
  workspace: from.path('workspaceId'),
  socket: 'sync',
  path: ChannelPath,
  query: SyncQuery,
  returns: { 200: Envelope(SyncPage) },
  example: { path: { workspaceId, channelId }, query: { after: 0 } },
  handle: async ({ member, path, query, chatLog }) =>
    ok('Changes', await chatLog.changesAfter(member, path.channelId, query.after)),
})
