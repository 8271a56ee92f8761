import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'invitations.invited_by': {
    about: 'Invitations that you have sent, without the addresses of others',
    export: { file: 'sent-invitations', omit: ['email', 'token_hash', 'message'] },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
} satisfies PersonalData
