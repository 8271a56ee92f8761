import { defineEntity, p } from '@mikro-orm/postgresql'
import { Workspace, WorkspaceMember } from '../../workspace/workspaces/entities.ts'
import type { AttachmentData, ChangeKind } from './schemas.ts'

const time = () => p.datetime().columnType('timestamptz')
const ids = () =>
  p
    .array((text) => text)
    .columnType('uuid[]')
    .defaultRaw(`'{}'`)

const ChannelSchema = defineEntity({
  name: 'Channel',
  tableName: 'channels',
  uniques: [{ name: 'channels_people_key', properties: ['workspace', 'people'] }],
  indexes: [
    {
      name: 'channels_name_key',
      expression: 'create unique index channels_name_key on channels (workspace_id, lower(name))',
    },
    {
      name: 'channels_by_time',
      expression: 'create index channels_by_time on channels (workspace_id, created_at desc, id desc)',
    },
  ],
  checks: [
    {
      name: 'channels_named',
      expression: `(kind = 'channel') = (name is not null) and (kind = 'dm') = (people is not null)`,
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspace: p
      .manyToOne(Workspace)
      .deleteRule('cascade')
      .updateRule('no action')
      .foreignKeyName('channels_workspace_id_fkey')
      .index(false),
    kind: p.text().$type<'channel' | 'dm'>(),
    name: p.text().nullable(),
    topic: p.text().nullable(),
    private: p.boolean().default(false),
    /** Of a direct conversation: a digest of the ids of all who are in it. */
    people: p.text().nullable(),
    createdBy: p.uuid().nullable(),
    archivedAt: time().nullable(),
    version: p.integer().default(1),
    createdAt: time(),
    updatedAt: time(),
  },
})

/** A channel, or the direct conversation of a few people. */
class Channel extends ChannelSchema.class {}
ChannelSchema.setClass(Channel)

const inChannel = (name: string) =>
  p.manyToOne(Channel).deleteRule('cascade').updateRule('no action').foreignKeyName(name)

/** Who is in a private channel or direct conversation; ends with the membership in the workspace. */
const ChannelMember = defineEntity({
  name: 'ChannelMember',
  tableName: 'channel_members',
  indexes: [{ name: 'channel_members_by_member', properties: ['member'] }],
  properties: {
    channel: inChannel('channel_members_channel_id_fkey').primary(),
    member: p
      .manyToOne(WorkspaceMember)
      .primary()
      .joinColumns('workspace_id', 'user_id')
      .deleteRule('cascade')
      .updateRule('no action')
      .foreignKeyName('channel_members_member_fkey')
      .index(false),
  },
})

const MessageSchema = defineEntity({
  name: 'ChatMessage',
  tableName: 'chat_messages',
  uniques: [{ name: 'chat_messages_seq_key', properties: ['channel', 'seq'] }],
  indexes: [
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
    channel: inChannel('chat_messages_channel_id_fkey').index(false),
    /** The workspace of the channel, repeated here for the index of search terms. */
    workspaceId: p.uuid(),
    seq: p.bigint('number'),
    authorId: p.uuid(),
    clientId: p.text().nullable(),
    /** Empty once deleted. */
    body: p.text(),
    attachments: p.json<readonly AttachmentData[]>().defaultRaw(`'[]'`),
    mentions: ids(),
    mentionsAll: p.boolean().default(false),
    replyTo: p.uuid().nullable(),
    replies: p.integer().default(0),
    lastReplySeq: p.bigint('number').nullable(),
    lastReplyAt: time().nullable(),
    edits: p.integer().default(0),
    editedAt: time().nullable(),
    pinnedAt: time().nullable(),
    pinnedBy: p.uuid().nullable(),
    deletedAt: time().nullable(),
    createdAt: time(),
  },
})

class ChatMessage extends MessageSchema.class {}
MessageSchema.setClass(ChatMessage)

const ofMessage = (name: string) =>
  p.manyToOne(ChatMessage).primary().deleteRule('cascade').updateRule('no action').foreignKeyName(name)

/** A file of a message; none as long as it waits for one. */
const ChatAttachment = defineEntity({
  name: 'ChatAttachment',
  tableName: 'chat_attachments',
  indexes: [
    {
      name: 'chat_attachments_loose',
      expression: 'create index chat_attachments_loose on chat_attachments (created_at) where message_id is null',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspace: p
      .manyToOne(Workspace)
      .deleteRule('cascade')
      .updateRule('no action')
      .foreignKeyName('chat_attachments_workspace_id_fkey')
      .index('chat_attachments_by_workspace'),
    message: p
      .manyToOne(ChatMessage)
      .nullable()
      .deleteRule('cascade')
      .updateRule('no action')
      .foreignKeyName('chat_attachments_message_id_fkey')
      .index('chat_attachments_by_message'),
    uploadedBy: p.uuid(),
    name: p.text(),
    type: p.text(),
    size: p.integer(),
    createdAt: time(),
  },
})

/** What a message said before each of its edits. */
const ChatEdit = defineEntity({
  name: 'ChatEdit',
  tableName: 'chat_edits',
  properties: {
    message: ofMessage('chat_edits_message_id_fkey'),
    edit: p.integer().primary(),
    body: p.text(),
    at: time(),
  },
})

const ChatReaction = defineEntity({
  name: 'ChatReaction',
  tableName: 'chat_reactions',
  properties: {
    message: ofMessage('chat_reactions_message_id_fkey'),
    emoji: p.text().primary(),
    userId: p.uuid().primary(),
    seq: p.bigint('number'),
  },
})

/** Who is mentioned by name, by the `seq` of the message. */
const ChatMention = defineEntity({
  name: 'ChatMention',
  tableName: 'chat_mentions',
  indexes: [{ name: 'chat_mentions_by_message', properties: ['channel', 'seq'] }],
  properties: {
    userId: p.uuid().primary(),
    channel: inChannel('chat_mentions_channel_id_fkey').primary().index(false),
    seq: p.bigint('number').primary(),
  },
})

/** How far somebody has read. */
const ChatRead = defineEntity({
  name: 'ChatRead',
  tableName: 'chat_reads',
  properties: {
    channel: inChannel('chat_reads_channel_id_fkey').primary(),
    userId: p.uuid().primary(),
    seq: p.bigint('number').defaultRaw('0'),
    muted: p.boolean().default(false),
    updatedAt: time(),
  },
})

/** Every change of a channel, dense by `seq`. The texts are not here: see chat-log.ts. */
const ChatChange = defineEntity({
  name: 'ChatChange',
  tableName: 'chat_log',
  properties: {
    channel: inChannel('chat_log_channel_id_fkey').primary(),
    seq: p.bigint('number').primary(),
    type: p.text().$type<ChangeKind>(),
    messageId: p.uuid().nullable(),
    byId: p.uuid(),
    data: p.json().nullable(),
    at: time(),
  },
})

export const chatEntities = [
  ChannelSchema,
  ChannelMember,
  MessageSchema,
  ChatEdit,
  ChatReaction,
  ChatMention,
  ChatRead,
  ChatChange,
  ChatAttachment,
]
