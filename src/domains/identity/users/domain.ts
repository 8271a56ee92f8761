import { domain } from '../../../domain.ts'
import { composeUsers } from './compose.ts'
import * as operations from './operations.ts'
import { User } from './tables.ts'

export const users = domain({
  name: 'users',
  about: 'The own account: profile, settings, API key',
  operations,
  entities: [User],
  compose: composeUsers,
})
