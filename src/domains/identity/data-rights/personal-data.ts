import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'account_deletions.user_id': {
    about: 'When you have asked to delete your account',
    export: { file: 'account-deletion', key: ['user_id'] },
    deletion: { kept: 'It shows that and when the account was deleted.' },
  },
} satisfies PersonalData
