/** Times are counted in intervals, so that a pause of this process does not count as one of the child. */
export interface WatchdogLimits {
  /** Time between two pings, milliseconds. */
  readonly intervalMs: number
  /** Intervals without a message after which the child is reported as unresponsive. */
  readonly unresponsiveAfter: number
  /** Intervals without a message after which the child counts as hanging. */
  readonly killAfter: number
  /** Intervals that the child may take until its first message. */
  readonly startWithin: number
}

export const DEFAULT_WATCHDOG_LIMITS: WatchdogLimits = {
  intervalMs: 1_000,
  unresponsiveAfter: 3,
  killAfter: 5,
  startWithin: 60,
}

export interface WatchdogOptions {
  readonly limits?: WatchdogLimits
  /** Sends the child a message that its event loop answers. */
  readonly ping: () => void
  /** Called with the time of the last message (ISO 8601) when the child stops answering, and with null when it answers again. */
  readonly onUnresponsive?: (since: string | null) => void
  /** The child hangs. Called once. */
  readonly onHang: () => void
}

/**
 * Detects a child process that hangs: it exists and its sockets and pipes are open, but its event loop is blocked
 * (endless loop, SIGSTOP). Any message from it counts as an answer.
 */
export class Watchdog {
  readonly #options: WatchdogOptions
  readonly #limits: WatchdogLimits
  readonly #timer: NodeJS.Timeout
  #hasAnswered = false
  #missed = 0
  #lastMessageAt = new Date()

  constructor(options: WatchdogOptions) {
    this.#options = options
    this.#limits = options.limits ?? DEFAULT_WATCHDOG_LIMITS
    this.#timer = setInterval(() => this.#tick(), this.#limits.intervalMs)
    this.#timer.unref()
  }

  /** Call it for every message of the child. */
  noteMessage(): void {
    const wasUnresponsive = this.#hasAnswered && this.#missed >= this.#limits.unresponsiveAfter
    this.#hasAnswered = true
    this.#missed = 0
    this.#lastMessageAt = new Date()
    if (wasUnresponsive) this.#options.onUnresponsive?.(null)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    const { killAfter, startWithin, unresponsiveAfter } = this.#limits
    this.#missed += 1
    if (this.#hasAnswered && this.#missed === unresponsiveAfter) {
      this.#options.onUnresponsive?.(this.#lastMessageAt.toISOString())
    }
    if (this.#missed >= (this.#hasAnswered ? killAfter : startWithin)) {
      this.stop()
      this.#options.onHang()
      return
    }
    this.#options.ping()
  }
}
