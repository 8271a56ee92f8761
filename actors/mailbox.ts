import { RefusedError, type Command } from './types.ts'

export interface Waiting {
  readonly command: Command
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The commands that wait for one actor, control before user traffic, bounded in all and by caller. */
export class Mailbox {
  #control: Waiting[] = []
  #normal: Waiting[] = []
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

  /** @throws RefusedError overloaded, when there is no room */
  put(waiting: Waiting): void {
    const { caller, priority } = waiting.command
    const mine = this.#byCaller.get(caller) ?? 0
    if (priority === 'control') {
      this.#control.push(waiting)
    } else {
      if (this.size >= this.#limit || mine >= this.#callerLimit) throw new RefusedError('overloaded')
      this.#normal.push(waiting)
    }
    this.#byCaller.set(caller, mine + 1)
  }

  /** Takes up to `most` commands in order. */
  take(most: number): Waiting[] {
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
