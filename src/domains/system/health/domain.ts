import { domain } from '../../../domain.ts'
import { composeHealth } from './compose.ts'
import * as operations from './operations.ts'

export const health = domain({
  name: 'health',
  about: 'Whether the server lives and can do its work',
  operations,
  compose: composeHealth,
})
