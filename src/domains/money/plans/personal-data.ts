import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'subscriptions.user_id': {
    about: 'Your plan and its limits',
    export: { file: 'subscription', key: ['user_id'] },
    deletion: 'deleted',
  },
  'plan_uses.user_id': {
    about: 'How much you have used of monthly limits',
    export: { file: 'monthly-use', key: ['name', 'month'] },
    deletion: 'deleted',
  },
} satisfies PersonalData
