import { domain } from '../../../domain.ts'
import { composeSessionFigures } from './compose.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'
import { sessionFigureEntities } from './tables.ts'

export const sessionFigures = domain({
  name: 'streams',
  operations,
  jobs,
  entities: sessionFigureEntities,
  compose: composeSessionFigures,
})
