import type { JobRegistry } from './core/job.ts'

/** Every job and schedule, by domain. What is not here cannot be added. */
export const jobs: JobRegistry = {}
