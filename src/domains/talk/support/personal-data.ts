import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'support_tickets.user_id': {
    about: 'Your support tickets',
    export: { file: 'support-tickets', omit: ['assignee_id', 'claimed_user_id', 'unverified_from'] },
    deletion: 'deleted',
  },
  'support_tickets.claimed_user_id': {
    about: 'Mails to the support team that claim to be from you and could not be verified',
    export: { never: 'Somebody else may have written them.' },
    deletion: 'deleted',
  },
  'support_tickets.assignee_id': {
    about: 'Support tickets that are assigned to you',
    export: { never: 'They belong to the users who created them.' },
    deletion: { kept: 'They belong to the users who created them.' },
  },
  'support_messages.author_id': {
    about: 'Messages that you have written in support tickets',
    export: { file: 'support-messages', omit: ['unverified_from'] },
    deletion: {
      kept: 'Messages in your own tickets are deleted with them. Replies to tickets of others belong to those tickets.',
    },
  },
  'support_attachments.user_id': {
    about: 'Files that you have added to support tickets',
    export: { file: 'support-attachments', content: ({ id, user_id: userId }) => `${userId}/${id}` },
    deletion: 'deleted',
  },
  'canned_replies.created_by': {
    about: 'Canned replies that you have written',
    export: { file: 'canned-replies' },
    deletion: { kept: 'They belong to the support team.' },
  },
} satisfies PersonalData
