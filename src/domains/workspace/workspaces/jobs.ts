import { schedule } from '../../../core/job.ts'

export const purgeWorkspaces = schedule({
  name: 'workspaces.purge',
  summary: 'Remove deleted workspaces whose time to think again is over',
  cron: '7 * * * *',
  run: async ({ workspaces, signal }) => {
    while (!signal.aborted && (await workspaces.purgeDue()) > 0);
  },
})

export const pruneWorkspaceLogs = schedule({
  name: 'workspaces.prune-logs',
  summary: 'Remove events and audit entries that are older than EVENT_DAYS and AUDIT_DAYS',
  cron: '12 4 * * *',
  timeoutMs: 30 * 60_000,
  run: async ({ workspaceLogRetention, signal }) => workspaceLogRetention.prune(signal),
})
