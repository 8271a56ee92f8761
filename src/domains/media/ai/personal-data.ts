import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'ai_jobs.created_by': {
    about: 'Captions, styles and other AI work that you have requested',
    export: { file: 'ai-jobs', omit: ['payer_id'] },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
} satisfies PersonalData
