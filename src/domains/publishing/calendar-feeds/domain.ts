import { domain } from '../../../domain.ts'
import { composeCalendarFeeds } from './compose.ts'
import * as operations from './operations.ts'
import { personal } from './personal-data.ts'
import { feedEntities } from './tables.ts'

export const calendarFeeds = domain({
  personal,
  name: 'posts',
  operations,
  entities: feedEntities,
  resources: ['calendar_feeds'],
  compose: composeCalendarFeeds,
})
