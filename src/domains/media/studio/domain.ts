import { domain } from '../../../domain.ts'
import { composeStudio } from './compose.ts'
import * as events from './events.ts'
import * as operations from './operations.ts'
import { personal } from './personal-data.ts'
import { studioEntities } from './tables.ts'

export const studio = domain({
  name: 'studio',
  about: 'Projects of the studio: pages with texts, pictures and boxes',
  operations,
  personal,
  events,
  entities: studioEntities,
  resources: ['studio_projects'],
  compose: composeStudio,
})
