import { domain } from '../core/domain.ts'
import { jobEntities } from './tables.ts'
import * as events from './events.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'

export const queue = domain({
  name: 'queue',
  about: 'Queues of jobs: what waits, what failed and why',
  operations,
  events,
  jobs,
  entities: jobEntities,
})
