import { schedule } from '../core/job.ts'

export const purgeWorkspaces = schedule({
  name: 'workspaces.purge',
  summary: 'Remove deleted workspaces whose time to think again is over',
  cron: '7 * * * *',
  run: async ({ workspaces, signal }) => {
    while (!signal.aborted && (await workspaces.purgeDue()) > 0);
  },
})
