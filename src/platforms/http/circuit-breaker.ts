import type { Clock } from '../../core/clock.ts'

const FAILURES_TO_OPEN = 5
const FIRST_PAUSE_MS = 5_000
const LONGEST_PAUSE_MS = 5 * 60_000
/** Circuits that are remembered. The oldest is dropped; a dropped circuit is closed. */
const MAX_CIRCUITS = 5_000

interface Circuit {
  failures: number
  /** Failed trials in a row; each doubles the pause. */
  trials: number
  openUntil: number
  trying: boolean
}

/**
 * Stops calls to a host that keeps failing, so that callers fail fast and the host can recover. After five failures in
 * a row the circuit opens for five seconds; then one call may try. A failed trial doubles the pause, up to five
 * minutes. A success closes the circuit.
 */
export class CircuitBreaker {
  readonly #clock: Clock
  readonly #circuits = new Map<string, Circuit>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Milliseconds until the next call is allowed; 0 when it is allowed now, which the caller must `report`. */
  enter(name: string): number {
    const circuit = this.#circuits.get(name)
    if (circuit === undefined || circuit.failures < FAILURES_TO_OPEN) return 0
    const wait = circuit.openUntil - this.#clock.monotonic()
    if (wait > 0) return wait
    if (circuit.trying) return FIRST_PAUSE_MS
    circuit.trying = true
    return 0
  }

  /** Reports how an allowed call ended. A cancelled call is no evidence about the host: report `undefined`. */
  report(name: string, succeeded: boolean | undefined): void {
    if (succeeded === true) {
      this.#circuits.delete(name)
      return
    }
    const circuit = this.#circuits.get(name) ?? { failures: 0, trials: 0, openUntil: 0, trying: false }
    const wasTrial = circuit.trying
    circuit.trying = false
    if (succeeded === undefined) return
    circuit.failures += 1
    if (circuit.failures >= FAILURES_TO_OPEN) {
      circuit.trials = wasTrial ? circuit.trials + 1 : circuit.trials
      const pause = Math.min(FIRST_PAUSE_MS * 2 ** circuit.trials, LONGEST_PAUSE_MS)
      circuit.openUntil = this.#clock.monotonic() + pause
    }
    // Deleting first moves the entry to the end, so that the first entry is the least recently changed.
    this.#circuits.delete(name)
    this.#circuits.set(name, circuit)
    const oldest = this.#circuits.keys().next().value
    if (this.#circuits.size > MAX_CIRCUITS && oldest !== undefined) this.#circuits.delete(oldest)
  }
}
