import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'worker_uploads.owner_id': {
    about: 'Files that programs of this installation have made for you',
    export: { never: 'They are intermediate results.' },
    deletion: { kept: 'They are deleted after seven days.' },
  },
} satisfies PersonalData
