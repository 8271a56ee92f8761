import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../../../../core/error.ts'
import type { SystemTurn, TurnRunner } from '../../../../core/system-turn.ts'

/** How many inputs one turn takes. */
const AT_ONCE = 100
/** How long a turn waits for others to join it. */
const GATHER_MS = 20

interface Entry<I> {
  readonly input: I
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Turns of a workspace that are wanted at the same time, run as one turn: its statements share round trips. */
export class TogetherTurns<I> {
  readonly #turns: TurnRunner
  readonly #turn: SystemTurn<readonly I[], void>
  /** By workspace, while a turn of it runs. */
  readonly #waiting = new Map<string, Entry<I>[]>()

  constructor(turns: TurnRunner, turn: SystemTurn<readonly I[], void>) {
    this.#turns = turns
    this.#turn = turn
  }

  /** Resolves after the commit. */
  run(workspaceId: string, input: I): Promise<void> {
    return new Promise((resolve, reject) => {
      const entry = { input, resolve, reject }
      const waiting = this.#waiting.get(workspaceId)
      if (waiting === undefined) {
        const list = [entry]
        this.#waiting.set(workspaceId, list)
        void this.#drain(workspaceId, list)
      } else waiting.push(entry)
    })
  }

  async #drain(workspaceId: string, waiting: Entry<I>[]): Promise<void> {
    while (waiting.length > 0) {
      if (waiting.length < AT_ONCE) await delay(GATHER_MS)
      await this.#together(workspaceId, waiting.splice(0, AT_ONCE))
    }
    this.#waiting.delete(workspaceId)
  }

  async #together(workspaceId: string, entries: readonly Entry<I>[]): Promise<void> {
    try {
      const inputs = entries.map(({ input }) => input)
      await this.#turns.system(workspaceId, this.#turn, inputs)
      for (const { resolve } of entries) resolve()
    } catch (error) {
      // One of them must not keep back the others. If the server is too busy for them, all fail.
      if (entries.length === 1 || isBusy(error)) for (const { reject } of entries) reject(error)
      else for (const entry of entries) await this.#together(workspaceId, [entry])
    }
  }
}

/** Whether a turn has failed because the server or its database is overloaded or away, not because of its input. */
export function isBusy(error: unknown): boolean {
  return error instanceof AppError && error.status >= 500
}
