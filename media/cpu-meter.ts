/** How much of a core this process uses, over the last seconds. */
export class CpuMeter {
  #usage = process.cpuUsage()
  #at = performance.now()
  #share = 0

  /** 0 to 1; more where several threads work. */
  get share(): number {
    return this.#share
  }

  /** To be called about once a second, at monotonic milliseconds. */
  tick(now: number): void {
    const passed = now - this.#at
    if (passed < LEAST_MS) return
    const { system, user } = process.cpuUsage(this.#usage)
    const present = (system + user) / 1_000 / passed
    this.#share = this.#share * (1 - WEIGHT) + present * WEIGHT
    this.#usage = process.cpuUsage()
    this.#at = now
  }
}

const LEAST_MS = 500
/** Of the newest measure: a third of the way a second, so that the work of starting does not count for much. */
const WEIGHT = 0.3
