import { domain } from '../../../core/domain.ts'
import * as operations from './operations.ts'

export const health = domain({
  name: 'health',
  about: 'Whether the server lives and can do its work',
  operations,
})
