import { domain } from '../../../domain.ts'
import { composePosts } from './compose.ts'
import * as events from './events.ts'
import * as notifications from './notifications.ts'
import * as operations from './operations.ts'
import { personal } from './personal-data.ts'
import { postEntities } from './tables.ts'

export const posts = domain({
  personal,
  name: 'posts',
  about: 'Posts for social platforms, and their publication',
  operations,
  events,
  notifications,
  entities: postEntities,
  resources: ['posts'],
  compose: composePosts,
})
