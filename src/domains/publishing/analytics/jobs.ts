import { MINUTE } from '../../../core/clock.ts'
import { job, schedule } from '../../../core/job.ts'
import { Id, Type } from '../../../core/schema.ts'
import { announceReading } from './turns.ts'

/** Reads one account at its platform. A platform that does not reply is asked again by the schedule. */
export const collectAccount = job({
  name: 'analytics.collect',
  summary: 'Read the figures of an account and its posts',
  queue: 'default',
  data: Type.Object({ accountId: Id, asked: Type.Boolean({ description: 'Whether a user asked for it' }) }),
  attempts: 3,
  timeoutMs: 5 * MINUTE,
  run: async ({ analytics, data, effect, jobs, signal, workspaceId }) => {
    await analytics.collector.collect(data.accountId, signal, (work) =>
      effect(async (tx) => {
        await work(tx)
        if (!data.asked || workspaceId === undefined) return
        await jobs.add(tx, announceCollection, { accountId: data.accountId }, { workspaceId })
      }),
    )
  },
})

export const announceCollection = job({
  name: 'analytics.announce',
  summary: 'Tell live clients that figures were read',
  queue: 'default',
  data: Type.Object({ accountId: Id }),
  run: async ({ data, turns, workspaceId }) => {
    if (workspaceId !== undefined) await turns.system(workspaceId, announceReading, data)
  },
})

export const collectDue = schedule({
  name: 'analytics.collectDue',
  summary: 'Read the accounts whose figures are due',
  cron: '* * * * *',
  run: async ({ analytics, effect }) => {
    await effect((tx) => analytics.watch.addDue(tx))
  },
})

export const pruneSamples = schedule({
  name: 'analytics.prune',
  summary: 'Delete figures that are older than the plans keep them',
  cron: '41 3 * * *',
  timeoutMs: 30 * MINUTE,
  run: ({ analytics, signal }) => analytics.retention.prune(signal),
})

export const makePartitions = schedule({
  name: 'analytics.makePartitions',
  summary: 'Make the partitions of figures for the next months',
  cron: '23 3 * * *',
  run: async ({ analytics, effect }) => {
    await effect((tx) => analytics.preparePartitions(tx))
  },
})
