import { domain } from '../../../core/domain.ts'
import { ApiKey, User } from './index.ts'
import * as operations from './operations.ts'

export const users = domain({
  name: 'users',
  about: 'The own account: profile, settings, API key',
  operations,
  entities: [User, ApiKey],
})
