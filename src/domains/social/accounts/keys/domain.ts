import { domain } from '../../../../domain.ts'
import * as operations from './operations.ts'

export const keys = domain({
  name: 'keys',
  about: 'The keys that encrypt the credentials of social accounts',
  operations,
})
