import { domain } from '../../../domain.ts'
import { composeSupport } from './compose.ts'
import * as events from './events.ts'
import * as jobs from './jobs.ts'
import * as notifications from './notifications.ts'
import * as operations from './operations.ts'
import { personal } from './personal-data.ts'
import { supportEntities } from './tables.ts'

export const support = domain({
  name: 'support',
  about: 'Tickets of users to the support team',
  operations,
  personal,
  events,
  notifications,
  jobs,
  entities: supportEntities,
  compose: composeSupport,
})
