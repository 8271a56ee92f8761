import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'studio_projects.created_by': {
    about: 'Studio projects that you have created',
    export: { file: 'studio-projects' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'studio_versions.created_by': {
    about: 'Versions of studio projects that you have saved',
    export: { file: 'studio-versions' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'studio_renders.created_by': {
    about: 'Renderings of studio projects that you have requested',
    export: { file: 'studio-renders' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
} satisfies PersonalData
