/** A fault that a fake produces on request. */
export interface Fault {
  /** Requests whose path contains this. */
  readonly path: string
  readonly method?: string
  /**
   * `cut`: the request is handled, and the connection closes without a reply. `refuse`: the connection closes before the
   * request is handled. `slow`: the reply waits. `hold`: the request is handled, and the reply never comes. `stall`: the
   * request is not handled, and the reply never comes. `status`: this status instead of handling the request.
   */
  readonly kind: 'cut' | 'refuse' | 'slow' | 'hold' | 'stall' | 'status'
  readonly status?: number
  readonly delayMs?: number
  /** Seconds, for `status`. */
  readonly retryAfter?: number
  /** How many requests it affects. */
  readonly times: number
}

/** The faults that are still to be produced. */
export class Faults {
  #waiting: { fault: Fault; left: number }[] = []

  add(fault: Fault): void {
    this.#waiting.push({ fault, left: fault.times })
  }

  clear(): void {
    this.#waiting = []
  }

  /** The fault of a request, if one matches. */
  take(method: string, path: string): Fault | undefined {
    const found = this.#waiting.find(
      ({ fault, left }) => left > 0 && path.includes(fault.path) && (fault.method ?? method) === method,
    )
    if (found === undefined) return undefined
    found.left -= 1
    return found.fault
  }
}
