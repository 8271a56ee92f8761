import type { Domain } from '../domain.ts'
import type { AnyJob } from '../core/job.ts'
import { domains } from './domains.ts'

/** Every job and schedule of the service. Others cannot be added. */
export const jobs: readonly AnyJob[] = domains.flatMap(({ jobs: declared = {} }: Domain) => Object.values(declared))
