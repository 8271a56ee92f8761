import { HopelessError, job, type AnyJob } from '../../src/core/job.ts'
import { Type } from '../../src/core/schema.ts'
import type { JobTimes } from '../../src/jobs/runtime.ts'
import type { StoreChoice } from '../../src/jobs/stores.ts'

/** Where a worker can die: between two actions that do not commit together. */
export const STEPS = ['claimed', 'added', 'started', 'before effect', 'after effect', 'ran', 'finished'] as const
export type Step = (typeof STEPS)[number]

export interface WorkerOrder {
  readonly databaseUrl: string
  readonly store: StoreChoice
  readonly times: Partial<JobTimes>
  /** The probability that the worker dies each time it passes a step. */
  readonly deaths: Partial<Record<Step, number>>
  /** A folder that records each step at which a worker has died, so that workers die at each step once. */
  readonly once?: string
}

const data = Type.Object({ n: Type.Integer() })
const often = { attempts: 30, backoff: { firstMs: 20, maxMs: 500 } }

/** `effect` has an effect that must happen once; `plain` only has to run. Some of both can never succeed. */
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
