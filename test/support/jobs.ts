import { InProcessCoordination } from '../../src/coordination/in-process.ts'
import { systemClock, type Clock } from '../../src/core/clock.ts'
import { jobsByName, type AnyJob } from '../../src/core/job.ts'
import { createLog } from '../../src/core/log.ts'
import { SealedBox } from '../../src/tools/sealed-box.ts'
import type { Services } from '../../src/core/services.ts'
import { Database } from '../../src/db/database.ts'
import { entities } from '../../src/registry/entities.ts'
import { JobRuntime, type JobRuntimeOptions, type JobTimes } from '../../src/jobs/runtime.ts'
import type { EndedJob } from '../../src/jobs/outbox.ts'
import type { JobRun } from '../../src/jobs/runner.ts'
import { JobService } from '../../src/jobs/service.ts'
import type { StoreChoice } from '../../src/jobs/stores.ts'

/**
 * Shorter times than in production, so that tests do not wait long for the recovery of lost jobs. Locks last as long as
 * there: on a busy machine a worker may not renew a short one in time, and its job runs twice.
 */
export const QUICK: Partial<JobTimes> = {
  stalledMs: 300,
  pollMs: 200,
  sweepMs: 200,
  graceMs: 500,
  drainMs: 300,
  schedulesAfterMs: 0,
}

export interface JobNodeOptions {
  readonly databaseUrl: string
  readonly store: StoreChoice
  readonly jobs: readonly AnyJob[]
  readonly services?: object
  readonly clock?: Clock
  readonly times?: Partial<JobTimes>
  readonly queues?: JobRuntimeOptions['queues']
  readonly switches?: JobRuntimeOptions['switches']
  readonly serviceOf?: JobRuntimeOptions['serviceOf']
  /** Adds jobs but runs none. */
  readonly idle?: boolean
}

/** The parts of a node that run jobs. */
export interface JobNode {
  readonly database: Database
  readonly jobs: JobService
  readonly runtime: JobRuntime | undefined
  readonly runs: readonly JobRun[]
  /** Jobs that had ended before their turn came. */
  readonly ended: readonly EndedJob[]
  readonly logs: readonly string[]
  stop(): Promise<void>
}

export async function startJobNode(options: JobNodeOptions): Promise<JobNode> {
  const logs: string[] = []
  const log = createLog({ level: 'debug', destination: { write: (line: string) => void logs.push(line) } })
  const clock = options.clock ?? systemClock
  const database = await Database.connect({ url: options.databaseUrl, poolSize: 5, entities, log })
  const coordination = new InProcessCoordination(log)
  const jobs = new JobService({
    database,
    clock,
    coordination,
    box: new SealedBox('a secret of tests', 'jobs'),
    declared: jobsByName(options.jobs),
  })
  const runs: JobRun[] = []
  const ended: EndedJob[] = []
  const runtime = options.idle
    ? undefined
    : new JobRuntime({
        database,
        clock,
        coordination,
        log,
        jobs,
        services: () => (options.services ?? {}) as Services,
        store: options.store,
        switches: options.switches ?? { isOn: () => true, onChange: () => () => undefined },
        serviceOf: options.serviceOf ?? new Map(),
        queues: options.queues,
        onRun: (run) => void runs.push(run),
        onEnded: (job) => void ended.push(job),
        onProgress: () => undefined,
        times: { ...QUICK, ...options.times },
      })
  return {
    database,
    jobs,
    runtime,
    runs,
    ended,
    logs,
    stop: async () => {
      await runtime?.close()
      await database.close()
    },
  }
}
