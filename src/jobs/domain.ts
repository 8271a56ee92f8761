import { domain } from '../domain.ts'
import { jobEntities } from './tables.ts'
import * as events from './events.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'

export const queue = domain({
  name: 'queue',
  about: 'Background jobs and their queues',
  operations,
  events,
  jobs,
  entities: jobEntities,
})
