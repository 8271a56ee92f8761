import { schedule } from '../../../core/job.ts'

export const deleteAccounts = schedule({
  name: 'users.delete-accounts',
  summary: 'Delete accounts whose owners have asked for it 30 days ago',
  cron: '23 * * * *',
  timeoutMs: 30 * 60_000,
  run: async ({ dataRights, signal }) => {
    while (!signal.aborted && (await dataRights.deletions.deleteDue(signal)) > 0);
  },
})
