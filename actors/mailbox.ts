import type { Call } from './calls.ts'

/** The waiting commands of one actor: control before user traffic, with limits in total and per caller. */
export class Mailbox {
  #control: Call[] = []
  #normal: Call[] = []
  readonly #byCaller = new Map<string, number>()
  readonly #limit: number
  readonly #callerLimit: number

  constructor(limit: number, callerLimit: number) {
    this.#limit = limit
    this.#callerLimit = callerLimit
  }

  get size(): number {
    return this.#control.length + this.#normal.length
  }

  /** @returns false at the limit */
  put(call: Call): boolean {
    const { caller, priority } = call.command
    const mine = this.#byCaller.get(caller) ?? 0
    if (priority === 'control') {
      this.#control.push(call)
    } else {
      if (this.size >= this.#limit || mine >= this.#callerLimit) return false
      this.#normal.push(call)
    }
    this.#byCaller.set(caller, mine + 1)
    return true
  }

  /** Removes up to `most` commands, in order. */
  take(most: number): Call[] {
    const taken = this.#control.splice(0, most)
    if (taken.length < most) taken.push(...this.#normal.splice(0, most - taken.length))
    for (const { command } of taken) {
      const left = (this.#byCaller.get(command.caller) ?? 1) - 1
      if (left === 0) this.#byCaller.delete(command.caller)
      else this.#byCaller.set(command.caller, left)
    }
    return taken
  }
}
