import type { RuntimeClock } from './ports.ts'
import { RefusedError, type Command } from './types.ts'

/** How often deadlines are looked at: no command is answered later than its deadline and this. */
const SWEEP_MS = 50

/** A command on its way to an outcome. It settles once, whoever is first: owner, link, deadline. */
export class Call {
  readonly openedAt: number
  command: Command
  /** In a host's hands or on a link: it may take effect. */
  underWay = false
  settled = false
  attempts = 0
  /** Of a command that came from another node: tells that node to look for the owner again. */
  elsewhere: (() => void) | undefined
  /** Called when it settles, whoever settles it. */
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

  /** From now on nobody may run it without asking whether it has been run. */
  repeat(): void {
    if (this.command.repeated !== true) this.command = { ...this.command, repeated: true }
  }

  succeed(value: unknown): void {
    if (this.settled) return
    this.settled = true
    this.#end()
    this.#resolve(value)
  }

  fail(error: unknown): void {
    if (this.settled) return
    this.settled = true
    this.#end()
    this.#reject(error)
  }

  /** Settles without an outcome: whoever asked was answered in another way. */
  drop(): void {
    if (this.settled) return
    this.settled = true
    this.#end()
  }

  #end(): void {
    this.#onSettled(this)
    this.whenSettled?.()
  }
}

/** All commands that wait for an outcome on this node, bounded; past its deadline none waits on. */
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

  /** @returns the call, or undefined (and `reject` called) when there is no room */
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

  /** Waits until no call is open, or the time is over. */
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

  /** Refuses everything that is still open. */
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
