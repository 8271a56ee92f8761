import { domain } from '../../../domain.ts'
import { composeApprovals } from './compose.ts'
import * as events from './events.ts'
import * as jobs from './jobs.ts'
import * as notifications from './notifications.ts'
import * as operations from './operations.ts'
import { approvalEntities } from './tables.ts'
import * as turns from './turns.ts'
import { personal } from './personal-data.ts'

export const approvals = domain({
  personal,
  name: 'approvals',
  about: 'Approval of posts in stages',
  operations,
  events,
  notifications,
  jobs,
  turns: Object.values(turns),
  entities: approvalEntities,
  compose: composeApprovals,
})
