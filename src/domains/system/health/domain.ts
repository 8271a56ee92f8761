import { domain } from '../../../domain.ts'
import { composeHealth } from './compose.ts'
import * as operations from './operations.ts'

export const health = domain({
  name: 'health',
  about: 'Liveness and readiness of the server',
  operations,
  compose: composeHealth,
})
