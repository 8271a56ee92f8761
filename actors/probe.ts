import type { RuntimeClock } from './ports.ts'

const EVERY_MS = 1_000
const AFTER_FAILURE_MS = 250
const WITHIN_MS = 1_000
/** A single failure may be caused by a busy database. */
const FAILURES = 2

/** Checks every second whether the host can commit, and reports changes. */
export class Probe {
  readonly #clock: RuntimeClock
  readonly #ask: () => Promise<unknown>
  readonly #onChange: (healthy: boolean) => void
  #failures = 0
  #cancel: () => void = () => undefined
  #closed = false

  constructor(clock: RuntimeClock, ask: () => Promise<unknown>, onChange: (healthy: boolean) => void) {
    this.#clock = clock
    this.#ask = ask
    this.#onChange = onChange
    this.#schedule()
  }

  close(): void {
    this.#closed = true
    this.#cancel()
  }

  #schedule(): void {
    if (!this.#closed)
      this.#cancel = this.#clock.after(this.#failures > 0 ? AFTER_FAILURE_MS : EVERY_MS, () => void this.#probe())
  }

  async #probe(): Promise<void> {
    const healthy = await this.#answers()
    const before = this.#failures >= FAILURES
    this.#failures = healthy ? 0 : this.#failures + 1
    const now = this.#failures >= FAILURES
    if (before !== now && !this.#closed) this.#onChange(!now)
    this.#schedule()
  }

  async #answers(): Promise<boolean> {
    let cancel: () => void = () => undefined
    const over = new Promise<false>((resolve) => {
      cancel = this.#clock.after(WITHIN_MS, () => resolve(false))
    })
    const asked = this.#ask().then(
      () => true,
      () => false,
    )
    const healthy = await Promise.race([asked, over])
    cancel()
    return healthy
  }
}
