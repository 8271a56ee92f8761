import { pageFields } from '../../../core/page.ts'
import {
  Generation,
  Id,
  Input,
  named,
  Nullable,
  OneOf,
  PageInfo,
  ResourceBase,
  Sequence,
  States,
  Text,
  Timestamp,
  Type,
  type Static,
  type TProperties,
} from '../../../core/schema.ts'
import { Several } from '../../../core/several.ts'

/** Characters of a message. */
export const BODY_LENGTH = 8_000
const NAME = /^\S(?:.*\S)?$/

export const ChannelsPath = Input({ workspaceId: Id })
export const ChannelPath = Input({ workspaceId: Id, channelId: Id })
export const ChannelMemberPath = Input({ workspaceId: Id, channelId: Id, userId: Id })
export const MessagePath = Input({ workspaceId: Id, channelId: Id, messageId: Id })
export const AttachmentPath = Input({ workspaceId: Id, attachmentId: Id })
export const ReactionPath = Input({
  workspaceId: Id,
  channelId: Id,
  messageId: Id,
  emoji: Type.String({ minLength: 1, maxLength: 64, description: 'One emoji, percent-encoded' }),
})

const Seq = Sequence({ description: 'Sequence number of a change in the channel' })

export const Attachment = named(
  'ChatAttachment',
  Type.Object({
    _id: Id,
    name: Type.String(),
    url: Type.String(),
    fileType: Type.String({ description: 'Media type, detected from the content' }),
    size: Type.Integer({ description: 'Size in bytes' }),
  }),
)
export type AttachmentData = Static<typeof Attachment>

export const MessageView = named(
  'ChatMessage',
  Type.Object({
    ...ResourceBase,
    channelId: Id,
    seq: Type.Integer({ description: 'Sequence number of the message among all changes of the channel' }),
    author: Type.String({ ...Id, description: 'The author’s user id. listMembers has the names' }),
    clientId: Nullable(Type.String()),
    body: Type.String({ description: 'Empty if the message was deleted' }),
    attachments: Type.Array(Attachment),
    mentions: Type.Object({
      userIds: Type.Array(Id, { description: 'Users mentioned by `<@user id>` who may see the channel' }),
      everyone: Type.Boolean({ description: 'Whether `<!channel>` mentions everyone in the channel' }),
    }),
    replyTo: Nullable(Type.String({ ...Id, description: 'The root message of the thread' })),
    thread: Type.Object({
      replyCount: Type.Integer({ description: 'Replies that are not deleted' }),
      lastReplySeq: Nullable(Type.Integer()),
      lastReplyAt: Nullable(Timestamp),
    }),
    reactions: Type.Array(
      Type.Object({
        emoji: Type.String(),
        userIds: Type.Array(Id, { description: 'In the order in which they reacted' }),
      }),
      { description: 'Sorted by code point' },
    ),
    edits: Type.Integer({ description: 'Number of edits' }),
    editedAt: Nullable(Timestamp),
    pinnedAt: Nullable(Timestamp),
    pinnedBy: Nullable(Id),
    deletedAt: Nullable(Timestamp),
  }),
)
export type MessageData = Static<typeof MessageView>

const channel = {
  ...ResourceBase,
  workspaceId: Id,
  kind: OneOf(['channel', 'dm'], { description: '`channel`: a channel. `dm`: a direct conversation' }),
  name: Nullable(Type.String({ description: 'Null for a direct conversation' })),
  topic: Nullable(Type.String({ description: 'The subject of the channel' })),
  private: Type.Boolean({ description: 'Whether only members can see it. Always true for a direct conversation' }),
  archivedAt: Nullable(
    Type.String({ ...Timestamp, description: 'When the channel was archived. Null if it is not archived' }),
  ),
  createdBy: Nullable(
    Type.String({ ...Id, description: 'The user who created it. Null if their account was deleted' }),
  ),
  memberIds: Type.Array(Id, {
    description:
      'The members of a private channel or direct conversation. Empty for a public channel, which all members with chat:read can see',
  }),
  version: Type.Integer({ description: 'Increases with every change of the channel itself. Use it in If-Match' }),
}

export const ChannelState = named('ChannelState', Type.Object(channel))
export type ChannelData = Static<typeof ChannelState>

export const ChannelView = named(
  'Channel',
  Type.Object({
    ...channel,
    seq: Type.Integer({ description: 'Sequence number of the newest change' }),
    readSeq: Type.Integer({ description: 'Sequence number up to which the caller has read' }),
    muted: Type.Boolean({ description: 'Whether the caller has muted the channel' }),
    unreadCount: Type.Integer({
      description: 'Messages by other users after `readSeq`, of the newest 1,000',
    }),
    mentionCount: Type.Integer({ description: 'Unread messages that mention the caller, at most 1,000' }),
    lastMessage: Nullable(MessageView),
  }),
)
export type ChannelDetails = Static<typeof ChannelView>

const ChannelName = Text(1, 80, {
  pattern: NAME.source,
  description: 'Unique in the workspace, ignoring case',
})
const Topic = Type.String({ maxLength: 250, description: 'Empty or null for none' })

export const NewChannel = Input({
  kind: OneOf(['channel', 'dm']),
  name: Type.Optional(ChannelName),
  topic: Type.Optional(Topic),
  private: Type.Optional(Type.Boolean({ default: false })),
  memberIds: Type.Optional(
    Type.Array(Id, {
      maxItems: 500,
      uniqueItems: true,
      description: 'Members of a private channel. The caller is always a member',
    }),
  ),
  userIds: Type.Optional(
    Type.Array(Id, {
      minItems: 1,
      maxItems: 9,
      uniqueItems: true,
      description: 'Members of a direct conversation: 1 to 8 other users',
    }),
  ),
})

export const ChannelChange = Input(
  {
    name: Type.Optional(Nullable(ChannelName)),
    topic: Type.Optional(Nullable(Topic)),
    archived: Type.Optional(Type.Boolean({ description: 'An archived channel is read-only' })),
  },
  { minProperties: 1 },
)

export const NewChannelMembers = Input({
  userIds: Type.Array(Id, { minItems: 1, maxItems: 100, uniqueItems: true }),
})

export const ChannelsQuery = Input({
  ...pageFields,
  kind: Several(OneOf(['channel', 'dm'])),
  archived: Type.Optional(
    Type.Boolean({ description: 'Only archived channels (true) or only channels that are not archived (false)' }),
  ),
})

export const NewMessage = Input({
  body: Type.Optional(
    Type.String({
      maxLength: BODY_LENGTH,
      description: '`<@user id>` mentions a user, and `<!channel>` everyone in the channel. Optional with attachments',
    }),
  ),
  attachments: Type.Optional(
    Type.Array(Id, { maxItems: 10, uniqueItems: true, description: 'Ids returned by uploadChatAttachment' }),
  ),
  replyTo: Type.Optional(Type.String({ ...Id, description: 'A message of the channel to reply to in its thread' })),
  clientId: Type.Optional(
    Text(1, 100, { description: 'A message id chosen by the client. A repeated request returns the first message' }),
  ),
})

export const MessageChange = Input(
  {
    body: Type.Optional(Text(1, BODY_LENGTH, { description: 'The new text of your own message' })),
    pinned: Type.Optional(
      Type.Boolean({ description: 'Pins or unpins a message of any author. At most 50 per channel' }),
    ),
  },
  { minProperties: 1, maxProperties: 1 },
)

export const MessagesQuery = Input({
  ...pageFields,
  before: Type.Optional(Seq),
  after: Type.Optional(Seq),
  around: Type.Optional(Seq),
  replyTo: Type.Optional(Type.String({ ...Id, description: 'Only the replies to this message' })),
  pinned: Type.Optional(Type.Literal(true, { description: 'Only pinned messages' })),
  history: Type.Optional(
    Type.Literal(true, { description: 'Includes the earlier texts of edited messages. At most 10 messages per page' }),
  ),
})

export const ListedMessage = named(
  'ListedMessage',
  Type.Object({
    ...MessageView.properties,
    history: Type.Optional(Type.Array(Type.Object({ body: Type.String(), at: Timestamp }))),
  }),
)

export const MessageList = Type.Object({
  status: Type.Literal(true),
  message: Type.String(),
  data: Type.Array(ListedMessage, { description: 'Sorted by ascending `seq`' }),
  pagination: PageInfo,
  seq: Type.Integer({
    description: 'Sequence number of the channel’s newest change. Continue with the changes after it',
  }),
  generation: Generation,
})

export const ReadMarker = Input(
  {
    seq: Type.Optional(Sequence({ description: 'The caller has read up to this number. It never decreases' })),
    muted: Type.Optional(Type.Boolean({ description: 'Whether to mute notifications of the channel' })),
  },
  { minProperties: 1 },
)

export const ReadState = named(
  'ReadState',
  Type.Object({
    channelId: Id,
    readSeq: Type.Integer({ description: 'Sequence number up to which the user has read' }),
    muted: Type.Boolean({ description: 'Whether the user has muted the channel' }),
    unreadCount: Type.Integer({
      description: 'Messages by other users after `readSeq`, of the newest 1,000',
    }),
    mentionCount: Type.Integer({ description: 'Unread messages that mention the user, at most 1,000' }),
  }),
)

export const SearchQuery = Input({
  ...pageFields,
  q: Text(1, 200, { description: 'All words must occur. The last one can be a prefix' }),
  channelId: Several(Id),
  from: Several(Id, { description: 'Author' }),
})

export const FoundMessage = named(
  'FoundMessage',
  Type.Object({
    ...MessageView.properties,
    snippet: Type.String({ description: 'HTML-escaped text around the matches, which are marked with <mark>' }),
  }),
)

const ChangeKind = States('ChatChangeType', 'What changed in a channel', {
  channel: 'The channel itself changed: its name, topic or archived state. `data.channel` is the whole channel',
  members: 'Members were added or removed: `data.added` and `data.removed`',
  message: 'A new message: `data.message`',
  edit: 'A message was edited: `data.body`, `data.mentions` and `data.edits`',
  delete: 'A message was deleted: `data.messageId`, and `data.replyTo` when it was in a thread',
  react: '`actorId` reacted to a message with `data.emoji`',
  unreact: '`actorId` removed the reaction `data.emoji`',
  pin: 'A message was pinned: `data.messageId`',
  unpin: 'A message was unpinned: `data.messageId`',
})
export type ChangeKind = Static<typeof ChangeKind>

const Ref = { messageId: Id }

/** The data of each kind of change. */
export const CHANGE_DATA = {
  channel: Type.Object({ channel: ChannelState }),
  members: Type.Object({ added: Type.Array(Id), removed: Type.Array(Id) }),
  message: Type.Object({ message: MessageView }),
  edit: Type.Object({
    ...Ref,
    body: Type.String(),
    mentions: MessageView.properties.mentions,
    edits: Type.Integer(),
  }),
  delete: Type.Object({ ...Ref, replyTo: Nullable(Id) }),
  react: Type.Object({ ...Ref, emoji: Type.String() }),
  unreact: Type.Object({ ...Ref, emoji: Type.String() }),
  pin: Type.Object(Ref),
  unpin: Type.Object(Ref),
} as const

export const CHANGE_KINDS = Object.keys(CHANGE_DATA) as ChangeKind[]

interface ChangeOf<K extends ChangeKind> {
  workspaceId: string
  channelId: string
  seq: number
  type: K
  at: string
  actorId: string
  data: Static<(typeof CHANGE_DATA)[K]>
}

/** A change. Its `type` determines the fields of `data`. */
export type ChangeData = { [K in ChangeKind]: ChangeOf<K> }[ChangeKind]

/** One object for all kinds, because a serializer for a union would try each variant in order. */
const anyData = Object.assign({}, ...Object.values(CHANGE_DATA).map(({ properties }) => properties)) as TProperties

export const Change = named(
  'ChatChange',
  Type.Unsafe<ChangeData>(
    Type.Object({
      workspaceId: Id,
      channelId: Id,
      seq: Type.Integer({
        description: 'Consecutive per channel, from 1. If a number is missing, get the change with `sync`',
      }),
      type: ChangeKind,
      at: Timestamp,
      actorId: Type.String({ ...Id, description: 'The user who made the change' }),
      data: Type.Partial(Type.Object(anyData), {
        description: `By \`type\`: ${Object.entries(CHANGE_DATA)
          .map(([type, { properties }]) => `${type}: ${Object.keys(properties).join(', ')}`)
          .join('; ')}`,
      }),
    }),
  ),
)

export const Snapshot = named(
  'ChatSnapshot',
  Type.Object({
    channel: ChannelState,
    seq: Type.Integer(),
    messages: Type.Array(MessageView, { description: 'The newest 100, sorted by ascending `seq`' }),
    pins: Type.Array(Id, { description: 'All pinned messages, sorted by their `seq`' }),
  }),
)
export type SnapshotData = Static<typeof Snapshot>

export const SyncQuery = Input({
  after: Sequence({ description: '`seq` of the last change that the client has applied. 0 for none' }),
  generation: Type.Optional(Generation),
})

export const SyncPage = named(
  'ChatSync',
  Type.Object({
    seq: Type.Integer({ description: 'Sequence number of the newest change of the channel' }),
    generation: Generation,
    hasMore: Type.Boolean({
      description: 'Whether there are more changes. Request them with the last `seq` as `after`',
    }),
    changes: Type.Array(Change, { description: 'In order, without gaps. Empty if there is a snapshot' }),
    snapshot: Nullable(Snapshot),
  }),
)
export type SyncData = Static<typeof SyncPage>
