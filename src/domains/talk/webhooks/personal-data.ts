import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'webhooks.created_by': {
    about: 'Webhooks that you have created',
    export: { file: 'webhooks', omit: ['secret_sealed', 'previous_secret_sealed', 'previous_secret_until'] },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
} satisfies PersonalData
