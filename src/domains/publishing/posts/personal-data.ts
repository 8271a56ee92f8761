import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'posts.created_by': {
    about: 'Posts that you have created',
    export: { file: 'posts' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'post_versions.author_id': {
    about: 'Versions of posts that you have written',
    export: { file: 'post-versions' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
} satisfies PersonalData
