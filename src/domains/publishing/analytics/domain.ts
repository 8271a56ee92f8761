import { domain } from '../../../domain.ts'
import { composeAnalytics } from './compose.ts'
import * as events from './events.ts'
import * as jobs from './jobs.ts'
import * as notifications from './notifications.ts'
import * as operations from './operations.ts'
import { analyticsEntities } from './tables.ts'
import * as turns from './turns.ts'

export const analytics = domain({
  name: 'analytics',
  about: 'What platforms report of accounts and posts, over time',
  operations,
  events,
  jobs,
  notifications,
  turns: Object.values(turns),
  entities: analyticsEntities,
  resources: ['analytics_content'],
  compose: composeAnalytics,
})
