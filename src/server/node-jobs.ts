import { JobObserver } from '../jobs/observer.ts'
import { JobRuntime, type JobTimes } from '../jobs/runtime.ts'
import { queueBounds } from './media-work.ts'
import type { Composition, Foundation } from './compose.ts'

/** What the role jobs does on this node. */
export function startJobs(foundation: Foundation, composition: Composition, times: Partial<JobTimes> = {}): JobRuntime {
  const { database, jobStore } = foundation
  const { jobs, services } = composition
  const log = foundation.log.child({ part: 'jobs' })
  const observer = new JobObserver({ ...foundation, sql: database, declared: jobs.declared, log })
  return new JobRuntime({
    ...foundation,
    log,
    jobs,
    services: () => services,
    store: jobStore,
    times,
    queues: queueBounds(foundation.config),
    onProgress: (row, percent, detail) => observer.progress(row, percent, detail),
    onRun: (run) => observer.ended(run),
    onEnded: (job) => observer.endedBefore(job),
  })
}
