import { domain } from '../../../domain.ts'
import { composeInternal } from './compose.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'
import { WorkerRequest, WorkerUpload } from './tables.ts'

export const internal = domain({
  name: 'internal',
  about: 'What workers of this installation send',
  operations,
  jobs,
  entities: [WorkerRequest, WorkerUpload],
  compose: composeInternal,
})
