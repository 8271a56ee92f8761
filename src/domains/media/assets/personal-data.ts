import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'assets.uploaded_by': {
    about: 'Files that you have added to the media library, without their content',
    export: { file: 'files' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'uploads.user_id': {
    about: 'Uploads that you have begun',
    export: { file: 'uploads' },
    deletion: 'deleted',
  },
} satisfies PersonalData
