import type { LoggedCall } from './platform-http.ts'

/** How many calls are kept from the start of an attempt, and from its end. */
const FIRST = 10
const LAST = 30

/** The calls of one attempt, as plain JSON of at most about 50 kB. */
export interface RecordedCalls {
  /** In the order in which they ended. */
  readonly calls: readonly LoggedCall[]
  /** How many calls between the first ten and the last thirty were left out. */
  readonly omittedCount: number
}

/**
 * Records the calls of one attempt. Pass `add` as `onCall` when the account is opened. Attempts with many calls, such as
 * the pieces of a large upload, keep the first and the last ones.
 */
export class CallRecorder {
  readonly #first: LoggedCall[] = []
  readonly #last: LoggedCall[] = []
  #omitted = 0

  readonly add = (call: LoggedCall): void => {
    if (this.#first.length < FIRST) {
      this.#first.push(call)
      return
    }
    this.#last.push(call)
    if (this.#last.length > LAST) {
      this.#last.shift()
      this.#omitted += 1
    }
  }

  recorded(): RecordedCalls {
    return { calls: [...this.#first, ...this.#last], omittedCount: this.#omitted }
  }
}
