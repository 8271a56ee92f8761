import type { RuntimeClock } from '../ports.ts'
import type { Scheduler } from './scheduler.ts'

/**
 * A simulated process. It receives nothing while it is paused or after it has crashed. Its monotonic clock drifts, jumps,
 * and stops while the machine is suspended.
 */
export class SimProcess {
  readonly name: string
  readonly #scheduler: Scheduler
  readonly #rate: number
  #offset: number
  #pausedUntil = 0
  #held: (() => void)[] = []
  crashed = false
  readonly clock: RuntimeClock

  constructor(name: string, scheduler: Scheduler, rate: number, offset: number) {
    this.name = name
    this.#scheduler = scheduler
    this.#rate = rate
    this.#offset = offset
    this.clock = {
      monotonic: () => this.#scheduler.now * this.#rate + this.#offset,
      after: (ms, action) => this.#scheduler.after(ms / this.#rate, () => this.deliver(action)),
      soon: (action) => void this.#scheduler.after(0, () => this.deliver(action)),
    }
  }

  get paused(): boolean {
    return this.#scheduler.now < this.#pausedUntil
  }

  deliver(action: () => void): void {
    if (this.crashed) return
    if (this.paused || this.#held.length > 0) this.#held.push(action)
    else action()
  }

  /** Simulates garbage collection, SIGSTOP or a busy hypervisor. With `suspend`, the monotonic clock stops too. */
  pause(ms: number, suspend: boolean): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#scheduler.now + ms)
    if (suspend) this.#offset -= ms * this.#rate
    this.#scheduler.at(this.#pausedUntil, () => this.#resume())
  }

  jump(ms: number): void {
    this.#offset += ms
  }

  crash(): void {
    this.crashed = true
    this.#held = []
  }

  /** Delivers the held actions in order, each in a separate step. */
  #resume(): void {
    if (this.crashed || this.paused) return
    const action = this.#held.shift()
    if (action === undefined) return
    action()
    if (this.#held.length > 0) this.#scheduler.after(0, () => this.#resume())
  }
}
