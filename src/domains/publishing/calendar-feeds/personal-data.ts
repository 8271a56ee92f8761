import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'calendar_feeds.user_id': {
    about: 'Your links to the calendars of workspaces',
    export: { file: 'calendar-links', omit: ['token_hash'] },
    deletion: 'deleted',
  },
} satisfies PersonalData
