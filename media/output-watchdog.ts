export interface OutputWatchLimits {
  /** How long the program may give nothing out at first, milliseconds: it has to start. */
  readonly firstMs: number
  /** And once it has given something out. */
  readonly silentMs: number
}

/** Input that pauses for longer than this does not flow, milliseconds: only this much of the pause counts. */
const PAUSE_MS = 500

/**
 * Finds out that a program hangs which turns a live stream into another form: it is fed and gives nothing out. Only time
 * in which input came is counted, so that neither a pause of the one who sends nor one of this process is taken for it.
 * Times are monotonic milliseconds.
 */
export class OutputWatch {
  readonly #limits: OutputWatchLimits
  #hasSpoken = false
  #fedAt: number | null = null
  #fedMs = 0

  constructor(limits: OutputWatchLimits) {
    this.#limits = limits
  }

  /** It gave something out. */
  heard(): void {
    this.#hasSpoken = true
    this.#fedMs = 0
  }

  /** It was handed something. @returns whether it hangs */
  fed(now: number): boolean {
    if (this.#fedAt !== null) this.#fedMs += Math.min(now - this.#fedAt, PAUSE_MS)
    this.#fedAt = now
    const { firstMs, silentMs } = this.#limits
    return this.#fedMs > (this.#hasSpoken ? silentMs : firstMs)
  }
}
