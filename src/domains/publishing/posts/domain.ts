import { domain } from '../../../domain.ts'
import { composePosts } from './compose.ts'
import * as events from './events.ts'
import * as operations from './operations.ts'
import * as jobs from './publication/jobs.ts'
import * as turns from './publication/turns.ts'
import { postEntities } from './tables.ts'

export const posts = domain({
  name: 'posts',
  about: 'Posts for social platforms, and their publication',
  operations,
  events,
  jobs,
  turns: Object.values(turns),
  entities: postEntities,
  resources: ['posts'],
  compose: composePosts,
})
