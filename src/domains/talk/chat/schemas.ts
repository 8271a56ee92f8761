import { pageFields } from '../../../core/page.ts'
import {
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

const Seq = Sequence({ description: 'Place in the order of all changes of the channel' })

export const Attachment = named(
  'ChatAttachment',
  Type.Object({
    _id: Id,
    name: Type.String(),
    url: Type.String(),
    fileType: Type.String({ description: 'Media type, found by looking into the file' }),
    size: Type.Integer({ description: 'Bytes' }),
  }),
)
export type AttachmentData = Static<typeof Attachment>

export const MessageView = named(
  'ChatMessage',
  Type.Object({
    ...ResourceBase,
    channelId: Id,
    seq: Type.Integer({ description: 'Its place in the order of all changes of the channel' }),
    author: Type.String({ ...Id, description: 'The user’s id; names are those of listMembers' }),
    clientId: Nullable(Type.String()),
    body: Type.String({ description: 'Empty once deleted' }),
    attachments: Type.Array(Attachment),
    mentions: Type.Object({
      userIds: Type.Array(Id, { description: 'Users mentioned by `<@user id>` who may see the channel' }),
      everyone: Type.Boolean({ description: 'Whether `<!channel>` mentions everybody in the channel' }),
    }),
    replyTo: Nullable(Type.String({ ...Id, description: 'The message at the root of the thread' })),
    thread: Type.Object({
      replyCount: Type.Integer({ description: 'Replies that are not deleted' }),
      lastReplySeq: Nullable(Type.Integer()),
      lastReplyAt: Nullable(Timestamp),
    }),
    reactions: Type.Array(
      Type.Object({ emoji: Type.String(), userIds: Type.Array(Id, { description: 'In the order of their coming' }) }),
      { description: 'In the order of their code points' },
    ),
    edits: Type.Integer({ description: 'How often it was edited' }),
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
  kind: OneOf(['channel', 'dm'], { description: 'A channel, or a direct conversation' }),
  name: Nullable(Type.String({ description: 'A direct conversation has none' })),
  topic: Nullable(Type.String({ description: 'What it is about' })),
  private: Type.Boolean({ description: 'Only its members see it; so is every direct conversation' }),
  archivedAt: Nullable(
    Type.String({ ...Timestamp, description: 'Since when nothing can be written in it; null while it is open' }),
  ),
  createdBy: Nullable(Type.String({ ...Id, description: 'The user who created it; null when they are gone' })),
  memberIds: Type.Array(Id, {
    description:
      'Of a private channel or direct conversation; empty for a public one, which is open to all with chat:read',
  }),
  version: Type.Integer({ description: 'Grows with every change of the channel itself; for If-Match' }),
}

export const ChannelState = named('ChannelState', Type.Object(channel))
export type ChannelData = Static<typeof ChannelState>

export const ChannelView = named(
  'Channel',
  Type.Object({
    ...channel,
    seq: Type.Integer({ description: 'Number of the newest change' }),
    readSeq: Type.Integer({ description: 'How far the caller has read' }),
    muted: Type.Boolean({ description: 'By the caller' }),
    unreadCount: Type.Integer({ description: 'Messages of others after `readSeq`; counted up to 1,000' }),
    mentionCount: Type.Integer({ description: 'Those among them that mention the caller; counted up to 1,000' }),
    lastMessage: Nullable(MessageView),
  }),
)
export type ChannelDetails = Static<typeof ChannelView>

const ChannelName = Text(1, 80, {
  pattern: NAME.source,
  description: 'Unique in the workspace, upper and lower case alike',
})
const Topic = Type.String({ maxLength: 250, description: 'Empty or null for none' })

export const NewChannel = Input({
  kind: OneOf(['channel', 'dm']),
  name: Type.Optional(ChannelName),
  topic: Type.Optional(Topic),
  private: Type.Optional(Type.Boolean({ default: false })),
  memberIds: Type.Optional(
    Type.Array(Id, { maxItems: 500, uniqueItems: true, description: 'Of a private channel; the caller is one anyway' }),
  ),
  userIds: Type.Optional(
    Type.Array(Id, {
      minItems: 1,
      maxItems: 9,
      uniqueItems: true,
      description: 'Of a direct conversation: 1 to 8 others',
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
  kind: Type.Optional(OneOf(['channel', 'dm'])),
  archived: Type.Optional(Type.Boolean({ description: 'Only those that are, or are not, archived' })),
})

export const NewMessage = Input({
  body: Type.Optional(
    Type.String({
      maxLength: BODY_LENGTH,
      description: '`<@user id>` mentions a user, and `<!channel>` everybody in the channel. Optional with attachments',
    }),
  ),
  attachments: Type.Optional(
    Type.Array(Id, { maxItems: 10, uniqueItems: true, description: 'Ids that uploadChatAttachment gave' }),
  ),
  replyTo: Type.Optional(Type.String({ ...Id, description: 'A message of the channel: answers it in its thread' })),
  clientId: Type.Optional(
    Text(1, 100, { description: 'The client’s own id of the message: sending it again gives the first one again' }),
  ),
})

export const MessageChange = Input(
  {
    body: Type.Optional(Text(1, BODY_LENGTH, { description: 'Of one’s own message' })),
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
    Type.Literal(true, { description: 'With what each message said before its edits; at most 10 messages' }),
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
  data: Type.Array(ListedMessage, { description: 'By ascending `seq`' }),
  pagination: PageInfo,
  seq: Type.Integer({ description: 'Number of the channel’s newest change: where changes go on from' }),
})

export const ReadMarker = Input(
  {
    seq: Type.Optional(Sequence({ description: 'Read up to here; never goes back' })),
    muted: Type.Optional(Type.Boolean({ description: 'Whether the caller wants no notice of the channel' })),
  },
  { minProperties: 1 },
)

export const ReadState = named(
  'ReadState',
  Type.Object({
    channelId: Id,
    readSeq: Type.Integer({ description: 'How far the reader has read' }),
    muted: Type.Boolean({ description: 'Whether the reader has muted the channel' }),
    unreadCount: Type.Integer({ description: 'Messages of others after `readSeq`; counted up to 1,000' }),
    mentionCount: Type.Integer({ description: 'Those among them that mention the reader; counted up to 1,000' }),
  }),
)

export const SearchQuery = Input({
  ...pageFields,
  q: Text(1, 200, { description: 'All words must occur; the last one may be the beginning of a word' }),
  channelId: Type.Optional(Id),
  from: Type.Optional(Type.String({ ...Id, description: 'Author' })),
})

export const FoundMessage = named(
  'FoundMessage',
  Type.Object({
    ...MessageView.properties,
    snippet: Type.String({ description: 'HTML-escaped text around the words, which are in <mark>' }),
  }),
)

const ChangeKind = States('ChatChangeType', 'What changed in a channel', {
  channel: 'The channel itself: name, topic or archive. `data.channel` is the whole of it',
  members: 'Who is in it: `data.added` and `data.removed`',
  message: 'A new message: `data.message`',
  edit: 'A message has another text: `data.body`, `data.mentions` and `data.edits`',
  delete: 'A message was deleted: `data.messageId`, and `data.replyTo` when it was in a thread',
  react: '`actorId` reacted to a message with `data.emoji`',
  unreact: '`actorId` took the reaction `data.emoji` back',
  pin: 'A message was pinned: `data.messageId`',
  unpin: 'A message is no longer pinned: `data.messageId`',
})
export type ChangeKind = Static<typeof ChangeKind>

const Ref = { messageId: Id }

/** What each kind of change carries. */
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

/** A change; its `type` says which fields `data` has. */
export type ChangeData = { [K in ChangeKind]: ChangeOf<K> }[ChangeKind]

/** One object for all kinds, because a serializer for a union would try one after the other. */
const anyData = Object.assign({}, ...Object.values(CHANGE_DATA).map(({ properties }) => properties)) as TProperties

export const Change = named(
  'ChatChange',
  Type.Unsafe<ChangeData>(
    Type.Object({
      workspaceId: Id,
      channelId: Id,
      seq: Type.Integer({ description: 'Dense per channel, from 1: a missing number is a gap to sync over' }),
      type: ChangeKind,
      at: Timestamp,
      actorId: Type.String({ ...Id, description: 'The user who did it' }),
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
    messages: Type.Array(MessageView, { description: 'The newest 100, by ascending `seq`' }),
    pins: Type.Array(Id, { description: 'Every pinned message, by its own `seq`' }),
  }),
)
export type SnapshotData = Static<typeof Snapshot>

export const SyncQuery = Input({
  after: Sequence({ description: '`seq` of the last change that was applied; 0 for none' }),
})

export const SyncPage = named(
  'ChatSync',
  Type.Object({
    seq: Type.Integer({ description: 'Number of the newest change of the channel' }),
    hasMore: Type.Boolean({ description: 'Ask again, after the last change' }),
    changes: Type.Array(Change, { description: 'In order, without a gap; empty beside a snapshot' }),
    snapshot: Nullable(Snapshot),
  }),
)
export type SyncData = Static<typeof SyncPage>
