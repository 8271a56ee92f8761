import { UnrecoverableError, job, type AnyJob } from '../../src/core/job.ts'
import { Type } from '../../src/core/schema.ts'
import type { JobTimes } from '../../src/jobs/runtime.ts'
import type { StoreChoice } from '../../src/jobs/stores.ts'

/** Points at which a worker can crash: between two actions that are not one transaction. */
export const STEPS = ['claimed', 'added', 'started', 'before effect', 'after effect', 'ran', 'finished'] as const
export type Step = (typeof STEPS)[number]

export interface WorkerSettings {
  readonly databaseUrl: string
  readonly store: StoreChoice
  readonly times: Partial<JobTimes>
  /** The probability that the worker crashes at a step. */
  readonly crashes: Partial<Record<Step, number>>
  /** A folder that records the steps at which a worker has crashed. With it, workers crash only once at each step. */
  readonly onceFolder?: string
}

const data = Type.Object({ n: Type.Integer() })
const often = { attempts: 30, backoff: { firstMs: 20, maxMs: 500 } }

/** `effect` has an effect that must happen once. `plain` only has to run. Some jobs of both kinds always fail. */
export function trialJobs(crash: (step: Step) => void): AnyJob[] {
  const effect = job({
    name: 'trial.effect',
    summary: 'Writes a row, once',
    queue: 'default',
    data,
    ...often,
    run: async ({ data: { n }, effect: commit }) => {
      crash('started')
      if (n % 100 === 99) throw new UnrecoverableError('always fails')
      if (n % 50 === 7 && Math.random() < 0.5) throw new Error('fails sometimes')
      await commit(async (tx) => {
        await tx.run('insert into effects (n) values ($1)', [n])
        crash('before effect')
      })
      crash('after effect')
    },
  })
  const plain = job({
    name: 'trial.plain',
    summary: 'Does nothing',
    queue: 'default',
    data,
    ...often,
    run: async ({ data: { n } }) => {
      crash('started')
      if (n % 100 === 99) throw new UnrecoverableError('always fails')
    },
  })
  return [effect, plain]
}
