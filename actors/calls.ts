import type { RuntimeClock } from './ports.ts'
import { RefusedError, type Command } from './types.ts'

/** How often deadlines are checked. A command settles at most this long after its deadline. */
const SWEEP_MS = 50

/** A command in progress. It settles once, by its owner, its link or its deadline, whichever is first. */
export class Call {
  readonly openedAt: number
  command: Command
  /** The command was handed to a host or a link, and may take effect. */
  underWay = false
  settled = false
  attempts = 0
  /** Set for a command from another node. Tells that node to look up the owner again. */
  elsewhere: (() => void) | undefined
  /** Called when the command settles. */
  whenSettled: (() => void) | undefined
  readonly #resolve: (value: unknown) => void
  readonly #reject: (error: unknown) => void
  readonly #onSettled: (call: Call) => void

  constructor(
    command: Command,
    openedAt: number,
    resolve: (value: unknown) => void,
    reject: (error: unknown) => void,
    onSettled: (call: Call) => void,
  ) {
    this.command = command
    this.openedAt = openedAt
    this.#resolve = resolve
    this.#reject = reject
    this.#onSettled = onSettled
  }

  /** From now on, the command must not run before its earlier outcome was looked up. */
  repeat(): void {
    if (this.command.repeated !== true) this.command = { ...this.command, repeated: true }
  }

  succeed(value: unknown): void {
    if (this.#end()) this.#resolve(value)
  }

  fail(error: unknown): void {
    if (this.#end()) this.#reject(error)
  }

  /** Settles without an outcome, because the caller has been replied to in another way. */
  drop(): void {
    this.#end()
  }

  /** @returns false if the call was settled before */
  #end(): boolean {
    if (this.settled) return false
    this.settled = true
    this.#onSettled(this)
    this.whenSettled?.()
    return true
  }
}

/** All commands in progress on this node, with a limit on their number. Each is refused at its deadline. */
export class OpenCalls {
  readonly #clock: RuntimeClock
  readonly #limit: number
  readonly #open = new Set<Call>()
  readonly #settle = (call: Call) => {
    this.#open.delete(call)
    if (this.#open.size === 0) this.#whenEmpty?.()
  }
  #sweeping = false
  #whenEmpty: (() => void) | undefined
  overloaded = 0
  expired = 0
  unknown = 0

  constructor(clock: RuntimeClock, limit: number) {
    this.#clock = clock
    this.#limit = limit
  }

  get size(): number {
    return this.#open.size
  }

  /** @returns the call; undefined at the limit, after calling `reject` */
  open(command: Command, resolve: (value: unknown) => void, reject: (error: unknown) => void): Call | undefined {
    if (this.#open.size >= this.#limit && command.priority !== 'control') {
      this.overload(reject)
      return undefined
    }
    const call = new Call(command, this.#clock.monotonic(), resolve, reject, this.#settle)
    this.#open.add(call)
    if (!this.#sweeping) {
      this.#sweeping = true
      this.#clock.after(SWEEP_MS, this.#sweep)
    }
    return call
  }

  overload(reject: (error: unknown) => void): void {
    this.overloaded += 1
    reject(new RefusedError('overloaded'))
  }

  expire(call: Call): void {
    if (call.settled) return
    if (call.underWay || call.command.repeated === true) {
      this.unknown += 1
      call.fail(new RefusedError('unknown'))
    } else {
      this.expired += 1
      call.fail(new RefusedError('expired'))
    }
  }

  /** Waits until no call is open, or until a time limit. */
  async drained(withinMs: number): Promise<void> {
    if (this.#open.size === 0) return
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(withinMs, resolve)
      this.#whenEmpty = () => {
        cancel()
        resolve()
      }
    })
    this.#whenEmpty = undefined
  }

  /** Refuses all open calls. */
  refuseAll(): void {
    for (const call of this.#open) {
      if (call.underWay || call.command.repeated === true) this.expire(call)
      else call.fail(new RefusedError('closed'))
    }
  }

  readonly #sweep = (): void => {
    const now = this.#clock.monotonic()
    for (const call of this.#open) if (call.command.deadline <= now) this.expire(call)
    this.#sweeping = this.#open.size > 0
    if (this.#sweeping) this.#clock.after(SWEEP_MS, this.#sweep)
  }
}
