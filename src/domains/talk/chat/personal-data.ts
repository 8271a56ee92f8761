import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'channels.created_by': {
    about: 'Channels that you have created',
    export: { file: 'channels' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'channel_members.user_id': {
    about: 'Channels that you are a member of',
    export: { file: 'channel-memberships', key: ['channel_id'] },
    deletion: 'deleted',
  },
  'chat_messages.author_id': {
    about: 'Messages that you have written',
    export: { file: 'messages', omit: ['pinned_by'] },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'chat_messages.pinned_by': {
    about: 'Messages that you have pinned',
    export: { never: 'They were written by others, or are in messages.' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'chat_reactions.user_id': {
    about: 'Your reactions to messages',
    export: { file: 'reactions', key: ['message_id', 'emoji'] },
    deletion: 'deleted',
  },
  'chat_mentions.user_id': {
    about: 'Messages that mention you',
    export: { file: 'mentions', key: ['channel_id', 'seq'] },
    deletion: 'deleted',
  },
  'chat_reads.user_id': {
    about: 'How far you have read each channel',
    export: { file: 'read-positions', key: ['channel_id'] },
    deletion: 'deleted',
  },
  'chat_attachments.uploaded_by': {
    about: 'Files that you have sent in chats',
    export: { file: 'chat-files', content: ({ id, workspace_id: workspaceId }) => `${workspaceId}/${id}` },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
} satisfies PersonalData
