/** Times are counted in ticks, so that a pause of this process is not taken for silence of the other. */
export interface WatchdogLimits {
  /** How often the child is asked, milliseconds. */
  readonly everyMs: number
  /** Ticks in a row without a word before its silence is told. */
  readonly silentAfter: number
  /** Ticks in a row without a word before it is taken to hang. */
  readonly hangAfter: number
  /** Ticks that it may take to say its first word. */
  readonly startWithin: number
}

export const DEFAULT_WATCHDOG_LIMITS: WatchdogLimits = { everyMs: 1_000, silentAfter: 3, hangAfter: 5, startWithin: 60 }

export interface WatchdogOptions {
  readonly limits?: WatchdogLimits
  /** Sends the child a question that its event loop answers. */
  readonly ask: () => void
  /** It has not answered since this time (ISO 8601), or with null it answers again. */
  readonly onSilence?: (since: string | null) => void
  /** It hangs. Called once. */
  readonly onHang: () => void
}

/**
 * Finds out that a child process hangs: it exists, its sockets and pipes are open, but its event loop does not turn
 * (an endless loop, SIGSTOP). Any message counts as a sign of life.
 */
export class Watchdog {
  readonly #options: WatchdogOptions
  readonly #limits: WatchdogLimits
  readonly #timer: NodeJS.Timeout
  #hasSpoken = false
  #missed = 0
  #heardAt = new Date()

  constructor(options: WatchdogOptions) {
    this.#options = options
    this.#limits = options.limits ?? DEFAULT_WATCHDOG_LIMITS
    this.#timer = setInterval(() => this.#tick(), this.#limits.everyMs)
    this.#timer.unref()
  }

  /** The child said something. */
  heard(): void {
    const wasSilent = this.#hasSpoken && this.#missed >= this.#limits.silentAfter
    this.#hasSpoken = true
    this.#missed = 0
    this.#heardAt = new Date()
    if (wasSilent) this.#options.onSilence?.(null)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    const { hangAfter, silentAfter, startWithin } = this.#limits
    this.#missed += 1
    if (this.#hasSpoken && this.#missed === silentAfter) this.#options.onSilence?.(this.#heardAt.toISOString())
    if (this.#missed >= (this.#hasSpoken ? hangAfter : startWithin)) {
      this.stop()
      this.#options.onHang()
      return
    }
    this.#options.ask()
  }
}
