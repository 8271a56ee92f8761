import { domain } from '../../../domain.ts'
import { composeTeam } from './compose.ts'
import { teamEntities } from './tables.ts'
import * as events from './events.ts'
import * as notifications from './notifications.ts'
import * as operations from './operations.ts'
import { personal } from './personal-data.ts'

export const team = domain({
  personal,
  name: 'team',
  about: 'Members, invitations, roles and groups of a workspace',
  operations,
  events,
  notifications,
  entities: teamEntities,
  compose: composeTeam,
})
