import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'post_comments.author_id': {
    about: 'Comments that you have written on posts',
    export: { file: 'post-comments', omit: ['resolved_by'] },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'post_comments.resolved_by': {
    about: 'Comments that you have resolved',
    export: { never: 'They were written by others, or are in post-comments.' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'post_batches.created_by': {
    about: 'Posts that you have created together',
    export: { file: 'post-batches' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'post_bulk_changes.created_by': {
    about: 'Posts that you have changed together',
    export: { file: 'post-bulk-changes' },
    deletion: { kept: 'It is deleted after a week.' },
  },
  'post_series.created_by': {
    about: 'Series of posts that you have created',
    export: { file: 'post-series' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'post_series.author_id': {
    about: 'Series of posts that you have changed last',
    export: { never: 'They are in post-series or belong to others.' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
} satisfies PersonalData
