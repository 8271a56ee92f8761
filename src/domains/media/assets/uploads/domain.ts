import { domain } from '../../../../core/domain.ts'
import * as events from './events.ts'
import * as operations from './operations.ts'

export const uploads = domain({
  name: 'uploads',
  about: 'Files on their way in, in one piece or in many',
  operations,
  events,
})
