import { domain } from '../../../domain.ts'
import { composeStudio } from './compose.ts'
import * as events from './events.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'
import { personal } from './personal-data.ts'
import { studioEntities } from './tables.ts'
import { recordStudioRender } from './turns.ts'

export const studio = domain({
  name: 'studio',
  about: 'Projects of the studio: pages with texts, pictures and boxes, which are rendered to assets',
  operations,
  personal,
  events,
  jobs,
  turns: [recordStudioRender],
  entities: studioEntities,
  resources: ['studio_projects', 'studio_renders'],
  compose: composeStudio,
})
