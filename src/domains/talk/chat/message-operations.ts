import { Conflict, SearchTooBroad, ValidationFailed } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { from, operation } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { created, done, list, ok, reply } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { ChannelArchived, ChannelMentionForbidden, MessageDeleted, NotYourMessage } from './errors.ts'
import {
  ChannelPath,
  ChannelsPath,
  FoundMessage,
  MessageChange,
  MessageList,
  MessagePath,
  MessagesQuery,
  MessageView,
  NewMessage,
  ReactionPath,
  SearchQuery,
} from './schemas.ts'

const { workspaceId, channelId, messageId } = EXAMPLE

export const listMessages = operation({
  route: 'GET /api/team/{workspaceId}/channels/{channelId}/messages',
  summary: 'List messages',
  description:
    'Messages are in ascending order of `seq`. Without a position you get the newest page, and `cursor` continues with earlier messages. With `after`, `cursor` continues with later messages. With `around`, it continues with earlier messages; use `after` for later ones. A deleted message is empty and has `deletedAt`. The `seq` beside the list is the number to continue from with /changes or over a socket.',
  access: 'chat:read',
  workspace: from.path('workspaceId'),
  socket: true,
  path: ChannelPath,
  query: MessagesQuery,
  returns: { 200: MessageList },
  errors: [ValidationFailed],
  example: { path: { workspaceId, channelId }, query: { before: 43, limit: 50 } },
  handle: async ({ member, path, query, chat }) => {
    const { generation, limit, messages, nextCursor, seq } = await chat.messageList.list(member, path.channelId, query)
    const { body } = list('Messages', { items: messages, limit, nextCursor })
    return reply(200, { ...body, seq, generation })
  },
})

export const sendMessage = operation({
  route: 'POST /api/team/{workspaceId}/channels/{channelId}/messages',
  summary: 'Send a message',
  description:
    '`<@user id>` mentions a user. `<!channel>` mentions everyone in the channel and needs team:manage, except in direct conversations. If you send a message again with the same `clientId`, you get the first one with 200. The limit is 5 messages a second per user and channel, and 10 at once.',
  access: 'chat:write',
  workspace: from.path('workspaceId'),
  turn: true,
  audit: false,
  socket: true,
  path: ChannelPath,
  body: NewMessage,
  returns: { 200: Envelope(MessageView), 201: Envelope(MessageView) },
  errors: [ChannelArchived, ChannelMentionForbidden, MessageDeleted, ValidationFailed],
  example: {
    path: { workspaceId, channelId },
    body: { body: 'The first post goes out at nine.', clientId: 'b1f0c7d2-1' },
  },
  prelude: (requests, batch) => batch.chat.messages.prepare(requests, batch),
  handle: async ({ turn, caller, member, path, body, chat }) => {
    const { isNew, message } = await chat.messages.send(turn, caller, member, path.channelId, body)
    return isNew ? created('Message sent', message) : ok('The message was sent before', message)
  },
})

export const editMessage = operation({
  route: 'PATCH /api/team/{workspaceId}/channels/{channelId}/messages/{messageId}',
  summary: 'Edit or pin a message',
  description:
    'Send either `body` or `pinned`. You can edit your own messages; earlier versions are kept in `history` of the list. Everyone who can write in the channel can pin and unpin, up to 50 messages a channel.',
  access: 'chat:write',
  workspace: from.path('workspaceId'),
  turn: true,
  audit: false,
  socket: true,
  path: MessagePath,
  body: MessageChange,
  returns: { 200: Envelope(MessageView) },
  errors: [ChannelArchived, ChannelMentionForbidden, Conflict, MessageDeleted, NotYourMessage],
  example: { path: { workspaceId, channelId, messageId }, body: { body: 'The first post goes out at ten.' } },
  handle: async ({ turn, caller, member, path, body, chat }) =>
    body.body === undefined
      ? ok('Message changed', await chat.reactionsAndPins.pin(turn, caller, path, body.pinned === true))
      : ok('Message changed', await chat.messages.edit(turn, caller, member, path, body.body)),
})

export const deleteMessage = operation({
  route: 'DELETE /api/team/{workspaceId}/channels/{channelId}/messages/{messageId}',
  summary: 'Delete a message',
  description:
    'You can delete your own messages, and with team:manage any message. Text, files, history and reactions are erased. The message keeps its place in the channel.',
  access: 'chat:write',
  workspace: from.path('workspaceId'),
  turn: true,
  audit: false,
  socket: true,
  path: MessagePath,
  returns: { 200: Done },
  errors: [ChannelArchived, NotYourMessage],
  example: { path: { workspaceId, channelId, messageId } },
  handle: async ({ turn, caller, member, path, chat }) => {
    await chat.messages.delete(turn, caller, member, path.channelId, path.messageId)
    return done('Message deleted')
  },
})

export const reactToMessage = operation({
  route: 'PUT /api/team/{workspaceId}/channels/{channelId}/messages/{messageId}/reactions/{emoji}',
  summary: 'Add a reaction',
  description: 'A message has at most 20 different emoji and 500 reactions.',
  access: 'chat:write',
  workspace: from.path('workspaceId'),
  turn: true,
  audit: false,
  socket: true,
  path: ReactionPath,
  returns: { 200: Envelope(MessageView) },
  errors: [ChannelArchived, Conflict, MessageDeleted, ValidationFailed],
  example: { path: { workspaceId, channelId, messageId, emoji: '👍' } },
  handle: async ({ turn, caller, path, chat }) =>
    ok('Reaction added', await chat.reactionsAndPins.react(turn, caller, path, path.emoji)),
})

export const unreactToMessage = operation({
  route: 'DELETE /api/team/{workspaceId}/channels/{channelId}/messages/{messageId}/reactions/{emoji}',
  summary: 'Remove a reaction',
  access: 'chat:write',
  workspace: from.path('workspaceId'),
  turn: true,
  audit: false,
  socket: true,
  path: ReactionPath,
  returns: { 200: Envelope(MessageView) },
  errors: [ChannelArchived, MessageDeleted],
  example: { path: { workspaceId, channelId, messageId, emoji: '👍' } },
  handle: async ({ turn, caller, path, chat }) =>
    ok('Reaction taken back', await chat.reactionsAndPins.unreact(turn, caller, path, path.emoji)),
})

export const searchMessages = operation({
  route: 'GET /api/team/{workspaceId}/messages/search',
  summary: 'Search messages',
  description:
    'Searches the channels that you can see, newest messages first. All words must occur; the last one can be a prefix. A page for frequent words can have fewer messages than `limit`, or none. Continue while `nextCursor` is not null.',
  access: 'chat:read',
  workspace: from.path('workspaceId'),
  socket: true,
  path: ChannelsPath,
  query: SearchQuery,
  returns: { 200: ListOf(FoundMessage) },
  errors: [SearchTooBroad],
  example: { path: { workspaceId }, query: { q: 'launch' } },
  handle: async ({ member, query, chat }) =>
    list('Messages', await chat.search.find(member, query, pageRequest(query))),
})
