import { domain } from '../../../domain.ts'
import * as commentEvents from './comments/events.ts'
import * as comments from './comments/operations.ts'
import { PostComment } from './comments/tables.ts'
import * as bulkOperations from './bulk/operations.ts'
import { PostBatch } from './bulk/tables.ts'
import { importFile } from './bulk/turns.ts'
import { composePosts } from './compose.ts'
import * as events from './events.ts'
import * as operations from './operations.ts'
import * as jobs from './publication/jobs.ts'
import * as publication from './publication/operations.ts'
import * as turns from './publication/turns.ts'
import * as queueEvents from './slots/events.ts'
import * as queueOperations from './slots/operations.ts'
import { PostQueue } from './slots/tables.ts'
import { postEntities } from './tables.ts'
import * as versions from './versions/operations.ts'

export const posts = domain({
  name: 'posts',
  about: 'Posts for social platforms, and their publication',
  operations: { ...operations, ...versions, ...comments, ...queueOperations, ...bulkOperations, ...publication },
  events: { ...events, ...commentEvents, ...queueEvents },
  jobs,
  turns: [...Object.values(turns), importFile],
  entities: [...postEntities, PostComment, PostQueue, PostBatch],
  resources: ['posts', 'post_batches'],
  compose: composePosts,
})
