import type { Logger } from '../../../core/log.ts'

/** How many endpoints a node serves without a job: those that reply in time, and those whose reply is late. */
const MAX = { prompt: 1_000, late: 1_000, latePerWorkspace: 100 }

/** The place of an endpoint among those that a node serves. */
export interface Seat {
  /** Whether the endpoint is served without a job, and can wait for new events. */
  readonly isOwn: boolean
  /** Reports that a reply is late. If there is room, the job that waits for it ends. */
  late(): void
  /** Reports that the endpoint has replied. */
  replied(): void
}

type Work = (signal: AbortSignal, seat: Seat) => Promise<void>

/**
 * Endpoints that a node serves without a job. Endpoints with late replies have a separate limit, so that they do not
 * take seats from others. Without a free seat, a job of the queue serves the endpoint and occupies a worker.
 */
export class Seats {
  readonly #log: Logger
  readonly #most: typeof MAX
  readonly #closing = new AbortController()
  readonly #prompt = new Set<Promise<void>>()
  /** The workspace of each endpoint. */
  readonly #late = new Map<Promise<void>, string>()

  constructor(log: Logger, most = MAX) {
    this.#log = log
    this.#most = most
  }

  /** Endpoints that are served without a job. */
  get size(): number {
    return this.#prompt.size + this.#late.size
  }

  /** How many more endpoints can be served without a job. */
  get room(): number {
    return this.#closing.signal.aborted ? 0 : Math.max(0, this.#most.prompt - this.#prompt.size)
  }

  /**
   * Does the work that serves an endpoint.
   * @param signal of the job; it no longer counts when the job has ended
   * @returns a promise that resolves when the work has ended, or at once if there is room, or when a reply is late
   */
  take(workspaceId: string, signal: AbortSignal, work: Work): Promise<void> {
    const job = Promise.withResolvers<void>()
    let isOwn = this.room > 0
    const move = (into: 'prompt' | 'late') => {
      this.#prompt.delete(working)
      this.#late.delete(working)
      if (into === 'prompt') this.#prompt.add(working)
      else this.#late.set(working, workspaceId)
    }
    const seat: Seat = {
      get isOwn() {
        return isOwn
      },
      late: () => {
        if (this.#late.has(working) || !this.#hasRoomForLate(workspaceId)) return
        isOwn = true
        move('late')
        job.resolve()
      },
      replied: () => {
        if (this.#late.has(working) && this.room > 0) move('prompt')
      },
    }
    const own = this.#closing.signal
    // A microtask later, so that the work can use its seat at once.
    const working: Promise<void> = Promise.resolve()
      .then(() => work(isOwn ? own : AbortSignal.any([signal, own]), seat))
      .then(job.resolve, (error: unknown) => {
        // The lease of the endpoint expires, and the next sweep starts another job.
        if (isOwn) this.#log.warn({ error }, 'events could not be sent to a webhook')
        else job.reject(error)
      })
      .finally(() => {
        this.#prompt.delete(working)
        this.#late.delete(working)
      })
    if (isOwn) {
      move('prompt')
      job.resolve()
    }
    return job.promise
  }

  /** Aborts what is done without a job, and waits until the endpoints are released. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the node is shutting down'))
    await Promise.all([...this.#prompt, ...this.#late.keys()])
  }

  #hasRoomForLate(workspaceId: string): boolean {
    if (this.#closing.signal.aborted || this.#late.size >= this.#most.late) return false
    return [...this.#late.values()].filter((id) => id === workspaceId).length < this.#most.latePerWorkspace
  }
}
