import { domain } from '../../../../domain.ts'
import * as events from './events.ts'
import * as operations from './operations.ts'

export const uploads = domain({
  name: 'uploads',
  about: 'Signed uploads, whole or in pieces',
  operations,
  events,
})
