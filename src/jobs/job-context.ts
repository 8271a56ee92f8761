import type { Attempt, JobContext } from '../core/job.ts'
import type { Logger } from '../core/log.ts'
import type { Services } from '../core/services.ts'
import type { Stop } from './stop.ts'

/** What the code of a job gets for one attempt, without the services. */
export interface AttemptParts {
  readonly data: unknown
  readonly workspaceId: string | undefined
  readonly attempt: Attempt
  readonly stop: Stop
  readonly log: () => Logger
  readonly progress: JobContext<unknown>['progress']
  readonly effect: JobContext<unknown>['effect']
  readonly complete: JobContext<unknown>['complete']
}

/**
 * Creates the contexts of jobs. Contexts inherit the services from the prototype of a class, because copying them or
 * giving each context its own prototype costs more than everything else here.
 */
export function jobContextFactory(services: Services): (parts: AttemptParts) => JobContext<unknown> & Services {
  class Context implements JobContext<unknown> {
    readonly data: unknown
    readonly workspaceId: string | undefined
    readonly attempt: Attempt
    readonly progress: JobContext<unknown>['progress']
    readonly effect: JobContext<unknown>['effect']
    readonly complete: JobContext<unknown>['complete']
    readonly #stop: Stop
    readonly #log: () => Logger

    constructor({ attempt, complete, data, effect, log, progress, stop, workspaceId }: AttemptParts) {
      this.data = data
      this.workspaceId = workspaceId
      this.attempt = attempt
      this.progress = progress
      this.effect = effect
      this.complete = complete
      this.#stop = stop
      this.#log = log
    }

    get signal(): AbortSignal {
      return this.#stop.signal
    }

    get log(): Logger {
      return this.#log()
    }
  }
  Object.setPrototypeOf(Context.prototype, services)
  return (parts) => new Context(parts) as unknown as JobContext<unknown> & Services
}
