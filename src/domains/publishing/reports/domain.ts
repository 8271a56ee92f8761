import { domain } from '../../../domain.ts'
import { composeReports } from './compose.ts'
import * as events from './events.ts'
import * as jobs from './jobs.ts'
import * as notifications from './notifications.ts'
import * as operations from './operations.ts'
import { personal } from './personal-data.ts'
import { reportEntities } from './tables.ts'
import * as turns from './turns.ts'

export const reports = domain({
  personal,
  name: 'analytics',
  operations,
  events,
  notifications,
  jobs,
  turns: Object.values(turns),
  entities: reportEntities,
  resources: ['reports', 'report_schedules'],
  compose: composeReports,
})
