import { OpenCalls } from './calls.ts'
import { systemClock } from './clock.ts'
import { Engine } from './engine.ts'
import { DEFAULT_LIMITS, type ActorLimits } from './limits.ts'
import type { RuntimeClock } from './ports.ts'
import {
  RefusedError,
  type ActorHost,
  type Actors,
  type ActorStats,
  type Command,
  type NodeOwnership,
} from './types.ts'

export interface LocalActorsOptions {
  readonly host: ActorHost
  /** Milliseconds on a clock that never goes back. */
  readonly monotonic: () => number
  readonly limits?: Partial<ActorLimits>
  readonly onError?: (actor: string, error: unknown) => void
  /** Replaces the event loop of this process. `monotonic` is then unused. */
  readonly clock?: RuntimeClock
}

/**
 * The driver for a single process, which owns all actors. Batches are still fenced in the database, so that a second
 * process that is started by mistake does no harm.
 */
export class LocalActors implements Actors {
  readonly #engine: Engine
  readonly #calls: OpenCalls
  #closed = false

  constructor(options: LocalActorsOptions) {
    const clock = options.clock ?? systemClock(options.monotonic)
    const limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#calls = new OpenCalls(clock, limits.perNode)
    this.#engine = new Engine({
      host: options.host,
      clock,
      limits,
      calls: this.#calls,
      onError: options.onError ?? (() => undefined),
      mayAct: () => true,
      confirm: async () => true,
      reroute: (call) => this.#engine.submit(call),
      onForgotten: () => undefined,
    })
  }

  run(command: Command): Promise<unknown> {
    if (this.#closed) return Promise.reject(new RefusedError('closed'))
    return new Promise((resolve, reject) => {
      const call = this.#calls.open(command, resolve, reject)
      if (call) this.#engine.submit(call)
    })
  }

  stats(): ActorStats {
    const { size: waiting, overloaded, expired, unknown } = this.#calls
    return { ...this.#engine.stats(), waiting, overloaded, expired, unknown }
  }

  async owners(): Promise<readonly NodeOwnership[]> {
    const actors = this.#engine.actors().map((actor) => this.#engine.owned(actor))
    return [{ inc: 'local', address: 'local', state: this.#closed ? 'leaving' : 'active', reachable: true, actors }]
  }

  async leave(): Promise<void> {}

  async close(withinMs: number): Promise<void> {
    this.#closed = true
    await this.#calls.drained(withinMs)
    this.#engine.refuseWaiting()
    this.#engine.close()
  }
}
