import { defineEntity, p } from '@mikro-orm/postgresql'

const time = () => p.datetime().columnType('timestamptz')

/** Work that was committed and is not done yet. The truth about it: queue backends only decide who runs it when. */
const OutboxRow = defineEntity({
  name: 'OutboxRow',
  tableName: 'outbox',
  indexes: [
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
      name: 'outbox_key',
      expression: 'create unique index outbox_key on outbox (name, key) where key is not null',
    },
  ],
  checks: [{ name: 'outbox_state', expression: `state in ('waiting', 'queued', 'running', 'dead')` }],
  properties: {
    id: p.uuid().primary(),
    name: p.text(),
    queue: p.text(),
    workspaceId: p.uuid().nullable(),
    /** Of a fair queue: the workspace, or `NO_WORKSPACE`. The lines of a queue are served in turn. */
    line: p.uuid().nullable(),
    /** While it waits, no second job of the same name and key is added. */
    key: p.text().nullable(),
    data: p.json(),
    state: p.text(),
    runAt: time(),
    attempts: p.integer(),
    /** How often it was given to the backend. */
    added: p.integer(),
    /** The attempt that may end it. */
    attemptId: p.uuid().nullable(),
    /** Why the last attempt failed. */
    reason: p.text().nullable(),
    startedAt: time().nullable(),
    createdAt: time(),
    updatedAt: time(),
  },
})

/** Jobs that ended well, for a day. */
const FinishedJob = defineEntity({
  name: 'FinishedJob',
  tableName: 'finished_jobs',
  properties: {
    id: p.uuid().primary(),
    name: p.text(),
    queue: p.text(),
    workspaceId: p.uuid().nullable(),
    attempts: p.integer(),
    runAt: time(),
    startedAt: time(),
    finishedAt: time().index('finished_jobs_by_time'),
    createdAt: time(),
  },
})

const JobSchedule = defineEntity({
  name: 'JobSchedule',
  tableName: 'job_schedules',
  properties: { name: p.text().primary(), cron: p.text(), nextAt: time(), updatedAt: time() },
})

export const jobEntities = [OutboxRow, FinishedJob, JobSchedule]
