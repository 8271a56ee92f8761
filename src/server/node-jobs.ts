import { JobObserver } from '../jobs/observer.ts'
import { JobRuntime, type JobTimes } from '../jobs/runtime.ts'
import { serviceOfJob } from '../registry/jobs.ts'
import { queueBounds } from './media-work.ts'
import type { Composition } from './compose.ts'
import type { NodeResources } from './foundation.ts'

/** The parts that run on nodes with the role `jobs`. */
export function startJobs(
  resources: NodeResources,
  composition: Composition,
  times: Partial<JobTimes> = {},
): JobRuntime {
  const { database, jobStore } = resources
  const { jobs, services, thread } = composition
  const log = resources.log.child({ part: 'jobs' })
  const observer = new JobObserver({ ...resources, sql: database, declared: jobs.declared, log })
  return new JobRuntime({
    ...resources,
    log,
    jobs,
    thread,
    services: () => services,
    store: jobStore,
    switches: services.switches,
    serviceOf: serviceOfJob,
    times,
    queues: queueBounds(resources.config),
    onProgress: (row, percent, detail, partialText) => observer.progress(row, percent, detail, partialText),
    onRun: (run) => observer.ended(run),
    onEnded: (job) => observer.endedBefore(job),
  })
}
