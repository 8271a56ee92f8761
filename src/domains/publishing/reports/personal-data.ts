import type { PersonalData } from '../../../core/personal-data.ts'

const kept = { kept: 'It belongs to the workspace and its other members.' }

/** What the domain holds on persons. */
export const personal = {
  'report_schedules.created_by': {
    about: 'Report schedules that use your permissions',
    export: { file: 'report-schedules' },
    deletion: kept,
  },
  'reports.created_by': {
    about: 'Reports that were made with your permissions',
    export: { file: 'reports', omit: ['file_id'] },
    deletion: kept,
  },
} satisfies PersonalData
