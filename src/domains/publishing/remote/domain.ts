import { domain } from '../../../domain.ts'
import { composeRemote } from './compose.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'
import { RemoteChange } from './tables.ts'
import * as turns from './turns.ts'

export const remote = domain({
  name: 'posts',
  operations,
  jobs,
  turns: Object.values(turns),
  entities: [RemoteChange],
  compose: composeRemote,
})
