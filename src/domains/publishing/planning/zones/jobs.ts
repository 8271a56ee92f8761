import { MINUTE } from '../../../../core/clock.ts'
import { schedule } from '../../../../core/job.ts'

export const checkZones = schedule({
  name: 'posts.zones',
  summary: 'Move posts whose time zone has new rules',
  // It does nothing until a node has another version of tzdata. A node starts with one, so this is soon after its start.
  cron: '* * * * *',
  timeoutMs: 60 * MINUTE,
  run: async ({ log, planning, signal }) => {
    await planning.zoneWatch.run(signal, log)
  },
})
