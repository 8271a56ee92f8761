import { domain } from '../../../domain.ts'
import { composePlans } from './compose.ts'
import * as operations from './operations.ts'
import { planEntities } from './tables.ts'
import { personal } from './personal-data.ts'

export const plans = domain({
  personal,
  name: 'plans',
  about: 'Plans and what they allow',
  operations,
  entities: planEntities,
  compose: composePlans,
})
