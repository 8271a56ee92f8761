import type { Domain } from '../domain.ts'
import type { AnyJob } from '../core/job.ts'
import { ALWAYS_ON } from '../core/service-switch.ts'
import { api } from './api.ts'
import { domains } from './domains.ts'

/** Every job and schedule of the service. Others cannot be added. */
export const jobs: readonly AnyJob[] = domains.flatMap(({ jobs: declared = {} }: Domain) => Object.values(declared))

/** The service of each job that waits while its service is switched off, by the name of the job. */
export const serviceOfJob: ReadonlyMap<string, string> = new Map(
  domains.flatMap(({ jobs: declared = {}, name }: Domain) =>
    Object.hasOwn(api, name) && !ALWAYS_ON.has(name)
      ? Object.values(declared).flatMap((one: AnyJob) => (one.whileOff === 'runs' ? [] : [[one.name, name] as const]))
      : [],
  ),
)
