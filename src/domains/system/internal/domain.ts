import { domain } from '../../../domain.ts'
import { composeInternal } from './compose.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'
import { personal } from './personal-data.ts'
import { WorkerRequest, WorkerUpload } from './tables.ts'

export const internal = domain({
  name: 'internal',
  personal,
  about: 'What workers of this installation send',
  operations,
  jobs,
  entities: [WorkerRequest, WorkerUpload],
  compose: composeInternal,
})
