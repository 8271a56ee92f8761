import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, referencesByColumns, timestamp } from '../../../db/columns.ts'
import type { DatabaseOf } from '../../../db/query.ts'
import { table } from '../../../db/table.ts'
import { Workspace, WorkspaceMember } from '../../workspace/workspaces/index.ts'
import type { AttachmentData, ChangeKind } from './schemas.ts'

const ids = () => p.array().columnType('uuid[]').defaultRaw(`'{}'`)

/** A channel, or the direct conversation of a few people. */
export const Channel = defineEntity({
  name: 'Channel',
  tableName: 'channels',
  uniques: [{ name: 'channels_people_key', properties: ['workspaceId', 'people'] }],
  indexes: [
    { name: 'channels_by_creator', properties: ['createdBy', 'id'] },
    {
      name: 'channels_name_key',
      expression: 'create unique index channels_name_key on channels (workspace_id, lower(name))',
    },
    { name: 'channels_by_workspace', properties: ['workspaceId', 'id'] },
  ],
  checks: [
    {
      name: 'channels_named',
      expression: `(kind = 'channel') = (name is not null) and (kind = 'dm') = (people is not null)`,
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'channels_workspace_id_fkey', onDelete: 'cascade' }),
    kind: p.text().$type<'channel' | 'dm'>(),
    name: p.text().nullable(),
    topic: p.text().nullable(),
    private: p.boolean().default(false),
    /** A hash of the ids of everyone in a direct conversation. Null for a channel. */
    people: p.text().nullable(),
    createdBy: p.uuid().nullable(),
    archivedAt: timestamp().nullable(),
    version: p.integer().default(1),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

const inChannel = (name: string) => references(Channel, { name, onDelete: 'cascade' })

/** A member of a private channel or direct conversation. Ends with the membership in the workspace. */
export const ChannelMember = defineEntity({
  name: 'ChannelMember',
  tableName: 'channel_members',
  indexes: [
    { name: 'channel_members_by_person', properties: ['userId', 'channelId'] },
    { name: 'channel_members_by_member', properties: ['workspaceId', 'userId'] },
  ],
  properties: {
    channelId: inChannel('channel_members_channel_id_fkey').primary(),
    workspaceId: p.uuid().primary(),
    userId: p.uuid().primary(),
    member: referencesByColumns(WorkspaceMember, ['workspace_id', 'user_id'], {
      name: 'channel_members_member_fkey',
      onDelete: 'cascade',
    }),
  },
})

export const ChatMessage = defineEntity({
  name: 'ChatMessage',
  tableName: 'chat_messages',
  indexes: [
    { name: 'chat_messages_by_author', properties: ['authorId', 'id'] },
    // Unread messages are counted in the index alone.
    {
      name: 'chat_messages_seq_key',
      expression:
        'create unique index chat_messages_seq_key on chat_messages (channel_id, seq) include (author_id, created_at, deleted_at, mentions_all)',
    },
    {
      name: 'chat_messages_client_key',
      expression:
        'create unique index chat_messages_client_key on chat_messages (author_id, client_id, channel_id) where client_id is not null',
    },
    {
      name: 'chat_messages_by_thread',
      expression: 'create index chat_messages_by_thread on chat_messages (reply_to, seq) where reply_to is not null',
    },
    {
      name: 'chat_messages_pinned',
      expression:
        'create index chat_messages_pinned on chat_messages (channel_id, pinned_at) where pinned_at is not null',
    },
    {
      name: 'chat_messages_to_all',
      expression: 'create index chat_messages_to_all on chat_messages (channel_id, seq) where mentions_all',
    },
    {
      name: 'chat_messages_terms',
      expression:
        'create index chat_messages_terms on chat_messages using gin (chat_terms(workspace_id, body)) with (gin_pending_list_limit = 512)',
    },
    {
      name: 'chat_messages_by_time',
      expression: 'create index chat_messages_by_time on chat_messages (workspace_id, created_at desc, id desc)',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    channelId: inChannel('chat_messages_channel_id_fkey'),
    /** The workspace of the channel, repeated here for the index of search terms. */
    workspaceId: p.uuid(),
    seq: p.bigint('number'),
    authorId: p.uuid(),
    clientId: p.text().nullable(),
    /** Empty if the message was deleted. */
    body: p.text(),
    attachments: p.json<AttachmentData[]>().defaultRaw(`'[]'`),
    mentions: ids(),
    mentionsAll: p.boolean().default(false),
    replyTo: p.uuid().nullable(),
    replies: p.integer().default(0),
    lastReplySeq: p.bigint('number').nullable(),
    lastReplyAt: timestamp().nullable(),
    edits: p.integer().default(0),
    editedAt: timestamp().nullable(),
    pinnedAt: timestamp().nullable(),
    pinnedBy: p.uuid().nullable(),
    deletedAt: timestamp().nullable(),
    createdAt: timestamp(),
  },
})

const ofMessage = (name: string) => references(ChatMessage, { name, onDelete: 'cascade' })

/** An uploaded file. `messageId` is null until a message with it is sent. */
export const ChatAttachment = defineEntity({
  name: 'ChatAttachment',
  tableName: 'chat_attachments',
  indexes: [
    { name: 'chat_attachments_by_uploader', properties: ['uploadedBy', 'id'] },
    {
      name: 'chat_attachments_loose',
      expression: 'create index chat_attachments_loose on chat_attachments (created_at) where message_id is null',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'chat_attachments_workspace_id_fkey', onDelete: 'cascade' }).index(
      'chat_attachments_by_workspace',
    ),
    messageId: ofMessage('chat_attachments_message_id_fkey').nullable().index('chat_attachments_by_message'),
    uploadedBy: p.uuid(),
    name: p.text(),
    type: p.text(),
    size: p.integer(),
    createdAt: timestamp(),
  },
})

/** The text of a message before each of its edits. */
export const ChatEdit = defineEntity({
  name: 'ChatEdit',
  tableName: 'chat_edits',
  properties: {
    messageId: ofMessage('chat_edits_message_id_fkey').primary(),
    edit: p.integer().primary(),
    body: p.text(),
    at: timestamp(),
  },
})

export const ChatReaction = defineEntity({
  name: 'ChatReaction',
  tableName: 'chat_reactions',
  indexes: [{ name: 'chat_reactions_by_person', properties: ['userId', 'messageId', 'emoji'] }],
  properties: {
    messageId: ofMessage('chat_reactions_message_id_fkey').primary(),
    emoji: p.text().primary(),
    userId: p.uuid().primary(),
    seq: p.bigint('number'),
  },
})

/** A mention of a user in a message. `seq` is the sequence number of the message. */
export const ChatMention = defineEntity({
  name: 'ChatMention',
  tableName: 'chat_mentions',
  indexes: [{ name: 'chat_mentions_by_message', properties: ['channelId', 'seq'] }],
  properties: {
    userId: p.uuid().primary(),
    channelId: inChannel('chat_mentions_channel_id_fkey').primary(),
    seq: p.bigint('number').primary(),
  },
})

/** How far a user has read a channel, and whether they have muted it. */
export const ChatRead = defineEntity({
  name: 'ChatRead',
  tableName: 'chat_reads',
  indexes: [{ name: 'chat_reads_by_person', properties: ['userId', 'channelId'] }],
  properties: {
    channelId: inChannel('chat_reads_channel_id_fkey').primary(),
    userId: p.uuid().primary(),
    seq: p.bigint('number').defaultRaw('0'),
    muted: p.boolean().default(false),
    updatedAt: timestamp(),
  },
})

/** Every change of a channel, with consecutive numbers. It holds no message texts: see chat-log.ts. */
export const ChatChange = defineEntity({
  name: 'ChatChange',
  tableName: 'chat_log',
  properties: {
    channelId: inChannel('chat_log_channel_id_fkey').primary(),
    seq: p.bigint('number').primary(),
    type: p.text().$type<ChangeKind>(),
    messageId: p.uuid().nullable(),
    byId: p.uuid(),
    data: p.json<object>().nullable(),
    at: timestamp(),
  },
})

export const channels = table(Channel)
export const channelMembers = table(ChannelMember)
export const chatMessages = table(ChatMessage)
export const chatAttachments = table(ChatAttachment)
export const chatEdits = table(ChatEdit)
export const chatReactions = table(ChatReaction)
export const chatMentions = table(ChatMention)
export const chatReads = table(ChatRead)
export const chatLog = table(ChatChange)

/** The tables that queries of the domain join. */
export const chatTables = {
  channels,
  channelMembers,
  chatMessages,
  chatAttachments,
  chatReactions,
  chatMentions,
  chatReads,
  chatLog,
}
export type ChatDatabase = DatabaseOf<typeof chatTables>

export const chatEntities = [
  Channel,
  ChannelMember,
  ChatMessage,
  ChatEdit,
  ChatReaction,
  ChatMention,
  ChatRead,
  ChatChange,
  ChatAttachment,
]
