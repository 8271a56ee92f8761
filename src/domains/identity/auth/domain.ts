import { domain } from '../../../domain.ts'
import { composeAuth } from './compose.ts'
import { authEntities } from './tables.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'

export const auth = domain({
  name: 'auth',
  about: 'Sign-up, log-in, sessions and passwords',
  operations,
  jobs,
  entities: authEntities,
  compose: composeAuth,
})
