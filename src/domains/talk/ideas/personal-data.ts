import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'idea_boards.created_by': {
    about: 'Boards of ideas that you have created',
    export: { file: 'idea-boards' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'ideas.created_by': {
    about: 'Ideas that you have written',
    export: { file: 'ideas' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'ideas.decided_by': {
    about: 'Ideas that you have decided on',
    export: { never: 'They were written by others, or are in ideas.' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'idea_votes.user_id': {
    about: 'Your votes on ideas',
    export: { file: 'idea-votes', key: ['idea_id'] },
    deletion: 'deleted',
  },
  'idea_comments.author_id': {
    about: 'Comments that you have written on ideas',
    export: { file: 'idea-comments' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
} satisfies PersonalData
