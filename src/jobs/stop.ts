/** How long a run that ignores its signal is waited for. */
export const STUBBORN_MS = 2_000

class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
}

/**
 * What ends an attempt before its time. The signal that a job's own code may follow is made when it is asked for: few
 * jobs do, and it costs as much as a small job.
 */
export class Stop {
  /** Why, once it was told to. */
  reason: Error | undefined
  #controller: AbortController | undefined
  #heard: (() => void) | undefined

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.reason) this.#controller.abort(this.reason)
    }
    return this.#controller.signal
  }

  tell(reason: Error): void {
    if (this.reason) return
    this.reason = reason
    this.#controller?.abort(reason)
    this.#heard?.()
  }

  /** Runs what is to end within a time, and no longer waits for what does not listen. @throws the reason, once told */
  async within(timeoutMs: number, run: () => Promise<void>): Promise<void> {
    const timer = setTimeout(() => this.tell(new TimeoutError(`took longer than ${timeoutMs} ms`)), timeoutMs)
    let stubborn: NodeJS.Timeout | undefined
    const abandoned = new Promise<never>((_, reject) => {
      this.#heard = () => {
        stubborn = setTimeout(() => reject(this.reason), STUBBORN_MS)
      }
    })
    if (this.reason) this.#heard?.()
    try {
      await Promise.race([run(), abandoned])
    } catch (error) {
      // What a run throws when it is told to stop says less than why it was.
      throw this.reason ?? error
    } finally {
      clearTimeout(timer)
      clearTimeout(stubborn)
      this.#heard = undefined
    }
  }
}
