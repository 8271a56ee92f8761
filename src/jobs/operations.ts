import { Conflict, NotFound } from '../core/errors.ts'
import { operation } from '../core/operation.ts'
import { list, ok } from '../core/reply.ts'
import { Envelope, Id, Input, ListOf, Type } from '../core/schema.ts'
import { CleanBody, JobQuery, JobView, QueueBody, QueueStats, Removed } from './schemas.ts'

/** What the operations that remove jobs have in common: they differ in which. */
const REMOVING = {
  access: 'admin',
  returns: { 200: Envelope(Removed) },
} as const

export const getQueueJobs = operation({
  route: 'GET /api/queue/jobs',
  summary: 'List jobs, newest first',
  description: 'Jobs that are done are listed for a day, dead ones for a month. Secrets in payloads are not shown.',
  access: 'admin',
  query: JobQuery,
  returns: { 200: ListOf(JobView) },
  example: { query: { queue: 'mail', state: 'dead' } },
  handle: async ({ query, queues }) => list('Jobs', await queues.list(query)),
})

export const getQueueStats = operation({
  route: 'GET /api/queue/stats',
  summary: 'Count jobs by queue and state, with throughput and latency',
  description: 'Latencies are those of the last 15 minutes: from the time a job was due to its start, and of its run.',
  access: 'admin',
  returns: { 200: Envelope(Type.Array(QueueStats)) },
  example: {},
  handle: async ({ queues }) => ok('Queues', await queues.stats()),
})

export const cleanQueue = operation({
  ...REMOVING,
  route: 'POST /api/queue/clean',
  summary: 'Remove old jobs of one state',
  body: CleanBody,
  example: { body: { queue: 'mail', state: 'dead', olderThan: 86_400 } },
  handle: async ({ body, queues }) => ok('Jobs removed', { removedCount: await queues.clean(body) }),
})

export const clearQueue = operation({
  ...REMOVING,
  route: 'POST /api/queue/clear',
  summary: 'Remove every job of a queue that does not run',
  body: QueueBody,
  example: { body: { queue: 'mail' } },
  handle: async ({ body, queues }) => ok('Queue cleared', { removedCount: await queues.clear(body.queue) }),
})

export const drainQueue = operation({
  ...REMOVING,
  route: 'POST /api/queue/drain',
  summary: 'Remove the jobs of a queue that wait',
  description: 'Those that run go on to their end; dead ones stay.',
  body: QueueBody,
  example: { body: { queue: 'mail' } },
  handle: async ({ body, queues }) => ok('Queue drained', { removedCount: await queues.drain(body.queue) }),
})

export const retryQueueJob = operation({
  route: 'POST /api/queue/jobs/{id}/retry',
  summary: 'Run a dead job again',
  access: 'admin',
  path: Input({ id: Id }),
  returns: { 200: Envelope(JobView) },
  errors: [NotFound, Conflict],
  example: { path: { id: '01890000-0000-7000-8000-000000000000' } },
  handle: async ({ path, queues }) => ok('The job runs again', await queues.retry(path.id)),
})
