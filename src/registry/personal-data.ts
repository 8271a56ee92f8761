import type { PersonalData } from '../core/personal-data.ts'

/** The personal data that the layers below the domains store. */
export const personal = {
  'user_presence.user_id': {
    about: 'When you were last online',
    export: { file: 'presence', key: ['user_id'] },
    deletion: 'deleted',
  },
  'workspace_events.user_id': {
    about: 'Events that only your programs receive',
    export: { never: 'They repeat changes that are in the other files, for EVENT_DAYS.' },
    deletion: { kept: 'They are deleted after EVENT_DAYS.' },
  },
  'audit_log.actor_id': {
    about: 'What you have done in workspaces, without details, which can name others',
    export: { file: 'activity', omit: ['details'] },
    deletion: { kept: 'The log belongs to the workspace. It is deleted after AUDIT_DAYS.' },
  },
  'mail_log.account_id': {
    about: 'Mails that your account has caused, without their recipients',
    export: { file: 'mails', omit: ['recipient'] },
    deletion: 'deleted',
  },
} satisfies PersonalData
