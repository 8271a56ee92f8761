import type { Logger } from '../../../core/log.ts'
import type { TurnRunner } from '../../../core/system-turn.ts'
import { type MinutesWarning, warnOfMinutes } from '../streams/index.ts'

const MAX_GIVEN = 10_000

/** Warns when streaming minutes run out. The database decides whether a warning was already given. The cache here saves queries. */
export class MinutesWarnings {
  readonly #turns: TurnRunner
  readonly #log: Logger
  readonly #given = new Set<string>()

  constructor(turns: TurnRunner, log: Logger) {
    this.#turns = turns
    this.#log = log
  }

  give(workspaceId: string, warning: MinutesWarning): void {
    const key = `${warning.sessionId} ${warning.minutesLeft}`
    if (this.#given.has(key)) return
    if (this.#given.size > MAX_GIVEN) this.#given.clear()
    this.#given.add(key)
    this.#turns.system(workspaceId, warnOfMinutes, warning).catch((error: unknown) => {
      this.#log.warn({ error }, 'a warning about streaming minutes could not be sent')
      this.#given.delete(key)
    })
  }
}
