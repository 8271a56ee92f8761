import type { PersonalData } from '../../../core/personal-data.ts'
import { fileKey } from './intake.ts'

/** What the domain holds on persons. */
export const personal = {
  'assets.uploaded_by': {
    about: 'Files that you have added to the media library',
    export: { file: 'files', content: (row) => fileKey(row['workspace_id'] ?? '', row['file_id'] ?? '') },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'uploads.user_id': {
    about: 'Uploads that you have begun',
    export: { file: 'uploads' },
    deletion: 'deleted',
  },
} satisfies PersonalData
