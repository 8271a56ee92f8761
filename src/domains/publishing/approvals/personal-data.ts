import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'approval_guests.created_by': {
    about: 'Guests whom you have invited to approve posts',
    export: { never: 'It is about other people.' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
} satisfies PersonalData
