import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'subscriptions.user_id': {
    about: 'Your plan and its limits',
    export: { file: 'subscription', key: ['user_id'] },
    deletion: 'deleted',
  },
} satisfies PersonalData
