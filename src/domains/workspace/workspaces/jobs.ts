import { schedule } from '../../../core/job.ts'

export const purgeWorkspaces = schedule({
  name: 'workspaces.purge',
  summary: 'Purge deleted workspaces whose grace period is over',
  cron: '7 * * * *',
  run: async ({ workspaces, signal }) => {
    while (!signal.aborted && (await workspaces.service.purgeDue()) > 0);
  },
})

export const pruneWorkspaceLogs = schedule({
  name: 'workspaces.prune-logs',
  summary: 'Delete events and audit entries older than EVENT_DAYS and AUDIT_DAYS',
  cron: '12 4 * * *',
  timeoutMs: 30 * 60_000,
  run: async ({ workspaces, signal }) => workspaces.logRetention.prune(signal),
})
