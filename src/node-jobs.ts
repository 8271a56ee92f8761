import { JobRuntime, type JobTimes } from './jobs/runtime.ts'
import type { Composition, Foundation } from './services.ts'

/** What the role jobs does on this node. */
export function startJobs(foundation: Foundation, composition: Composition, times: Partial<JobTimes> = {}): JobRuntime {
  const { clock, coordination, database, jobStore, log } = foundation
  const jobLog = log.child({ part: 'jobs' })
  return new JobRuntime({
    database,
    clock,
    coordination,
    log: jobLog,
    jobs: composition.jobs,
    services: () => composition.services,
    store: jobStore,
    times,
    onProgress: () => undefined,
    onRun: ({ row, outcome, reason, waitedMs, ranMs }) => {
      jobLog[outcome === 'dead' ? 'error' : outcome === 'done' ? 'info' : 'warn'](
        {
          job: row.name,
          id: row.id,
          queue: row.queue,
          workspaceId: row.workspace_id ?? undefined,
          attempt: row.attempts,
          outcome,
          reason,
          waitedMs: Math.round(waitedMs),
          ms: Math.round(ranMs * 10) / 10,
        },
        'job',
      )
    },
  })
}
