import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'stream_sessions.owner_id': {
    about: 'Broadcasts that counted against your plan',
    export: { file: 'broadcasts' },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
  'stream_usage.owner_id': {
    about: 'Streamed minutes that counted against your plan',
    export: { file: 'streamed-minutes', key: ['ingest_id', 'month'] },
    deletion: { kept: 'It belongs to the workspace and its other members.' },
  },
} satisfies PersonalData
