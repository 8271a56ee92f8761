import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'social_accounts.connected_by': {
    about: 'Social accounts that you have connected',
    export: { file: 'social-accounts' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'social_account_history.actor_id': {
    about: 'What you have done with social accounts',
    export: { file: 'social-account-history' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'social_sign_ins.user_id': {
    about: 'Sign-ins at platforms that you have begun',
    export: { never: 'They only have internal values, for ten minutes.' },
    deletion: 'deleted',
  },
} satisfies PersonalData
