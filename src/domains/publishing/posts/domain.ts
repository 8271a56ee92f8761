import { domain } from '../../../domain.ts'
import * as commentEvents from './comments/events.ts'
import * as comments from './comments/operations.ts'
import { PostComment } from './comments/tables.ts'
import * as bulkChangeOperations from './bulk-changes/operations.ts'
import { PostBulkChange } from './bulk-changes/tables.ts'
import * as bulkOperations from './bulk/operations.ts'
import { PostBatch } from './bulk/tables.ts'
import { importFile } from './bulk/turns.ts'
import { composePosts } from './compose.ts'
import * as events from './events.ts'
import * as notifications from './notifications.ts'
import * as numbers from './numbers/operations.ts'
import * as operations from './operations.ts'
import { publishDue, watchTargets } from './publication/jobs.ts'
import { prepareDue, prepareTarget } from './publication/preparation/jobs.ts'
import * as preparationTurns from './publication/preparation/turns.ts'
import * as publication from './publication/operations.ts'
import * as turns from './publication/turns.ts'
import * as queueEvents from './slots/events.ts'
import * as queueOperations from './slots/operations.ts'
import { PostQueue } from './slots/tables.ts'
import * as seriesEvents from './series/events.ts'
import { checkAuthors, makeAllOccurrences, makeOccurrences } from './series/jobs.ts'
import * as seriesOperations from './series/operations.ts'
import { PostSeries } from './series/tables.ts'
import * as seriesTurns from './series/turns.ts'
import { changeRemote, purgePosts } from './remote/jobs.ts'
import * as remote from './remote/operations.ts'
import { RemoteChange } from './remote/tables.ts'
import * as remoteTurns from './remote/turns.ts'
import { postEntities } from './tables.ts'
import * as zoneEvents from './zones/events.ts'
import { checkZones } from './zones/jobs.ts'
import { ZoneCheck } from './zones/tables.ts'
import * as zoneTurns from './zones/turns.ts'
import * as versions from './versions/operations.ts'
import { personal } from './personal-data.ts'

export const posts = domain({
  personal,
  name: 'posts',
  about: 'Posts for social platforms, and their publication',
  operations: {
    ...operations,
    ...versions,
    ...comments,
    ...queueOperations,
    ...bulkOperations,
    ...bulkChangeOperations,
    ...publication,
    ...remote,
    ...numbers,
    ...seriesOperations,
  },
  events: { ...events, ...commentEvents, ...queueEvents, ...seriesEvents, ...zoneEvents },
  notifications,
  jobs: {
    publishDue,
    watchTargets,
    prepareTarget,
    prepareDue,
    changeRemote,
    purgePosts,
    makeOccurrences,
    checkAuthors,
    makeAllOccurrences,
    checkZones,
  },
  turns: [
    ...Object.values(turns),
    ...Object.values(preparationTurns),
    ...Object.values(remoteTurns),
    ...Object.values(seriesTurns),
    ...Object.values(zoneTurns),
    importFile,
  ],
  entities: [...postEntities, PostComment, PostQueue, PostBatch, PostBulkChange, RemoteChange, PostSeries, ZoneCheck],
  resources: ['posts', 'post_batches', 'post_bulk_changes', 'post_series'],
  compose: composePosts,
})
