/** How long to wait for a run that ignores its signal. */
export const GRACE_MS = 2_000

class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
}

/**
 * Aborts an attempt, on timeout or shutdown. The signal for the code of the job is created on first use, because few
 * jobs use it, and it costs as much as a small job.
 */
export class Stop {
  /** Why the attempt was aborted. Undefined before that. */
  reason: Error | undefined
  #controller: AbortController | undefined
  #onAbort: (() => void) | undefined

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.reason) this.#controller.abort(this.reason)
    }
    return this.#controller.signal
  }

  abort(reason: Error): void {
    if (this.reason) return
    this.reason = reason
    this.#controller?.abort(reason)
    this.#onAbort?.()
  }

  /** Runs an attempt with a timeout. Stops waiting for a run that ignores the signal. @throws the reason, if aborted */
  async within(timeoutMs: number, run: () => Promise<void>): Promise<void> {
    const timer = setTimeout(() => this.abort(new TimeoutError(`took longer than ${timeoutMs} ms`)), timeoutMs)
    let grace: NodeJS.Timeout | undefined
    const abandoned = new Promise<never>((_, reject) => {
      this.#onAbort = () => {
        grace = setTimeout(() => reject(this.reason), GRACE_MS)
      }
    })
    if (this.reason) this.#onAbort?.()
    try {
      await Promise.race([run(), abandoned])
    } catch (error) {
      // The reason of the abort says more than the error that the run throws because of it.
      throw this.reason ?? error
    } finally {
      clearTimeout(timer)
      clearTimeout(grace)
      this.#onAbort = undefined
    }
  }
}
