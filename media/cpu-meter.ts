const MIN_INTERVAL_MS = 500
/** Weight of the newest sample. Small enough that the CPU time of the start does not count for long. */
const WEIGHT = 0.3

/** Measures the CPU time of this process as a moving average over a few seconds. */
export class CpuMeter {
  #usage = process.cpuUsage()
  #at = performance.now()
  #share = 0

  /** Share of one core, 0 to 1. It can exceed 1 when several threads work. */
  get share(): number {
    return this.#share
  }

  /** Takes a sample. Call it about once a second. `now` is in monotonic milliseconds. */
  tick(now: number): void {
    const passed = now - this.#at
    if (passed < MIN_INTERVAL_MS) return
    const { system, user } = process.cpuUsage(this.#usage)
    const present = (system + user) / 1_000 / passed
    this.#share = this.#share * (1 - WEIGHT) + present * WEIGHT
    this.#usage = process.cpuUsage()
    this.#at = now
  }
}
