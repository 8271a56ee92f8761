import { defineEntity, p } from '@mikro-orm/postgresql'
import { timestamp } from '../db/columns.ts'
import { table } from '../db/table.ts'

/** Committed jobs that are not done yet. Queue backends only decide when and where they run. */
export const OutboxRow = defineEntity({
  name: 'OutboxRow',
  tableName: 'outbox',
  indexes: [
    { name: 'outbox_by_name', properties: ['name', 'id'] },
    {
      name: 'outbox_due',
      expression: `create index outbox_due on outbox (run_at) where state = 'waiting' and line is null`,
    },
    {
      name: 'outbox_lines',
      expression: `create index outbox_lines on outbox (queue, line, run_at) where state = 'waiting' and line is not null`,
    },
    {
      name: 'outbox_lines_due',
      expression: `create index outbox_lines_due on outbox (run_at) where state = 'waiting' and line is not null`,
    },
    {
      name: 'outbox_lines_given',
      expression: `create index outbox_lines_given on outbox (queue) where state = 'queued' and line is not null`,
    },
    {
      name: 'outbox_given',
      expression: `create index outbox_given on outbox (updated_at) where state in ('queued', 'running')`,
    },
    {
      name: 'outbox_open',
      expression: `create index outbox_open on outbox (queue, run_at) where state in ('waiting', 'queued')`,
    },
    {
      name: 'outbox_parked',
      expression: `create index outbox_parked on outbox (queue, state, updated_at) where state in ('held', 'dead')`,
    },
    {
      name: 'outbox_held',
      expression: `create index outbox_held on outbox (name) where state = 'held'`,
    },
    {
      name: 'outbox_key',
      expression: 'create unique index outbox_key on outbox (name, key) where key is not null',
    },
  ],
  checks: [{ name: 'outbox_state', expression: `state in ('waiting', 'held', 'queued', 'running', 'dead')` }],
  properties: {
    id: p.uuid().primary(),
    name: p.text(),
    queue: p.text(),
    workspaceId: p.uuid().nullable(),
    /** For fair queues: the workspace, or `NO_WORKSPACE`. The lines of a queue are served round robin. Null for other queues. */
    line: p.uuid().nullable(),
    /** While the job waits, no other job with the same name and key is added. */
    key: p.text().nullable(),
    data: p.json<unknown>(),
    /** Held: the service of the job is switched off. */
    state: p.text().$type<'waiting' | 'held' | 'queued' | 'running' | 'dead'>(),
    runAt: timestamp(),
    attempts: p.integer(),
    /** How often it was added to the backend. */
    added: p.integer(),
    /** The newest attempt. Only it can end the job. */
    attemptId: p.uuid().nullable(),
    /** Why the last attempt failed. */
    reason: p.text().nullable(),
    startedAt: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** Records of jobs that succeeded. They are kept for a day. */
export const FinishedJob = defineEntity({
  name: 'FinishedJob',
  tableName: 'finished_jobs',
  indexes: [
    { name: 'finished_jobs_by_name', properties: ['name', 'id'] },
    { name: 'finished_jobs_by_queue', properties: ['queue', 'finishedAt'] },
    { name: 'finished_jobs_by_workspace', properties: ['workspaceId', 'id'] },
  ],
  properties: {
    id: p.uuid().primary(),
    name: p.text(),
    queue: p.text(),
    workspaceId: p.uuid().nullable(),
    attempts: p.integer(),
    runAt: timestamp(),
    startedAt: timestamp(),
    finishedAt: timestamp().index('finished_jobs_by_time'),
    createdAt: timestamp(),
  },
})

/** How many jobs finished in ten minutes, without the jobs of the last ten to twenty minutes. */
const FinishedJobCount = defineEntity({
  name: 'FinishedJobCount',
  tableName: 'finished_job_counts',
  properties: { startAt: timestamp().primary(), queue: p.text().primary(), jobCount: p.integer() },
})

export const JobSchedule = defineEntity({
  name: 'JobSchedule',
  tableName: 'job_schedules',
  properties: { name: p.text().primary(), cron: p.text(), nextAt: timestamp(), updatedAt: timestamp() },
})

export const outbox = table(OutboxRow)
export const finishedJobs = table(FinishedJob)
export const finishedJobCounts = table(FinishedJobCount)
export const jobSchedules = table(JobSchedule)

export const jobEntities = [OutboxRow, FinishedJob, FinishedJobCount, JobSchedule]
