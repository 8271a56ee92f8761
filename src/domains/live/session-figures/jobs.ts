import { DAY } from '../../../core/clock.ts'
import { schedule } from '../../../core/job.ts'

/** How long the steps of live sessions are kept. A session of an hour has 360 of them, and as many for each destination. */
const KEPT_MS = 90 * DAY

export const pruneSessionFigures = schedule({
  name: 'streams.prune-figures',
  summary: 'Delete the figures of live sessions after 90 days',
  cron: '40 3 * * *',
  run: ({ sessionFigures }) => sessionFigures.series.prune(KEPT_MS),
})
