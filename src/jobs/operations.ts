import { Conflict, NotFound } from '../core/errors.ts'
import { operation } from '../core/operation.ts'
import { list, ok } from '../core/reply.ts'
import { Envelope, Id, Input, ListOf, Type } from '../core/schema.ts'
import { CleanBody, JobQuery, JobView, QueueBody, QueueStats, Removed } from './schemas.ts'

/** Common fields of the operations that delete jobs. */
const REMOVING = {
  access: 'admin',
  returns: { 200: Envelope(Removed) },
} as const

export const getQueueJobs = operation({
  route: 'GET /api/queue/jobs',
  summary: 'List jobs',
  description:
    'Newest first. Done jobs are listed for a day and dead jobs for a month. Secrets in payloads are hidden.',
  access: 'admin',
  query: JobQuery,
  returns: { 200: ListOf(JobView) },
  example: { query: { queue: ['mail'], state: ['dead'] } },
  handle: async ({ query, queues }) => list('Jobs', await queues.list(query)),
})

export const getQueueStats = operation({
  route: 'GET /api/queue/stats',
  summary: 'Get queue statistics',
  description:
    'Counts by queue and state, at most 10,000 each, throughput, and latencies of the newest 1,000 jobs of the last 15 minutes: from due time to start, and of the run.',
  access: 'admin',
  returns: { 200: Envelope(Type.Array(QueueStats)) },
  example: {},
  handle: async ({ queues }) => ok('Queues', await queues.stats()),
})

export const cleanQueue = operation({
  ...REMOVING,
  route: 'POST /api/queue/clean',
  summary: 'Delete old jobs in one state',
  description: 'Running jobs are never deleted.',
  body: CleanBody,
  example: { body: { queue: 'mail', state: 'dead', olderThan: 86_400 } },
  handle: async ({ body, queues }) => ok('Jobs removed', { removedCount: await queues.clean(body) }),
})

export const clearQueue = operation({
  ...REMOVING,
  route: 'POST /api/queue/clear',
  summary: 'Delete all jobs of a queue that are not running',
  body: QueueBody,
  example: { body: { queue: 'mail' } },
  handle: async ({ body, queues }) => ok('Queue cleared', { removedCount: await queues.clear(body.queue) }),
})

export const drainQueue = operation({
  ...REMOVING,
  route: 'POST /api/queue/drain',
  summary: 'Delete the waiting jobs of a queue',
  description: 'Jobs that wait for their time or their service are deleted too. Running jobs continue. Dead jobs stay.',
  body: QueueBody,
  example: { body: { queue: 'mail' } },
  handle: async ({ body, queues }) => ok('Queue drained', { removedCount: await queues.drain(body.queue) }),
})

export const retryQueueJob = operation({
  route: 'POST /api/queue/jobs/{id}/retry',
  summary: 'Retry a dead job',
  access: 'admin',
  path: Input({ id: Id }),
  returns: { 200: Envelope(JobView) },
  errors: [NotFound, Conflict],
  example: { path: { id: '01890000-0000-7000-8000-000000000000' } },
  handle: async ({ path, queues }) => ok('Job retried', await queues.retry(path.id)),
})
