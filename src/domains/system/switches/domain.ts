import { domain } from '../../../domain.ts'
import { composeSwitches } from './compose.ts'
import * as operations from './operations.ts'
import { ServiceSwitch } from './tables.ts'

export const switches = domain({
  name: 'services',
  about: 'Services, and whether they are switched on',
  operations,
  entities: [ServiceSwitch],
  compose: composeSwitches,
})
