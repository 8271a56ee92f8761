import { domain } from '../../../domain.ts'
import * as bulkChanges from './bulk-changes/operations.ts'
import { PostBulkChange } from './bulk-changes/tables.ts'
import * as bulk from './bulk/operations.ts'
import { PostBatch } from './bulk/tables.ts'
import { importFile } from './bulk/turns.ts'
import * as commentEvents from './comments/events.ts'
import * as comments from './comments/operations.ts'
import { PostComment } from './comments/tables.ts'
import { composeWriting } from './compose.ts'
import * as operations from './operations.ts'
import { personal } from './personal-data.ts'
import * as seriesEvents from './series/events.ts'
import * as jobs from './series/jobs.ts'
import * as series from './series/operations.ts'
import { PostSeries } from './series/tables.ts'
import * as seriesTurns from './series/turns.ts'
import * as versions from './versions/operations.ts'

export const writing = domain({
  personal,
  name: 'posts',
  operations: { ...operations, ...versions, ...comments, ...bulk, ...bulkChanges, ...series },
  events: { ...commentEvents, ...seriesEvents },
  jobs,
  turns: [...Object.values(seriesTurns), importFile],
  entities: [PostComment, PostBatch, PostBulkChange, PostSeries],
  resources: ['post_batches', 'post_bulk_changes', 'post_series'],
  compose: composeWriting,
})
