import { HopelessError, job, type AnyJob } from '../../src/core/job.ts'
import { Type } from '../../src/core/schema.ts'
import type { JobTimes } from '../../src/jobs/runtime.ts'
import type { StoreChoice } from '../../src/jobs/stores.ts'

/** Where a worker may die: between two things that do not commit together. */
export const STEPS = ['claimed', 'added', 'started', 'before effect', 'after effect', 'ran', 'finished'] as const
export type Step = (typeof STEPS)[number]

export interface WorkerOrder {
  readonly databaseUrl: string
  readonly store: StoreChoice
  readonly times: Partial<JobTimes>
  /** Probability of a death each time that a step is passed. */
  readonly deaths: Partial<Record<Step, number>>
  /** Folder in which each step is noted at which a worker has died, so that each is died at once. */
  readonly once?: string
}

const data = Type.Object({ n: Type.Integer() })
const often = { attempts: 30, backoff: { firstMs: 20, maxMs: 500 } }

/** `effect` has one that must be single; `plain` only has to be run; some of both can never succeed. */
export function trialJobs(die: (step: Step) => void): AnyJob[] {
  const effect = job({
    name: 'trial.effect',
    summary: 'Writes a row, once',
    queue: 'default',
    data,
    ...often,
    run: async ({ data: { n }, effect: commit }) => {
      die('started')
      if (n % 100 === 99) throw new HopelessError('meant to fail')
      if (n % 50 === 7 && Math.random() < 0.5) throw new Error('fails now and then')
      await commit(async (tx) => {
        await tx.run('insert into effects (n) values ($1)', [n])
        die('before effect')
      })
      die('after effect')
    },
  })
  const plain = job({
    name: 'trial.plain',
    summary: 'Says that it was run',
    queue: 'default',
    data,
    ...often,
    run: async ({ data: { n } }) => {
      die('started')
      if (n % 100 === 99) throw new HopelessError('meant to fail')
    },
  })
  return [effect, plain]
}
