import type { Logger } from '../core/log.ts'
import { Listeners, type Coordination, type Listener } from './coordination.ts'

/** The driver for a single node: a notice is a function call. */
export class InProcessCoordination implements Coordination {
  readonly kind = 'in-process'
  readonly linked = true
  readonly #listeners: Listeners
  readonly #recovered = new Set<() => void>()

  constructor(log: Logger) {
    this.#listeners = new Listeners((error, channel) => log.error({ error, channel }, 'a listener failed'))
  }

  publish(channel: string, message: unknown): void {
    this.#listeners.call(channel, message)
  }

  subscribe(channel: string, listener: Listener): () => void {
    return this.#listeners.add(channel, listener)
  }

  onRecovered(listener: () => void): () => void {
    this.#recovered.add(listener)
    return () => this.#recovered.delete(listener)
  }

  readAgain(): void {
    for (const listener of this.#recovered) listener()
  }

  ping(): Promise<number> {
    return Promise.resolve(0)
  }

  async warnings(): Promise<string[]> {
    return []
  }

  async close(): Promise<void> {}
}
