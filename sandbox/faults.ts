/** A fault that a fake produces on request. */
export interface Fault {
  /** Requests whose path contains this. */
  readonly path: string
  readonly method?: string
  /**
   * `cut`: the request is handled, and the connection closes without a reply. `refuse`: the connection closes before the
   * request is handled. `slow`: the reply waits. `hold`: the request is handled, and the reply never comes. `stall`: the
   * request is not handled, and the reply never comes. `status`: this status instead of handling the request.
   * `status_after`: the request is handled, and this status is the reply. `cut_body`: the request is handled, and the
   * connection closes within the reply.
   */
  readonly kind: 'cut' | 'cut_body' | 'refuse' | 'slow' | 'hold' | 'stall' | 'status' | 'status_after'
  readonly status?: number
  /** Whether the body of `status` repeats the request with its token, as errors of platforms can. */
  readonly echo?: boolean
  readonly delayMs?: number
  /** How many matching requests pass before. */
  readonly skip?: number
  /** Seconds, for `status`. */
  readonly retryAfter?: number
  /** How many requests it affects. */
  readonly times: number
}

/** The faults that are still to be produced. */
export class Faults {
  #waiting: { readonly fault: Fault; skip: number; left: number }[] = []

  add(fault: Fault): void {
    this.#waiting.push({ fault, skip: fault.skip ?? 0, left: fault.times })
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
    if (found.skip > 0) {
      found.skip -= 1
      return undefined
    }
    found.left -= 1
    return found.fault
  }
}
