import { job, schedule } from '../../../core/job.ts'
import { Type } from '../../../core/schema.ts'

/** Without it, members who are connected would stay in the rooms of the workspace until something else changes. */
export const startSecondFactor = job({
  name: 'workspaces.start-second-factor',
  summary: 'Make all nodes read the members of a workspace again that now requires a second factor',
  queue: 'default',
  data: Type.Object({}),
  attempts: 5,
  run: async ({ workspaceId, workspaces }) => {
    if (workspaceId !== undefined) workspaces.memberships.changed(workspaceId)
  },
})

export const purgeWorkspaces = schedule({
  name: 'workspaces.purge',
  summary: 'Purge deleted workspaces whose grace period is over',
  cron: '7 * * * *',
  timeoutMs: 6 * 3_600_000,
  run: async ({ workspaces, signal }) => {
    while (!signal.aborted && (await workspaces.service.purgeDue(signal)) > 0);
  },
})

export const pruneWorkspaceLogs = schedule({
  name: 'workspaces.prune-logs',
  summary: 'Delete events and audit entries older than EVENT_DAYS and AUDIT_DAYS',
  cron: '12 4 * * *',
  timeoutMs: 30 * 60_000,
  run: async ({ workspaces, signal }) => workspaces.logRetention.prune(signal),
})

export const checkCounts = schedule({
  name: 'workspaces.check-counts',
  summary: 'Compare the counts that triggers keep with the rows, and count again where they differ',
  cron: '34 2 * * *',
  timeoutMs: 6 * 3_600_000,
  run: async ({ workspaces, signal }) => workspaces.counts.run(signal),
})
