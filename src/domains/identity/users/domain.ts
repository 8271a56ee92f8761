import { domain } from '../../../domain.ts'
import { composeUsers } from './compose.ts'
import * as operations from './operations.ts'
import { User } from './tables.ts'

export const users = domain({
  name: 'users',
  about: 'Your account: profile, settings and API keys',
  operations,
  entities: [User],
  compose: composeUsers,
})
