import { domain } from '../../../domain.ts'
import { composePlans } from './compose.ts'
import * as operations from './operations.ts'
import { planEntities } from './tables.ts'

export const plans = domain({
  name: 'plans',
  about: 'Plans and what they allow',
  operations,
  entities: planEntities,
  compose: composePlans,
})
