import { domain } from '../../../../domain.ts'
import * as operations from './operations.ts'

export const limits = domain({
  name: 'limits',
  about: 'What exceeds the plan, and accounts that are archived, suspended or removed',
  operations,
})
