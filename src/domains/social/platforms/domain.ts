import { domain } from '../../../domain.ts'
import { composePlatforms } from './compose.ts'
import * as operations from './operations.ts'

export const platforms = domain({
  name: 'platforms',
  about: 'Social platforms: what each takes, and whether it is set up here',
  operations,
  compose: composePlatforms,
})
