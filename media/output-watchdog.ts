export interface OutputWatchdogLimits {
  /** How long the program may take until its first output, milliseconds. It includes the time to start. */
  readonly firstMs: number
  /** How long it may give no output after that, milliseconds. */
  readonly silentMs: number
}

/** The longest time between two inputs that counts, milliseconds. Longer gaps are pauses of the input. */
const MAX_GAP_MS = 500

/**
 * Detects a hanging program that converts a live stream: it gets input and gives no output. Only time with input counts,
 * so neither a pause of the sender nor one of this process is taken for a hang. Times are monotonic milliseconds.
 */
export class OutputWatchdog {
  readonly #limits: OutputWatchdogLimits
  #hasOutput = false
  #lastInputAt: number | null = null
  /** Time with input since the last output. */
  #inputMs = 0

  constructor(limits: OutputWatchdogLimits) {
    this.#limits = limits
  }

  /** The program gave output. */
  noteOutput(): void {
    this.#hasOutput = true
    this.#inputMs = 0
  }

  /** The program got input. @returns whether it hangs */
  noteInput(now: number): boolean {
    if (this.#lastInputAt !== null) this.#inputMs += Math.min(now - this.#lastInputAt, MAX_GAP_MS)
    this.#lastInputAt = now
    const { firstMs, silentMs } = this.#limits
    return this.#inputMs > (this.#hasOutput ? silentMs : firstMs)
  }
}
