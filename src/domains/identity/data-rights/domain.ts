import { domain } from '../../../domain.ts'
import { composeDataRights } from './compose.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'
import { personal } from './personal-data.ts'
import { AccountDeletion } from './tables.ts'
import { departTurn } from './turns.ts'

/** In the API, these operations belong to the service `users`. */
export const dataRights = domain({
  name: 'users',
  personal,
  operations,
  jobs,
  turns: [departTurn],
  entities: [AccountDeletion],
  compose: composeDataRights,
})
