import { domain } from '../../../domain.ts'
import { composeWorkspaces } from './compose.ts'
import { recountTurn } from './count-checks.ts'
import { workspaceEntities } from './tables.ts'
import * as events from './events.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'
import { personal } from './personal-data.ts'

export const workspaces = domain({
  personal,
  name: 'workspaces',
  about: 'Workspaces, their settings and their audit log',
  operations,
  events,
  jobs,
  turns: [recountTurn],
  entities: workspaceEntities,
  compose: composeWorkspaces,
})
