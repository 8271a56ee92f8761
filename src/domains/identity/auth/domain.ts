import { domain } from '../../../domain.ts'
import { composeAuth } from './compose.ts'
import { authEntities } from './tables.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'
import { personal } from './personal-data.ts'

export const auth = domain({
  personal,
  name: 'auth',
  about: 'Sign-up, log-in, sessions and passwords',
  operations,
  jobs,
  entities: authEntities,
  compose: composeAuth,
})
