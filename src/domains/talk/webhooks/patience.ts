import type { Logger } from '../../../core/log.ts'

/** How many deliveries of a node may wait without a job, in all and of one workspace. */
const MOST = { all: 1_000, perWorkspace: 100 }

/** Called while a reply is late. The job ends then, if there is room, and the delivery goes on without it. */
export type OnLate = (workspaceId: string) => void

/**
 * Deliveries that go on after their job has ended, because they wait for a reply. So an endpoint that hangs holds a
 * worker of the queue for a moment only, and cannot delay others. Without room, deliveries keep their workers.
 */
export class Patience {
  readonly #log: Logger
  readonly #most: typeof MOST
  readonly #closing = new AbortController()
  /** The workspace of each delivery. */
  readonly #waiting = new Map<Promise<void>, string>()

  constructor(log: Logger, most = MOST) {
    this.#log = log
    this.#most = most
  }

  /** Deliveries that go on without a job. */
  get size(): number {
    return this.#waiting.size
  }

  /** Resolves when the work has ended, or goes on without its job. @param signal of the job */
  run(signal: AbortSignal, work: (signal: AbortSignal, onLate: OnLate) => Promise<void>): Promise<void> {
    const { promise, reject, resolve } = Promise.withResolvers<void>()
    let isAlone = false
    const onLate = (workspaceId: string) => {
      if (isAlone || !this.#hasRoom(workspaceId)) return
      isAlone = true
      this.#waiting.set(working, workspaceId)
      resolve()
    }
    const working: Promise<void> = work(AbortSignal.any([signal, this.#closing.signal]), onLate)
      .then(resolve, (error: unknown) => {
        // The lease of the endpoint expires, and the next sweep starts another job.
        if (isAlone) this.#log.warn({ error }, 'a delivery to a webhook failed after its job had ended')
        else reject(error)
      })
      .finally(() => this.#waiting.delete(working))
    return promise
  }

  /** Aborts the deliveries that go on without a job, and waits until their endpoints are released. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the node is shutting down'))
    await Promise.all(this.#waiting.keys())
  }

  #hasRoom(workspaceId: string): boolean {
    if (this.#closing.signal.aborted || this.#waiting.size >= this.#most.all) return false
    return [...this.#waiting.values()].filter((id) => id === workspaceId).length < this.#most.perWorkspace
  }
}
