import { domain } from '../../../domain.ts'
import { composeIdeas } from './compose.ts'
import * as events from './events.ts'
import * as notifications from './notifications.ts'
import * as operations from './operations.ts'
import { ideaEntities } from './tables.ts'
import { personal } from './personal-data.ts'

export const ideas = domain({
  personal,
  name: 'ideas',
  about: 'Boards of ideas, with votes and comments',
  operations,
  events,
  notifications,
  entities: ideaEntities,
  resources: ['idea_boards', 'ideas'],
  compose: composeIdeas,
})
